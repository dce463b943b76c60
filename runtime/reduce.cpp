//===- reduce.cpp - sums of arrays in one order ----------------------------===//
//
// Plain loops, which the compiler makes vectors of, once for each level of CPU. There is
// no product in them, so no level can contract anything: all give the same bits.
//
//===----------------------------------------------------------------------===//

#include "runtime/reduce.h"

#include "runtime/bf16.h"

using namespace tplan::runtime;

namespace {

#define LEVELS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))

inline float value(bf16 x) { return widen(x); }
inline float value(float x) { return x; }
inline double value(double x) { return x; }
inline uint32_t value(uint32_t x) { return x; }
inline uint64_t value(uint64_t x) { return x; }
inline int32_t value(int32_t x) { return x; }
inline int64_t value(int64_t x) { return x; }

template <typename T> inline T sum(T a, T b) { return a + b; }
template <typename T> inline T larger(T a, T b) { return a > b || a != a ? a : b; }

// S is the type of the sums, T that of the values.
#define STEP(NAME, S, T, EXPRESSION)                                                               \
  LEVELS void NAME(void *into, const void *from, int64_t count) {                                  \
    S *__restrict sums = (S *)into;                                                                \
    const T *__restrict values = (const T *)from;                                                  \
    for (int64_t i = 0; i < count; ++i)                                                            \
      sums[i] = EXPRESSION;                                                                        \
  }
STEP(setF32, float, float, value(values[i]))
STEP(addF32, float, float, sum(sums[i], value(values[i])))
STEP(maxF32, float, float, larger(sums[i], value(values[i])))
STEP(setF64, double, double, value(values[i]))
STEP(addF64, double, double, sum(sums[i], value(values[i])))
STEP(maxF64, double, double, larger(sums[i], value(values[i])))
STEP(setBf16, float, bf16, value(values[i]))
STEP(addBf16, float, bf16, sum(sums[i], value(values[i])))
STEP(maxBf16, float, bf16, larger(sums[i], value(values[i])))
STEP(setI32, uint32_t, uint32_t, value(values[i]))
STEP(addI32, uint32_t, uint32_t, sum(sums[i], value(values[i])))
STEP(maxI32, int32_t, int32_t, larger(sums[i], value(values[i])))
STEP(setI64, uint64_t, uint64_t, value(values[i]))
STEP(addI64, uint64_t, uint64_t, sum(sums[i], value(values[i])))
STEP(maxI64, int64_t, int64_t, larger(sums[i], value(values[i])))
#undef STEP

/// A group of elements is read before it is written, and writing stays behind reading.
LEVELS void roundToBf16s(void *at, int64_t count) {
  constexpr int64_t group = 64;
  int64_t i = 0;
  for (; i + group <= count; i += group) {
    float wide[group];
    memcpy(wide, (const float *)at + i, sizeof wide);
    bf16 narrow[group];
    for (int64_t j = 0; j < group; ++j)
      narrow[j] = roundToBf16(wide[j]);
    memcpy((bf16 *)at + i, narrow, sizeof narrow);
  }
  for (; i < count; ++i) {
    float wide;
    memcpy(&wide, (const float *)at + i, sizeof wide);
    bf16 narrow = roundToBf16(wide);
    memcpy((bf16 *)at + i, &narrow, sizeof narrow);
  }
}

struct Row {
  int32_t type;
  Reducer sum, max;
};
constexpr Row table[] = {
    {TP_F64, {8, setF64, addF64, nullptr}, {8, setF64, maxF64, nullptr}},
    {TP_F32, {4, setF32, addF32, nullptr}, {4, setF32, maxF32, nullptr}},
    {TP_BF16, {2, setBf16, addBf16, roundToBf16s}, {2, setBf16, maxBf16, roundToBf16s}},
    {TP_I32, {4, setI32, addI32, nullptr}, {4, setI32, maxI32, nullptr}},
    {TP_I64, {8, setI64, addI64, nullptr}, {8, setI64, maxI64, nullptr}},
};

} // namespace

const Reducer &tplan::runtime::reducerOf(int32_t type, int32_t reduction) {
  const Row *row = table;
  while (row->type != type)
    ++row;
  return reduction == TP_SUM ? row->sum : row->max;
}
