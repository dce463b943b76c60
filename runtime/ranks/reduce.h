//===- reduce.h - sums of arrays in one order -----------------------------===//
//
// Per element over the arrays from the left: f32 for f32, bf16 and f16, which are rounded once at
// the end, f64 for f64; i32 and i64 wrap. A NaN is the largest of all.
//
// One decision: all arrays are read side by side, a few vectors of each at a time, and the
// sums go from registers to where they belong: memory sees each array once.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_RANKS_REDUCE_H
#define TPLAN_RUNTIME_RANKS_REDUCE_H

#include "tplan/runtime.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tplan::runtime {

struct Reducer {
  int64_t elementBytes;
  /// Adds elements of the inputs to `sums`, or, where `fresh`, begins with the first input.
  /// They go to all outputs, or, where there are none, back to `sums`, unrounded.
  void (*combine)(void *sums, bool fresh, const char *const *in, int inputs, char *const *out,
                  int outputs, int64_t count);
};

/// Null for a type that is not reduced, or a reduction that nobody knows.
const Reducer *findReducer(int32_t type, int32_t reduction);
/// For collectives that checkCollective has accepted.
inline const Reducer &reducerOf(int32_t type, int32_t reduction) {
  return *findReducer(type, reduction);
}

/// Reduces `count` elements at in(0), in(1), ... into each of out(0), out(1), ...; the functions
/// return addresses as char pointers. An output may be an input, and overlaps nothing else.
template <typename In, typename Out>
void reduceArrays(const Reducer &reducer, int inputs, In &&in, int outputs, Out &&out,
                  int64_t count) {
  constexpr int together = 16; // more arrays are read in several passes over a tile
  constexpr int64_t tile = 1024;
  alignas(64) char sums[tile * 8];
  const char *from[together];
  char *to[together];
  int64_t step = inputs > together || outputs > together ? tile : count;
  for (int64_t begin = 0; begin < count; begin += step) {
    int64_t here = std::min(step, count - begin), at = begin * reducer.elementBytes;
    for (int first = 0; first < inputs; first += together) {
      int some = std::min(together, inputs - first);
      bool last = first + some == inputs;
      int written = last ? std::min(together, outputs) : 0;
      for (int i = 0; i < some; ++i)
        from[i] = in(first + i) + at;
      for (int i = 0; i < written; ++i)
        to[i] = out(i) + at;
      reducer.combine(sums, first == 0, from, some, to, written, here);
    }
    for (int i = together; i < outputs; ++i)
      memcpy(out(i) + at, to[0], here * reducer.elementBytes);
  }
}

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RANKS_REDUCE_H
