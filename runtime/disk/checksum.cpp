//===- checksum.cpp - XXH3-128 of bytes and of files ----------------------===//

#include "runtime/disk/checksum.h"

#include "runtime/support/files.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace tplan::runtime;

namespace {

constexpr int digestParts = sizeof(XXH128_canonical_t) / sizeof(uint32_t);

int64_t blocksOf(int64_t bytes) { return (bytes + checksumBlock - 1) / checksumBlock; }

XXH128_canonical_t digest(const void *data, int64_t bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, bytes));
  return canonical;
}

/// A block of a file, in pieces: what the runtime holds is counted in the report.
Status digestOfBlock(const InputFile &file, int64_t block, XXH128_canonical_t &result) {
  int64_t at = block * checksumBlock, end = std::min(file.size(), at + checksumBlock);
  std::array<char, 32 << 10> piece;
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  while (at < end) {
    int64_t bytes = std::min<int64_t>(end - at, (int64_t)piece.size());
    TP_TRY(file.read(at, piece.data(), bytes));
    XXH3_128bits_update(&state, piece.data(), bytes);
    at += bytes;
  }
  XXH128_canonicalFromHash(&result, XXH3_128bits_digest(&state));
  return {};
}

XXH128_canonical_t digestOfBlock(const void *data, int64_t bytes, int64_t block) {
  int64_t at = block * checksumBlock;
  return digest((const char *)data + at, std::min(checksumBlock, bytes - at));
}

std::string hexOf(const XXH128_canonical_t &digest) {
  std::string text;
  for (unsigned char byte : digest.digest)
    text += format("%02x", byte);
  return text;
}

std::string combine(const std::vector<XXH128_canonical_t> &blocks) {
  return hexOf(blocks.size() == 1 ? blocks[0]
                                  : digest(blocks.data(), blocks.size() * sizeof blocks[0]));
}

} // namespace

std::string tplan::runtime::checksumOf(const void *data, int64_t bytes) {
  std::vector<XXH128_canonical_t> blocks(std::max<int64_t>(1, blocksOf(bytes)));
  for (size_t block = 0; block < blocks.size(); ++block)
    blocks[block] = digestOfBlock(data, bytes, (int64_t)block);
  return combine(blocks);
}

Status tplan::runtime::checksumOfFile(Peers &peers, Team &team, const std::string &path,
                                      std::string &checksum, int64_t &bytes) {
  InputFile file;
  TP_TRY(peers.agree(file.open(path)));
  bytes = file.size();
  TP_TRY(peers.broadcast(&bytes, sizeof bytes));
  TP_TRY(peers.agree(bytes == file.size()
                         ? Status()
                         : errorf("'%s' has %lld bytes for this rank, %lld for rank 0: do all "
                                  "machines share one file system?",
                                  path.c_str(), (long long)file.size(), (long long)bytes)));
  // Each block is the work of one rank; the digests reach all as sums of small numbers.
  int64_t count = std::max<int64_t>(1, blocksOf(bytes)), ranks = peers.size();
  std::vector<XXH128_canonical_t> blocks(count);
  std::vector<double> parts(count * digestParts);
  std::vector<Status> found(std::max<int64_t>(0, (count - peers.rank() + ranks - 1) / ranks));
  team.forEach((int64_t)found.size(), [&](int64_t task, int) {
    int64_t block = task * ranks + peers.rank();
    found[task] = digestOfBlock(file, block, blocks[block]);
    uint32_t numbers[digestParts];
    memcpy(numbers, &blocks[block], sizeof numbers);
    std::copy(std::begin(numbers), std::end(numbers), &parts[block * digestParts]);
  });
  auto failed = std::find_if(found.begin(), found.end(), [](auto &s) { return !s.ok(); });
  TP_TRY(peers.agree(failed == found.end() ? Status() : std::move(*failed)));
  TP_TRY(peers.sum(parts.data(), (int64_t)parts.size()));
  for (int64_t i = 0; i < (int64_t)parts.size(); ++i) {
    auto part = (uint32_t)parts[i];
    memcpy((char *)blocks.data() + i * (int64_t)sizeof part, &part, sizeof part);
  }
  checksum = combine(blocks);
  return {};
}
