//===- random-test.cpp - rt.random against the runtime's Philox -----------===//
#include "runtime/support/random.h"
#include "test/lower/targets.h"
#include <gtest/gtest.h>

class RandomWords : public testing::TestWithParam<On> {};
INSTANTIATE_TEST_SUITE_P(All, RandomWords, testing::Values(On::cpu, On::avx2, On::gpu),
                         [](const auto &test) { return nameOf(test.param); });

TEST_P(RandomWords, AreThoseOfTheRuntime) {
  // Each of the four words; counters that differ by element, by row and not at all.
  const int64_t S = 37, D = 24;
  KernelText k{
      "map", "S=37", "D=24", 100, {"S,D:i32", ":i32", ":i32"}, {"S,D:i32", "S,D:i32", "S,D:i32"},
      R"(
      %row = rt.position "S" %column = rt.position "D"
      %three = arith.constant 3 : i32 %word = arith.andi %column, %three : i32
      %each = rt.random %word of (%0, %row, %1, %three) key (%1, %2) : i32
      %rows = rt.random %three of (%row, %row, %2, %1) key (%row, %2) : i32
      %alone = rt.random %three of (%1, %2, %three, %1) key (%2, %1) : i32
      rt.yield %each, %rows, %alone : i32, i32, i32)"};
  Kernel jit(GetParam(), k.text("k", "i32"));
  std::vector<int32_t> x(S * D);
  for (int64_t i = 0; i < S * D; ++i)
    x[i] = int32_t(2654435761u * uint32_t(i));
  int32_t a = int32_t(0x9E3779B9), b = 0x1234567;
  std::vector<int32_t> each(S * D), rows(S * D), alone(S * D), got[3] = {each, rows, alone};
  auto wide = [](uint32_t high, uint32_t low) { return uint64_t(high) << 32 | low; };
  for (int64_t i = 0; i < S * D; ++i) {
    uint32_t s = i / D;
    each[i] = tplan::runtime::philox(wide(b, a), wide(3, a), wide(s, x[i]))[i % D % 4];
    rows[i] = tplan::runtime::philox(wide(b, s), wide(a, b), wide(s, s))[3];
    alone[i] = tplan::runtime::philox(wide(a, b), wide(a, 3), wide(b, a))[3];
  }
  jit.run("k", (S * D + 99) / 100, {x.data(), &a, &b, got[0].data(), got[1].data(), got[2].data()});
  EXPECT_EQ(got[0], each);
  EXPECT_EQ(got[1], rows);
  EXPECT_EQ(got[2], alone);
}
