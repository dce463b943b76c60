//===- checksum.h - XXH3-128 of bytes and of files ------------------------===//
//
// One decision: what is longer than a block has the checksum of its blocks' digests, so that
// all threads of all ranks can share a large file, and the result does not depend on them.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DISK_CHECKSUM_H
#define TPLAN_RUNTIME_DISK_CHECKSUM_H

#include "runtime/ranks/peers.h"

#include <string>

namespace tplan::runtime {

inline constexpr int64_t checksumBlock = int64_t(1) << 26;

/// 32 hexadecimal digits.
std::string checksumOf(const void *data, int64_t bytes);

/// The checksum of a file that all ranks see, with its size. Called by all ranks, which succeed or
/// fail together.
Status checksumOfFile(Peers &peers, Team &team, const std::string &path, std::string &checksum,
                      int64_t &bytes);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DISK_CHECKSUM_H
