//===- matmul-test.cpp - GEMMs against a loop, and the same bits on any team --===//

#include "helpers.h"

#include "runtime/device/matmul_tiles.h"
#include "runtime/ranks/rank.h"
#include "runtime/ranks/tensors.h"
#include "runtime/support/bf16.h"
#include "runtime/support/f16.h"
#include "runtime/support/f8.h"
#include "runtime/support/random.h"

#include <cmath>
#include <cstring>

using namespace tplan::runtime;

namespace {

struct Case {
  int64_t m, n, k, batch;
  int32_t in, out;
  bool transA, transB, accumulate, bias = false;
};

std::string caseName(const Case &c) {
  return std::string(nameOf(c.in)) + "_" + nameOf(c.out) + "_" + std::to_string(c.m) + "x" +
         std::to_string(c.n) + "x" + std::to_string(c.k) + "_" + std::to_string(c.batch) +
         (c.transA ? "_ta" : "") + (c.transB ? "_tb" : "") + (c.accumulate ? "_acc" : "") +
         (c.bias ? "_bias" : "");
}

void PrintTo(const Case &c, std::ostream *to) { *to << caseName(c); }

std::vector<Case> allCases() {
  struct Size {
    int64_t m, n, k, batch;
  };
  // Odd sizes; several tiles with ragged edges; one element; deep K over more
  // than one slice of the widened way; K = 0.
  const Size sizes[] = {{1, 1, 1, 1},      {7, 5, 3, 2},     {130, 97, 65, 1}, {333, 259, 72, 1},
                        {64, 96, 1100, 1}, {17, 400, 31, 3}, {5, 6, 0, 1}};
  const std::pair<int32_t, int32_t> types[] = {{TP_F32, TP_F32},   {TP_F64, TP_F64},
                                               {TP_BF16, TP_BF16}, {TP_BF16, TP_F32},
                                               {TP_F16, TP_F16},   {TP_F16, TP_F32}};
  std::vector<Case> cases;
  for (const Size &s : sizes)
    for (auto [in, out] : types)
      for (int flags = 0; flags < 12; ++flags) {
        bool bias = flags >= 8;
        if (!bias || (s.batch == 1 && in == out && in != TP_F64))
          cases.push_back({s.m, s.n, s.k, s.batch, in, out, (flags & 1) != 0, (flags & 2) != 0,
                           (flags & 4) != 0, bias});
      }
  return cases;
}

/// Operands with padded rows; the padding holds NaN, so that reading it shows.
struct Operands {
  tp_gemm gemm = {};
  std::vector<char> a, b, c, bias;

  explicit Operands(const Case &s) {
    int64_t rowsA = s.transA ? s.k : s.m, widthA = s.transA ? s.m : s.k;
    int64_t rowsB = s.transB ? s.n : s.k, widthB = s.transB ? s.k : s.n;
    gemm = {s.m,      s.n,      s.k,          widthA + 3, widthB + 1, s.n + 2, s.batch, 0, 0, 0,
            s.transA, s.transB, s.accumulate, s.in,       s.out,      0,       s.bias,  0, 0};
    gemm.stride_a = rowsA * gemm.lda + 5;
    gemm.stride_b = rowsB * gemm.ldb + 4;
    gemm.stride_c = s.m * gemm.ldc + 7;
    fill(a, s.in, gemm.stride_a * s.batch, gemm.lda, widthA, gemm.stride_a, rowsA, 1);
    fill(b, s.in, gemm.stride_b * s.batch, gemm.ldb, widthB, gemm.stride_b, rowsB, 2);
    fill(c, s.out, gemm.stride_c * s.batch, gemm.ldc, s.n, gemm.stride_c, s.m, 3);
    fill(bias, s.out, s.n, s.n, s.n, s.n, 1, 4);
  }

