//===- sha256.h - SHA-256, and a keyed hash made of it ----------------------===//
//
// FIPS 180-4 and RFC 2104, tested by their published vectors. Our own, because it is less than a
// hundred lines: a library for it (libsodium, OpenSSL) would be one more that each generated binary
// is linked with, on machines that train and on those that compile.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_START_SHA256_H
#define TPLAN_RUNTIME_START_SHA256_H

#include <array>
#include <string_view>

namespace tplan::runtime {

using Digest = std::array<unsigned char, 32>;

Digest sha256(std::string_view message);
Digest hmacSha256(std::string_view key, std::string_view message);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_START_SHA256_H
