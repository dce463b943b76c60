//===- reduce-test.cpp - sums of any number of arrays ---------------------------===//

#include "../helpers.h"
#include "case.h"

#include "runtime/ranks/reduce.h"
#include "runtime/support/bf16.h"
#include "runtime/support/f16.h"
#include "runtime/support/types.h"

#include <bit>
#include <cmath>
#include <cstring>

using namespace conformance;
using namespace tplan::runtime;

// More arrays than are read together, and more than one tile of them.
TEST(ReduceArrays, ManyArraysInOrder) {
  for (int32_t type : {TP_F64, TP_F32, TP_BF16, TP_F16, TP_I32, TP_I64})
    for (int32_t reduction : {TP_SUM, TP_MAX})
      for (int arrays : {1, 2, 15, 16, 17, 33})
        for (int64_t count : {0, 1, 63, 64, 1024, 2500}) {
          int64_t bytes = bytesOf(type);
          std::vector<std::vector<char>> in(arrays, std::vector<char>(count * bytes));
          std::vector<char> expected(count * bytes);
          std::vector<const char *> values(arrays);
          for (int64_t i = 0; i < count; ++i) {
            for (int array = 0; array < arrays; ++array) {
              char *at = in[array].data() + i * bytes;
              writeValue(type, at, mix(5, array, i));
              values[array] = at;
            }
            combine(type, reduction, values, expected.data() + i * bytes);
          }
          // In place: into all of them.
          reduceArrays(
              reducerOf(type, reduction), arrays,
              [&](int array) { return (const char *)in[array].data(); }, arrays,
              [&](int array) { return in[array].data(); }, count);
          for (const std::vector<char> &result : in)
            ASSERT_TRUE(result == expected)
                << nameOf(type) << " " << reduction << " " << arrays << " " << count;
        }
}

// Vectors and single elements round alike: all patterns of the lower half, and no number.
TEST(ReduceArrays, EachTypeIsReducedButBytes) {
  for (int32_t type = -1; type <= TP_NUM_TYPES; ++type)
    for (int32_t reduction : {TP_SUM, TP_MAX})
      EXPECT_EQ(findReducer(type, reduction) != nullptr, type >= 0 && type < TP_I1) << type;
  EXPECT_EQ(findReducer(TP_F32, TP_MAX + 1), nullptr);
}

TEST(ReduceArrays, Bf16IsRoundedToNearestEven) {
  std::vector<bf16> high, low, sum(64 + 1);
  auto check = [&](float a, float b) {
    // a + b is exact or not; it is rounded once from f32.
    high.assign(sum.size(), roundTo<bf16>(a));
    low.assign(sum.size(), roundTo<bf16>(b));
    const std::vector<bf16> *in[] = {&high, &low};
    reduceArrays(
        reducerOf(TP_BF16, TP_SUM), 2, [&](int i) { return (const char *)in[i]->data(); }, 1,
        [&](int) { return (char *)sum.data(); }, (int64_t)sum.size());
    bf16 expected = roundTo<bf16>(widen(high[0]) + widen(low[0]));
    for (bf16 one : sum)
      ASSERT_EQ(one, expected) << a << " + " << b;
  };
  for (int lower = 0; lower < 256; ++lower)
    check(1.0078125f, std::ldexp(float(lower), -15));
  for (float odd : {INFINITY, -INFINITY, NAN, 0.0f, -0.0f, 3e38f})
    for (float other : {INFINITY, -1.0f, 3e38f, NAN, -0.0f})
      check(odd, other);
}

// Every number, in a vector; those after the last vector, too.
TEST(ReduceArrays, F16IsRoundedToNearestEven) {
  std::vector<f16> all((1 << 16) + 33), other(all.size()), sum(all.size());
  for (uint32_t bits = 0; bits < all.size(); ++bits)
    all[bits] = f16(uint16_t(bits));
  for (float addend : {0.0f, 0x1p-24f, -0x1p-11f, 1.0f, 1.0009765625f, 65504.0f, -INFINITY}) {
    other.assign(other.size(), roundTo<f16>(addend));
    const std::vector<f16> *in[] = {&all, &other};
    reduceArrays(
        reducerOf(TP_F16, TP_SUM), 2, [&](int i) { return (const char *)in[i]->data(); }, 1,
        [&](int) { return (char *)sum.data(); }, (int64_t)sum.size());
    for (size_t i = 0; i < sum.size(); ++i) {
      float found = widen(sum[i]), expected = widen(roundTo<f16>(widen(all[i]) + widen(other[i])));
      ASSERT_TRUE(found == expected || (std::isnan(found) && std::isnan(expected)))
          << widen(all[i]) << " + " << addend << ": " << found;
    }
  }
}