  static void fill(std::vector<char> &to, int32_t type, int64_t elements, int64_t ld, int64_t width,
                   int64_t stride, int64_t rows, int64_t stream) {
    to.resize(std::max<int64_t>(1, elements) * bytesOf(type));
    for (int64_t e = 0; e < elements; ++e) {
      int64_t inMatrix = e % stride;
      bool used = inMatrix / ld < rows && inMatrix % ld < width;
      setElement(to.data(), type, e, used ? normalAt(7, stream, e) : NAN);
    }
  }
};

/// Largest error allowed in units of sum |a||b| and of the result.
bool within(const Case &s, double found, double expected, double magnitude) {
  double sums = s.in == TP_F64 ? 1e-14 : 1e-6;
  double rounding = s.out == TP_BF16 ? 0.00392 : s.out == TP_F16 ? 0.00049 : 0;
  return std::abs(found - expected) <= sums * magnitude + rounding * std::abs(expected) + 1e-30;
}

/// A matrix [rows, depth] in f64, with the contraction innermost; `isAcross`: memory has [depth,
/// ld].
std::vector<double> widened(const char *from, int32_t type, int64_t rows, int64_t depth, int64_t ld,
                            bool isAcross) {
  std::vector<double> to(rows * depth);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < depth; ++k)
      to[i * depth + k] = getElement(from, type, isAcross ? k * ld + i : i * ld + k);
  return to;
}

void expectProduct(const Case &s, const Operands &before, const Operands &after) {
  const tp_gemm &g = before.gemm;
  for (int64_t batch = 0; batch < g.batch; ++batch) {
    int64_t width = bytesOf(g.in);
    std::vector<double> a = widened(before.a.data() + batch * g.stride_a * width, g.in, g.m, g.k,
                                    g.lda, g.trans_a),
                        b = widened(before.b.data() + batch * g.stride_b * width, g.in, g.n, g.k,
                                    g.ldb, !g.trans_b);
    for (int64_t i = 0; i < g.m; ++i)
      for (int64_t j = 0; j < g.ldc; ++j) {
        int64_t at = batch * g.stride_c + i * g.ldc + j;
        if (j >= g.n) { // padding stays
          ASSERT_EQ(memcmp(before.c.data() + at * bytesOf(g.out),
                           after.c.data() + at * bytesOf(g.out), bytesOf(g.out)),
                    0);
          continue;
        }
        double sum = s.accumulate ? getElement(before.c.data(), g.out, at)
                     : s.bias     ? getElement(before.bias.data(), g.out, j)
                                  : 0,
               magnitude = std::abs(sum);
        for (int64_t k = 0; k < g.k; ++k) {
          double product = a[i * g.k + k] * b[j * g.k + k];
          sum += product;
          magnitude += std::abs(product);
        }
        double found = getElement(after.c.data(), g.out, at);
        ASSERT_TRUE(within(s, found, sum, magnitude))
            << "C[" << batch << "][" << i << "][" << j << "] = " << found << ", expected " << sum;
      }
  }
}

Status multiply(int threads, const char *way, Operands &operands) {
  tp_rank rank;
  TP_TRY(rank.team.start(threads));
  TP_TRY(rank.matmul.start(rank.team, way));
  tp_call call = {"matmul", "x.tplan", 1, TP_GEMM, 0, 0, 0};
  tp_matmul(&rank, &call, &operands.gemm, operands.a.data(), operands.b.data(),
            operands.gemm.bias ? operands.bias.data() : nullptr, operands.c.data(),
            operands.gemm.batch * operands.gemm.m);
  return std::move(rank.error);
}

class MatmulOf : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(All, MatmulOf, testing::ValuesIn(allCases()),
                         [](const auto &info) { return caseName(info.param); });

} // namespace

TEST_P(MatmulOf, EqualsALoopAndHasTheSameBitsOnAnyTeam) {
  const Case &s = GetParam();
  Operands before(s);
  // The widened way runs on every machine, the library's where the CPU has it.
  for (const char *way : {"widen", (const char *)nullptr}) {
    std::vector<char> first;
    for (int threads = 1; threads <= 4; ++threads) {
      Operands after = before;
      ASSERT_OK(multiply(threads, way, after));
      if (threads == 1) {
        expectProduct(s, before, after);
        first = after.c;
      } else {
        ASSERT_EQ(memcmp(first.data(), after.c.data(), first.size()), 0) << threads << " threads";
      }
    }
  }
}

