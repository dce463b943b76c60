//===- scaled-matmul-test.cpp - GEMMs in f8 with scales, panel by panel -------===//
//
// Codes are small whole numbers, so sums of products over a panel are exact in any order, and what
// a GEMM adds of them, panel after panel, is known to the bit.
//
//===----------------------------------------------------------------------===//

#include "helpers.h"

#include "runtime/ranks/rank.h"
#include "runtime/support/bf16.h"
#include "runtime/support/f8.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace tplan::runtime;

namespace {

/// A GEMM of m x n x k, operands packed.
struct Case {
  int64_t m, n, k, panel, blockA, blockB;
  bool transA, transB;
  bool panelsFirst = false; // scales of A are stored panel by panel
  bool folded = false;      // sums are exact in any order with scales, too
};

const Case cases[] = {
    {70, 130, 512, 128, 1, 128, false, true},            // 1x128 by 128x128: forward
    {130, 256, 256, 128, 1, 128, false, false},          // the same backward
    {96, 70, 384, 128, 1, 1, true, false, true},         // 1x128 by 1x128: a gradient of weights
    {33, 50, 96, 32, 1, 1, false, true},                 // 1x32
    {40, 300, 1300, 1300, 1, 1, false, true},            // rows, a panel of several slices
    {300, 400, 64, 64, 300, 400, true, true},            // one scale each
    {5, 7, 521, 521, 1, 1, false, false},                // a prime
    {70, 300, 1056, 32, 1, 1, false, true, false, true}, // 1x32, in slices of 352
    {130, 50, 544, 32, 1, 1, true, false, true, true},   // in slices of 32
    {33, 70, 64, 64, 1, 7, true, true, false, true},     // one panel, several rows of B a scale
    {16, 16, 64, 8, 1, 1, false, true, false, true},     // too short to be folded
};

struct Data {
  std::vector<f8e4m3> a;
  std::vector<f8e5m2> b;
  std::vector<float> scaleA, scaleB;
  tp_gemm gemm = {};
  tp_scales scales = {};

  explicit Data(const Case &c) {
    gemm = {c.m,
            c.n,
            c.k,
            c.transA ? c.m : c.k,
            c.transB ? c.k : c.n,
            c.n,
            1,
            0,
            0,
            0,
            c.transA,
            c.transB,
            0,
            TP_F8E4M3,
            TP_F32,
            0,
            0,
            0,
            0};
    int64_t panels = c.k / c.panel, rows = (c.m + c.blockA - 1) / c.blockA,
            columns = (c.n + c.blockB - 1) / c.blockB;
    scales.type_b = TP_F8E5M2, scales.panel = c.panel;
    scales.a_block = c.blockA, scales.b_block = c.blockB;
    scales.a_stride = c.panelsFirst ? 1 : panels, scales.a_panel = c.panelsFirst ? rows : 1;
    scales.b_stride = panels, scales.b_panel = 1;
    std::minstd_rand random(7);
    auto next = [&] { return random(); };
    auto scale = [&] {
      return c.folded ? std::ldexp(1.0f, int(next() % 4) - 2)
                      : std::ldexp(1 + float(next() % 1000) / 1000, int(next() % 20) - 10);
    };
    scales.folded = c.folded;
    for (int64_t i = 0; i < c.m * c.k; ++i)
      a.push_back(roundTo<f8e4m3>(float(int(next() % 17) - 8)));
    for (int64_t i = 0; i < c.k * c.n; ++i)
      b.push_back(roundTo<f8e5m2>(float(int(next() % 9) - 4)));
    for (int64_t i = 0; i < rows * panels; ++i)
      scaleA.push_back(scale());
    for (int64_t i = 0; i < columns * panels; ++i)
      scaleB.push_back(scale());
  }

  double exact(int64_t i, int64_t j) const {
    double total = 0;
    for (int64_t k = 0; k < gemm.k; ++k) {
      int64_t p = k / scales.panel;
      double x = widen(a[gemm.trans_a ? k * gemm.lda + i : i * gemm.lda + k]),
             y = widen(b[gemm.trans_b ? j * gemm.ldb + k : k * gemm.ldb + j]);
      total += x * scaleA[i / scales.a_block * scales.a_stride + p * scales.a_panel] * y *
               scaleB[j / scales.b_block * scales.b_stride + p * scales.b_panel];
    }
    return total;
  }

