//===- reduce.h - sums of arrays in one order -----------------------------===//
//
// Per element over the arrays from the left: f32 for f32 and bf16, which is rounded once at
// the end, f64 for f64; i32 and i64 wrap. A NaN is the largest of all.
//
// One decision: arrays are added in tiles that stay in the first-level cache, so that any
// number of them is read from memory once and written once.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_REDUCE_H
#define TPLAN_RUNTIME_REDUCE_H

#include "tplan/runtime.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tplan::runtime {

/// The steps of one type and reduction, on `count` elements.
struct Reducer {
  int64_t elementBytes;
  void (*first)(void *sums, const void *values, int64_t count);
  void (*next)(void *sums, const void *values, int64_t count);
  void (*round)(void *sums, int64_t count); // to the type, at the same place; null: it is
};

/// For what checkCollective lets through.
const Reducer &reducerOf(int32_t type, int32_t reduction);

/// Reduces `count` elements at in(0), in(1), ... into each of out(0), out(1), ..., which give
/// addresses as char pointers. An output may be an input, and overlaps nothing else.
template <typename In, typename Out>
void reduceArrays(const Reducer &reducer, int inputs, In &&in, int outputs, Out &&out,
                  int64_t count) {
  constexpr int64_t tile = 1024;
  alignas(64) char sums[tile * 8];
  for (int64_t begin = 0; begin < count; begin += tile) {
    int64_t here = std::min(tile, count - begin), at = begin * reducer.elementBytes;
    reducer.first(sums, in(0) + at, here);
    for (int array = 1; array < inputs; ++array)
      reducer.next(sums, in(array) + at, here);
    if (reducer.round)
      reducer.round(sums, here);
    for (int array = 0; array < outputs; ++array)
      memcpy(out(array) + at, sums, here * reducer.elementBytes);
  }
}

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_REDUCE_H