/// Parts of the rows, each in a call of its own, leave the bits of the whole: with tiles that end
/// where chunks do, and only then.
TEST(Matmul, PartsHaveTheBitsOfTheWhole) {
  for (int64_t chunks : {2, 3, 8})
    for (auto [in, out] : {std::pair(TP_F32, TP_F32), std::pair(TP_F64, TP_F64),
                           std::pair(TP_BF16, TP_BF16), std::pair(TP_F16, TP_F16)})
      for (int64_t part : {1, 7, 40, 300})
        for (bool bias : {false, true}) {
          Case s{part * chunks, 131, 700, 1, in, out, false, true, false, bias && in != TP_F64};
          for (const char *way : {"widen", (const char *)nullptr}) {
            Operands whole(s), parts(s);
            whole.gemm.chunks = (int32_t)chunks;
            ASSERT_OK(multiply(2, way, whole));
            expectProduct(s, parts, whole);
            tp_rank rank;
            ASSERT_OK(rank.team.start(2));
            ASSERT_OK(rank.matmul.start(rank.team, way));
            tp_call call = {"matmul", "x.tplan", 1, TP_GEMM, 0, 0, 0};
            tp_gemm g = whole.gemm;
            g.m = part, g.is_part = 1;
            for (int64_t i = chunks - 1; i >= 0; --i)
              ASSERT_EQ(tp_matmul(&rank, &call, &g, parts.a.data() + i * part * g.lda * bytesOf(in),
                                  parts.b.data(), g.bias ? parts.bias.data() : nullptr,
                                  parts.c.data() + i * part * g.ldc * bytesOf(out), part),
                        0);
            ASSERT_EQ(memcmp(whole.c.data(), parts.c.data(), whole.c.size()), 0)
                << caseName(s) << " in " << chunks;
          }
        }
}

TEST(Matmul, LargeShapesHaveTheSameBitsOnAnyTeam) {
  for (auto [in, out] :
       {std::pair(TP_F32, TP_F32), std::pair(TP_BF16, TP_BF16), std::pair(TP_BF16, TP_F32),
        std::pair(TP_F16, TP_F16), std::pair(TP_F16, TP_F32)})
    for (int transposes = 0; transposes < 4; ++transposes) {
      Case s{801, 1201, 1500, 1, in, out, (transposes & 1) != 0, (transposes & 2) != 0, true};
      Operands before(s), first = before;
      ASSERT_OK(multiply(1, nullptr, first));
      for (int threads = 2; threads <= 4; ++threads) {
        Operands after = before;
        ASSERT_OK(multiply(threads, nullptr, after));
        EXPECT_EQ(memcmp(first.c.data(), after.c.data(), first.c.size()), 0)
            << caseName(s) << ", " << threads;
      }
    }
}

TEST(Matmul, TilesAreEvenAndCoverC) {
  for (int64_t m : {1, 15, 64, 500, 4096, 100000})
    for (int64_t n : {1, 47, 256, 777, 128256}) {
      tp_gemm g = {m, n, 64, 64, n, n, 1, 0, 0, 0, 0, 0, 0, TP_F32, TP_F32, 0, 0, 0, 0};
      Tiling t = tilingOf(g);
      EXPECT_GE(t.tilesM * t.m, m);
      EXPECT_LT((t.tilesM - 1) * t.m, m);
      EXPECT_GE(t.tilesN * t.n, n);
      EXPECT_LT((t.tilesN - 1) * t.n, n);
      EXPECT_LE(t.m, 256);
      EXPECT_LE(t.n, 384);
      for (int32_t chunks : {2, 5}) { // tiles of chunks follow each other without a gap
        g.m = m * chunks, g.chunks = chunks;
        t = tilingOf(g);
        int64_t end = 0;
        for (int64_t tile = 0; tile < t.tilesM; end += t.rowsOf(tile++)) {
          EXPECT_EQ(t.rowOf(tile), end);
          EXPECT_EQ(t.rowOf(tile) / m, (end + t.rowsOf(tile) - 1) / m);
        }
        EXPECT_EQ(end, g.m);
      }
    }
}