  float expected(int64_t i, int64_t j) const {
    float total = 0;
    for (int64_t p = 0; p < gemm.k / scales.panel; ++p) {
      float sum = 0;
      for (int64_t k = p * scales.panel; k < (p + 1) * scales.panel; ++k)
        sum += widen(a[gemm.trans_a ? k * gemm.lda + i : i * gemm.lda + k]) *
               widen(b[gemm.trans_b ? j * gemm.ldb + k : k * gemm.ldb + j]);
      float scale = scaleA[i / scales.a_block * scales.a_stride + p * scales.a_panel] *
                    scaleB[j / scales.b_block * scales.b_stride + p * scales.b_panel];
      total = p ? std::fma(scale, sum, total) : scale * sum;
    }
    return total;
  }
};

Status multiply(const Data &d, void *c, int threads = 2, const char *way = nullptr) {
  tp_rank rank;
  TP_TRY(rank.team.start(threads));
  TP_TRY(rank.matmul.start(rank.team, way));
  return rank.matmul.runScaled(rank.team, d.gemm, d.scales, d.a.data(), d.b.data(), d.scaleA.data(),
                               d.scaleB.data(), c, d.gemm.m);
}

TEST(ScaledMatmul, AddsPanelAfterPanel) {
  for (const Case &each : cases)
    for (const char *way : {(const char *)nullptr, "widen"}) {
      Data d(each);
      std::vector<float> c(each.m * each.n, -1);
      ASSERT_OK(multiply(d, c.data(), 2, way));
      for (int64_t i = 0; i < each.m; ++i)
        for (int64_t j = 0; j < each.n; ++j)
          ASSERT_EQ(c[i * each.n + j], d.expected(i, j))
              << each.m << " x " << each.n << " x " << each.k << " at " << i << ", " << j;
    }
}

TEST(ScaledMatmul, AddsTheWholeOntoC) {
  Data d(cases[2]);
  d.gemm.accumulate = 1;
  std::vector<float> c(d.gemm.m * d.gemm.n);
  for (size_t i = 0; i < c.size(); ++i)
    c[i] = float(i) * 1e3f;
  std::vector<float> before = c;
  ASSERT_OK(multiply(d, c.data()));
  for (int64_t i = 0; i < d.gemm.m; ++i)
    for (int64_t j = 0; j < d.gemm.n; ++j)
      ASSERT_EQ(c[i * d.gemm.n + j], before[i * d.gemm.n + j] + d.expected(i, j));
}

TEST(ScaledMatmul, RoundsOnce) {
  Data d(cases[0]);
  d.gemm.out = TP_BF16;
  std::vector<bf16> c(d.gemm.m * d.gemm.n);
  ASSERT_OK(multiply(d, c.data()));
  for (int64_t i = 0; i < d.gemm.m; ++i)
    for (int64_t j = 0; j < d.gemm.n; ++j)
      ASSERT_EQ(uint16_t(c[i * d.gemm.n + j]), uint16_t(roundTo<bf16>(d.expected(i, j))));
}

TEST(ScaledMatmul, IsNearTheProductInF64) {
  // 1 - 2 <x, y> / (|x|^2 + |y|^2), as DeepGEMM compares; its bar is 1e-3.
  for (const Case &each : cases) {
    Data d(each);
    std::minstd_rand random(5);
    for (f8e4m3 &code : d.a)
      code = f8e4m3(random() % 0x7F | (random() % 2) << 7);
    for (f8e5m2 &code : d.b)
      code = f8e5m2(random() % 0x7C | (random() % 2) << 7);
    std::vector<float> c(each.m * each.n);
    ASSERT_OK(multiply(d, c.data()));
    double product = 0, squares = 0;
    for (int64_t i = 0; i < each.m; ++i)
      for (int64_t j = 0; j < each.n; ++j) {
        double x = c[i * each.n + j], y = d.exact(i, j);
        product += x * y;
        squares += x * x + y * y;
      }
    EXPECT_LT(1 - 2 * product / squares, 1e-6) << each.m << " x " << each.n << " x " << each.k;
    EXPECT_GT(squares, 0);
  }
}

TEST(ScaledMatmul, GivesTheSameBitsOnAnyTeam) {
  Data d(cases[1]);
  // Codes whose sums are not exact.
  std::minstd_rand random(3);
  for (f8e4m3 &code : d.a)
    code = f8e4m3(random() % 0x70);
  std::vector<float> one(d.gemm.m * d.gemm.n), three(one);
  ASSERT_OK(multiply(d, one.data(), 1));
  ASSERT_OK(multiply(d, three.data(), 3));
  EXPECT_EQ(memcmp(one.data(), three.data(), one.size() * sizeof(float)), 0);
}

TEST(ScaledMatmul, KeepsScalesOfAnySize) {
  // Products of codes and scales would be denormal, or too large, before they are summed.
  tp_gemm g = {1, 1, 2, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0, TP_F8E4M3, TP_F32, 0, 0, 0, 0};
  tp_scales s = {TP_F8E4M3, 0, 0, 0, 0, 2, 1, 0, 0, 1, 0, 0};
  f8e4m3 a[] = {roundTo<f8e4m3>(448), roundTo<f8e4m3>(0x1p-9f)}, b[] = {a[1], a[0]};
  tp_rank rank;
  ASSERT_OK(rank.team.start(1));
  ASSERT_OK(rank.matmul.start(rank.team, nullptr));
  for (float scale : {0x1p-127f, 0x1p127f}) {
    float other = 1 / scale, c = 0;
    ASSERT_OK(rank.matmul.runScaled(rank.team, g, s, a, b, &scale, &other, &c, 1));
    EXPECT_EQ(c, 2 * 448 * 0x1p-9f);
  }
}

TEST(ScaledMatmul, RefusesWhatItCannotDo) {
  auto refused = [](auto change) {
    Data d(cases[0]);
    change(d);
    std::vector<float> c(d.gemm.m * d.gemm.n);
    return std::string(multiply(d, c.data()).message());
  };
  EXPECT_NE(refused([](Data &d) { d.gemm.in = TP_BF16; })
                .find("of f8 to f32, bf16 or f16, found "
                      "bf16 by f8E5M2 to f32"),
            std::string::npos);
  EXPECT_NE(refused([](Data &d) { d.gemm.batch = 2; }).find("found batch = 2"), std::string::npos);
  EXPECT_NE(refused([](Data &d) { d.scales.panel = 100; }).find("k = 512, panel = 100"),
            std::string::npos);
}

} // namespace
