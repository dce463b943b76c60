//===- random.h - counter-based random numbers ----------------------------===//
//
// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011): a number is a function of key and counter.
//
// One decision: the key is the seed, the counter is (what, index), so that a
// number depends on neither threads nor layout nor what was drawn before.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_SUPPORT_RANDOM_H
#define TPLAN_RUNTIME_SUPPORT_RANDOM_H

#include <array>
#include <cmath>
#include <cstdint>

namespace tplan::runtime {

/// Streams that the runtime draws from, beside the tensors' own ids (>= 0).
enum RandomStream : int64_t { dataOrderStream = -1, sampleStream = -2 };

inline std::array<uint32_t, 4> philox(uint64_t key, uint64_t high, uint64_t low) {
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  std::array<uint32_t, 4> c = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high,
                               (uint32_t)(high >> 32)};
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t(0xD2511F53) * c[0], p1 = uint64_t(0xCD9E8D57) * c[2];
    c = {(uint32_t)(p1 >> 32) ^ c[1] ^ k0, (uint32_t)p1, (uint32_t)(p0 >> 32) ^ c[3] ^ k1,
         (uint32_t)p0};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

/// In (0, 1], with 53 bits.
inline double unitInterval(uint32_t high, uint32_t low) {
  uint64_t bits = ((uint64_t(high) << 32) | low) >> 11;
  return (double)(bits + 1) * 0x1p-53;
}

/// Number `index` of the stream (seed, stream), uniform in (0, 1].
inline double uniformAt(uint64_t seed, int64_t stream, uint64_t index) {
  auto r = philox(seed, (uint64_t)stream, index);
  return unitInterval(r[0], r[1]);
}

/// Normal number `index` of the stream (seed, stream): Box-Muller on the block
/// index / 2, the cosine for even indices, the sine for odd ones.
inline double normalAt(uint64_t seed, int64_t stream, uint64_t index) {
  auto r = philox(seed, (uint64_t)stream, index / 2);
  double radius = std::sqrt(-2.0 * std::log(unitInterval(r[0], r[1])));
  double angle = 6.283185307179586476925286766559 * unitInterval(r[2], r[3]);
  return radius * (index % 2 ? std::sin(angle) : std::cos(angle));
}

/// A permutation of 0 .. size - 1 that is a function of (seed, stream, round):
/// a Feistel network over the next even power of two, walked until it lands
/// inside. Needs no memory; four rounds of Philox.
class Permutation {
public:
  Permutation(uint64_t seed, int64_t stream, uint64_t round, uint64_t size)
      : seed(seed), stream((uint64_t)stream), round(round), size(size) {
    while (halfBits < 31 && (uint64_t(1) << (2 * halfBits)) < size)
      ++halfBits;
  }
  uint64_t operator[](uint64_t index) const {
    uint64_t mask = (uint64_t(1) << halfBits) - 1;
    do {
      uint64_t left = index >> halfBits, right = index & mask;
      for (uint64_t step = 0; step < 4; ++step) {
        uint64_t mixed =
            left ^ (philox(seed, stream, (round << 34) | (step << 32) | right)[0] & mask);
        left = right;
        right = mixed;
      }
      index = (left << halfBits) | right;
    } while (index >= size);
    return index;
  }

private:
  uint64_t seed, stream, round, size;
  int halfBits = 1;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_SUPPORT_RANDOM_H