/// One GEMM without batches or padding, by a way of bf16.
template <typename T>
void multiplySmall(const char *way, const tp_gemm &g, const std::vector<T> &a,
                   const std::vector<T> &b, const T *bias, std::vector<T> &c) {
  tp_rank rank;
  ASSERT_OK(rank.team.start(1));
  ASSERT_OK(rank.matmul.start(rank.team, way));
  tp_call call = {"matmul", "x.tplan", 1, TP_GEMM, 0, 0, 0};
  ASSERT_EQ(tp_matmul(&rank, &call, &g, a.data(), b.data(), bias, c.data(), g.m), 0);
}

TEST(Matmul, AccumulationRoundsOnce) {
  // 1 + 2^-9 + 2^-9 is 1 + 2^-8, half a unit above 1 in bf16: it rounds to even, 1.
  // 1 + 3 * 2^-9 rounds to 1 + 2^-7; adding 2^-9 to a rounded sum three times
  // would stay at 1.
  for (const char *way : {"widen", (const char *)nullptr}) {
    std::vector<bf16> a(3, roundTo<bf16>(0x1p-9f)), b(3, roundTo<bf16>(1)), c(1, roundTo<bf16>(1));
    tp_gemm g = {1, 1, 3, 3, 1, 1, 1, 0, 0, 0, 0, 0, 1, TP_BF16, TP_BF16, 0, 0, 0, 0};
    multiplySmall(way, g, a, b, (const bf16 *)nullptr, c);
    EXPECT_EQ(widen(c[0]), 1 + 0x1p-7f);
  }
}

TEST(Matmul, ABiasIsRoundedWithTheProduct) {
  // 1 + 2^-8 alone rounds to 1; with 2^-8 it is 1 + 2^-7.
  for (const char *way : {"widen", (const char *)nullptr}) {
    std::vector<bf16> a = {roundTo<bf16>(1), roundTo<bf16>(0x1p-8f)}, b(2, roundTo<bf16>(1)), c(1);
    bf16 bias = roundTo<bf16>(0x1p-8f);
    tp_gemm g = {1, 1, 2, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0, TP_BF16, TP_BF16, 0, 1, 0, 0};
    multiplySmall(way, g, a, b, &bias, c);
    EXPECT_EQ(widen(c[0]), 1 + 0x1p-7f);
  }
}

TEST(Matmul, OverflowOfF16IsInfinity) {
  // 255 * 257 = 65535 rounds to 65536, beyond the largest f16; 255 * 256 does not.
  std::vector<f16> a = {roundTo<f16>(255)}, b = {roundTo<f16>(257), roundTo<f16>(256)}, c(2);
  tp_gemm g = {1, 2, 1, 1, 2, 2, 1, 0, 0, 0, 0, 0, 0, TP_F16, TP_F16, 0, 0, 0, 0};
  multiplySmall(nullptr, g, a, b, (const f16 *)nullptr, c);
  EXPECT_EQ(widen(c[0]), INFINITY);
  EXPECT_EQ(widen(c[1]), 65280);
}

TEST(Matmul, RefusesF8WithoutScales) {
  tp_gemm g = {1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, TP_F8E4M3, TP_F32, 0, 0, 0, 0};
  tp_rank rank;
  ASSERT_OK(rank.team.start(1));
  ASSERT_OK(rank.matmul.start(rank.team, nullptr));
  f8e4m3 a = roundTo<f8e4m3>(2), b = a;
  float c = 0;
  Status refused = rank.matmul.run(rank.team, g, &a, &b, nullptr, &c, 1);
  EXPECT_NE(std::string(refused.message()).find("matmul of f8E4M3FN to f32 is not one of"),
            std::string::npos);
}

TEST(Matmul, ComputesTheRowsThatAreWanted) {
  // Rows over the batch: whole matrices, then tiles of the next one.
  tp_gemm g = {600, 40, 8, 8, 40, 40, 2, 4800, 320, 24000, 0, 0, 0, TP_F32, TP_F32, 0, 0, 0, 0};
  std::vector<float> a(9600), b(640), all(48000, -1);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = float(i % 17) - 8;
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = float(i % 13) - 6;
  tp_rank rank;
  ASSERT_OK(rank.team.start(2));
  ASSERT_OK(rank.matmul.start(rank.team, nullptr));
  tp_call call = {"matmul", "x.tplan", 1, TP_GEMM, 0, 0, 0};
  ASSERT_EQ(tp_matmul(&rank, &call, &g, a.data(), b.data(), nullptr, all.data(), g.batch * g.m), 0);
  int64_t tile = tplan::runtime::tilingOf(g).m;
  for (int64_t rows : {0, 1, 599, 600, 601, 1200}) {
    std::vector<float> some(48000, -1);
    ASSERT_EQ(tp_matmul(&rank, &call, &g, a.data(), b.data(), nullptr, some.data(), rows), 0);
    int64_t inBatch = rows % g.m, whole = rows - inBatch;
    int64_t written = whole + std::min(g.m, (inBatch + tile - 1) / tile * tile);
    for (int64_t i = 0; i < 1200; ++i)
      for (int64_t j = 0; j < 40; ++j)
        ASSERT_EQ(some[i * 40 + j], i < written ? all[i * 40 + j] : -1) << rows << " " << i;
  }
}

TEST(Matmul, RefusesWhatItCannotDo) {
  auto run = [](tp_gemm g) {
    tp_rank rank;
    Status started = rank.team.start(1);
    if (started.ok())
      started = rank.matmul.start(rank.team, nullptr);
    tp_call call = {"matmul", "x.tplan", 42, TP_GEMM, 0, 0, 0};
    char buffer[64] = {};
    EXPECT_EQ(tp_matmul(&rank, &call, &g, buffer, buffer, nullptr, buffer, g.batch * g.m), 1);
    return std::move(rank.error);
  };
  EXPECT_FAILS(run({2, 2, 2, 1, 2, 2, 1, 0, 0, 0, 0, 0, 0, TP_F32, TP_F32, 0, 0, 0, 0}),
               "x.tplan:42: ", "lda = 1 of 2");
  EXPECT_FAILS(run({2, 2, 2, 2, 2, 2, 1, 0, 0, 0, 0, 0, 0, TP_I32, TP_I32, 0, 0, 0, 0}),
               "i32 to i32");
  EXPECT_FAILS(run({-2, 2, 2, 2, 2, 2, 1, 0, 0, 0, 0, 0, 0, TP_F32, TP_F32, 0, 0, 0, 0}),
               "negative size: m = -2");
  const char *bias =
      "matmul with a bias is one of f32, bf16 or f16, without a batch, onto nothing: found ";
  EXPECT_FAILS(run({2, 2, 2, 2, 2, 2, 1, 0, 0, 0, 0, 0, 0, TP_F64, TP_F64, 0, 1, 0, 0}), bias,
               "f64 to f64, batch = 1, accumulate = 0");
  EXPECT_FAILS(run({2, 2, 2, 2, 2, 2, 1, 0, 0, 0, 0, 0, 0, TP_BF16, TP_F32, 0, 1, 0, 0}), bias,
               "bf16 to f32");
  EXPECT_FAILS(run({2, 2, 2, 2, 2, 2, 2, 4, 4, 4, 0, 0, 0, TP_F32, TP_F32, 0, 1, 0, 0}), bias,
               "f32 to f32, batch = 2, accumulate = 0");
  EXPECT_FAILS(run({2, 2, 2, 2, 2, 2, 1, 0, 0, 0, 0, 0, 1, TP_F32, TP_F32, 0, 1, 0, 0}), bias,
               "f32 to f32, batch = 1, accumulate = 1");
  tp_rank rank;
  ASSERT_OK(rank.team.start(1));
  EXPECT_FAILS(rank.matmul.start(rank.team, "fast"), "'library' or 'widen', found 'fast'");
}

TEST(Bf16, RoundsToNearestEvenAndKeepsSpecials) {
  EXPECT_EQ(widen(roundTo<bf16>(1 + 0x1p-8f)), 1);
  EXPECT_EQ(widen(roundTo<bf16>(1 + 3 * 0x1p-8f)), 1 + 0x1p-6f);
  EXPECT_EQ(widen(roundTo<bf16>(std::nextafter(1 + 0x1p-8f, 2.0f))), 1 + 0x1p-7f);
  EXPECT_EQ(widen(roundTo<bf16>(-INFINITY)), -INFINITY);
  EXPECT_EQ(widen(roundTo<bf16>(3.4e38f)), INFINITY);
  EXPECT_TRUE(std::isnan(widen(roundTo<bf16>(NAN))));
  for (uint32_t bits = 0; bits < 0x10000; ++bits)
    if (!std::isnan(widen(bf16(bits))))
      ASSERT_EQ(roundTo<bf16>(widen(bf16(bits))), bits);
  // From double in one rounding: f32 would land on the half and go to even.
  bf16 value;
  setElement(&value, TP_BF16, 0, 1 + 0x1p-8 + 0x1p-40);
  EXPECT_EQ(widen(value), 1 + 0x1p-7f);
}

// Decoded by the definition of the format: sign, 5 bits of exponent, 10 of fraction.
TEST(F16, EveryValueIsWidenedExactlyAndComesBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float magnitude = exponent == 0    ? std::ldexp(float(fraction), -24)
                      : exponent != 31 ? std::ldexp(float(1024 + fraction), exponent - 25)
                      : fraction       ? NAN
                                       : INFINITY;
    float found = widen(f16(bits)), back;
    double number = getElement(&bits, TP_F16, 0);
    if (std::isnan(magnitude)) {
      ASSERT_TRUE(std::isnan(found) && std::isnan(number)) << bits;
      back = widen(roundTo<f16>(found));
      ASSERT_TRUE(std::isnan(back)) << bits;
      continue;
    }
    ASSERT_EQ(found, magnitude * (bits >> 15 ? -1 : 1)) << bits;
    ASSERT_EQ(std::signbit(found), bits >> 15 != 0) << bits;
    ASSERT_EQ(number, found) << bits;
    ASSERT_EQ(uint32_t(roundTo<f16>(found)), bits);
    f16 stored;
    setElement(&stored, TP_F16, 0, found);
    ASSERT_EQ(uint32_t(stored), bits);
  }
}

// Between each two neighbours: the middle is rounded to the even one, its own neighbours to the
// nearer one.
TEST(F16, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7C00; ++bits) {
    float low = widen(f16(bits)), high = bits == 0x7BFF ? 65536 : widen(f16(bits + 1));
    float middle = low + (high - low) / 2;
    uint32_t even = bits + (bits & 1);
    for (float sign : {1.0f, -1.0f}) {
      uint32_t s = sign < 0 ? 0x8000 : 0;
      ASSERT_EQ(uint32_t(roundTo<f16>(sign * middle)), even | s) << bits;
      ASSERT_EQ(uint32_t(roundTo<f16>(sign * std::nextafter(middle, 0.0f))), bits | s) << bits;
      ASSERT_EQ(uint32_t(roundTo<f16>(sign * std::nextafter(middle, INFINITY))), (bits + 1) | s)
          << bits;
      // From double in one rounding: f32 would land on the middle.
      f16 stored;
      setElement(&stored, TP_F16, 0, sign * std::nextafter((double)middle, INFINITY));
      ASSERT_EQ(uint32_t(stored), (bits + 1) | s) << bits;
    }
  }
  for (float huge : {65520.0f, 1e9f, 3.4e38f, INFINITY})
    EXPECT_EQ(widen(roundTo<f16>(-huge)), -INFINITY) << huge;
  EXPECT_EQ(widen(roundTo<f16>(65519.996f)), 65504);
}
