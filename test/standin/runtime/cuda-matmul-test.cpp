//===- cuda-matmul-test.cpp - GEMMs as the runtime asks cuBLASLt for them ------------===//
//
// The runtime's calls on the stand-in, whose driver is this test's own.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda_matmul.h"
#include "runtime/support/narrow.h"
#include "test/standin/libraries/fake-driver.h"
#include "test/standin/libraries/numbers.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace tplan::runtime;
using standin::Half;

namespace {

/// [1, k] x [k, 1] of f16, by the library that takes the algorithm first which rounds parts.
float product(const std::vector<float> &left) {
  setenv("TPLAN_CUBLASLT", STANDIN_CUBLASLT, 1);
  setenv("STANDIN_CUBLASLT_FIRST", "3", 1);
  fake::setDevice(0);
  auto k = (int64_t)left.size(), bytes = (int64_t)1 << 20;
  fake::Stream stream;
  CudaDriver driver;
  Half *a = fake::allocateAs<Half>(k), *b = fake::allocateAs<Half>(k),
       *c = fake::allocateAs<Half>(1);
  void *workspace = fake::allocate(bytes);
  for (int64_t i = 0; i < k; ++i)
    fake::hostAs<Half>(a)[i] = Half(left[i]), fake::hostAs<Half>(b)[i] = Half(1);
  {
    CudaMatmul matmul;
    tp_gemm gemm = {};
    gemm.m = gemm.n = gemm.ldb = gemm.ldc = gemm.batch = 1;
    gemm.k = gemm.lda = k, gemm.in = gemm.out = TP_F16;
    Status status = matmul.start(driver, workspace, bytes);
    EXPECT_TRUE(status.ok()) << status.message();
    status = matmul.run(gemm, nullptr, {.a = a, .b = b, .c = c}, (cuda::StreamHandle *)&stream);
    EXPECT_TRUE(status.ok()) << status.message();
    stream.synchronize();
  }
  float result = (float)*fake::hostAs<Half>(c);
  for (void *memory : {(void *)a, (void *)b, (void *)c, workspace})
    fake::release(memory);
  return result;
}

// 65504 is the largest f16; above 2048 they are 2 apart.
TEST(CudaMatmul, PartsOfSumsAreNotRounded) {
  EXPECT_EQ(product({60000, 60000, -60000, -59936}), 64);
  EXPECT_EQ(product({2048, 1, -2048, 0}), 1);
}

TEST(CudaMatmul, RefusesTypesThatTheLibraryLacks) {
  setenv("TPLAN_CUBLASLT", STANDIN_CUBLASLT, 1);
  fake::setDevice(0);
  auto bytes = (int64_t)1 << 20;
  fake::Stream stream;
  CudaDriver driver;
  void *memory = fake::allocate(bytes);
  {
    CudaMatmul matmul;
    ASSERT_TRUE(matmul.start(driver, memory, bytes).ok());
    auto refusal = [&](int32_t in, int32_t out) {
      tp_gemm gemm = {1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, in, out, 0, 0, 0, 0};
      return matmul
          .run(gemm, nullptr, {.a = memory, .b = memory, .c = memory},
               (cuda::StreamHandle *)&stream)
          .message();
    };
    EXPECT_EQ(refusal(TP_I32, TP_I32), "cuBLASLt multiplies no matrices of type 4 (i32)");
    EXPECT_EQ(refusal(TP_F32, TP_I1), "cuBLASLt multiplies no matrices of type 6 (i1)");
    EXPECT_EQ(refusal(99, 99), "cuBLASLt multiplies no matrices of type 99 (unknown)");
  }
  fake::release(memory);
}

/// What the driver does in a stream, at once.
cuda::Result copyLines(const cuda::Copy2D *it, cuda::StreamHandle *) {
  for (size_t line = 0; line < it->Height; ++line)
    memcpy(fake::hostAs<char>((void *)(uintptr_t)(it->dstDevice + line * it->dstPitch)),
           fake::hostAs<char>((void *)(uintptr_t)(it->srcDevice + line * it->srcPitch)),
           it->WidthInBytes);
  return 0;
}

/// A product in f8, of m x k and n x k to f32.
struct ScaledCase {
  const char *name;
  int64_t k;
  tp_scales scales;
  int64_t scalesOfA, scalesOfB;
};
constexpr int64_t m = 128, n = 256;
const ScaledCase scaledCases[] = {
    {"tensor", 96, {TP_F8E5M2, TP_SCALE_TENSOR, TP_SCALE_TENSOR, 0, 0, 96, m, 0, 0, n, 0, 0}, 1, 1},
    {"fast", 96, {TP_F8E4M3, TP_SCALE_TENSOR, TP_SCALE_TENSOR, 1, 0, 96, m, 0, 0, n, 0, 0}, 1, 1},
    {"row", 96, {TP_F8E4M3, TP_SCALE_ROW, TP_SCALE_ROW, 0, 0, 96, 1, 1, 0, 1, 1, 0}, m, n},
    {"block",
     384,
     {TP_F8E4M3, TP_SCALE_BLOCK, TP_SCALE_BLOCK, 0, 0, 128, 1, 1, m, 1, 1, n},
     3 * m,
     3 * n},
    {"square",
     512,
     {TP_F8E4M3, TP_SCALE_BLOCK, TP_SCALE_SQUARE, 0, 0, 128, 1, 1, m, 128, 4, 1},
     4 * m,
     8},
    {"padded",
     384,
     {TP_F8E4M3, TP_SCALE_BLOCK, TP_SCALE_SQUARE, 0, 0, 128, 1, 1, m, 128, 3, 1},
     3 * m,
     6},
    {"padded A",
     384,
     {TP_F8E4M3, TP_SCALE_SQUARE, TP_SCALE_BLOCK, 0, 0, 128, 128, 3, 1, 1, 1, n},
     3,
     3 * n},
};

/// Numbers whose products and sums are exact.
float codeOf(int64_t i) { return float(i * 7 % 13 - 6); }
float scaleOf(int64_t i) { return std::ldexp(1.f, int(i * 5 % 9) - 4); }

void expectScaled(const ScaledCase &it) {
  setenv("TPLAN_CUBLASLT", STANDIN_CUBLASLT, 1);
  unsetenv("STANDIN_CUBLASLT_FIRST");
  fake::setDevice(0);
  fake::Stream stream;
  CudaDriver driver;
  driver.Memcpy2DAsync = copyLines;
  int64_t bytes = 1 << 20;
  auto *a = fake::allocateAs<f8e4m3>(m * it.k);
  auto *b = fake::allocateAs<uint8_t>(n * it.k);
  auto *c = fake::allocateAs<float>(m * n), *scaleA = fake::allocateAs<float>(it.scalesOfA),
       *scaleB = fake::allocateAs<float>(it.scalesOfB);
  void *workspace = fake::allocate(bytes);
  for (int64_t i = 0; i < m * it.k; ++i)
    fake::hostAs<f8e4m3>(a)[i] = roundTo<f8e4m3>(codeOf(i));
  bool isE5M2 = it.scales.type_b == TP_F8E5M2;
  for (int64_t i = 0; i < n * it.k; ++i)
    fake::hostAs<uint8_t>(b)[i] =
        isE5M2 ? uint8_t(roundTo<f8e5m2>(codeOf(i) / 8)) : uint8_t(roundTo<f8e4m3>(codeOf(i) / 8));
  for (int64_t i = 0; i < it.scalesOfA; ++i)
    fake::hostAs<float>(scaleA)[i] = scaleOf(i);
  for (int64_t i = 0; i < it.scalesOfB; ++i)
    fake::hostAs<float>(scaleB)[i] = scaleOf(i + 1);
  std::fill_n(fake::hostAs<float>(c), m * n, 1.f);
  tp_gemm gemm = {};
  gemm.m = m, gemm.n = n, gemm.k = gemm.lda = gemm.ldb = it.k, gemm.ldc = n, gemm.batch = 1;
  gemm.trans_b = gemm.accumulate = 1, gemm.in = TP_F8E4M3, gemm.out = TP_F32;
  {
    CudaMatmul matmul;
    ASSERT_TRUE(matmul.start(driver, workspace, bytes).ok());
    Status status =
        matmul.run(gemm, &it.scales, {.a = a, .b = b, .aScale = scaleA, .bScale = scaleB, .c = c},
                   (cuda::StreamHandle *)&stream);
    EXPECT_TRUE(status.ok()) << status.message();
    stream.synchronize();
  }
  const tp_scales &s = it.scales;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float total = 0;
      for (int64_t p = 0; p < it.k / s.panel; ++p) {
        float sum = 0;
        for (int64_t q = p * s.panel; q < (p + 1) * s.panel; ++q)
          sum += widen(roundTo<f8e4m3>(codeOf(i * it.k + q))) *
                 widen(roundTo<f8e4m3>(codeOf(j * it.k + q) / 8));
        total += sum * scaleOf(i / s.a_block * s.a_stride + p * s.a_panel) *
                 scaleOf(1 + j / s.b_block * s.b_stride + p * s.b_panel);
      }
      ASSERT_EQ(fake::hostAs<float>(c)[i * n + j], total + 1) << i << " " << j;
    }
  for (void *memory : {(void *)a, (void *)b, (void *)c, (void *)scaleA, (void *)scaleB, workspace})
    fake::release(memory);
}

TEST(CudaMatmul, MultipliesWithScales) {
  for (const ScaledCase &each : scaledCases) {
    SCOPED_TRACE(each.name);
    expectScaled(each);
  }
}

TEST(CudaMatmul, RefusesScalesThatTheLibraryLacks) {
  setenv("TPLAN_CUBLASLT", STANDIN_CUBLASLT, 1);
  fake::setDevice(0);
  fake::Stream stream;
  CudaDriver driver;
  void *memory = fake::allocate(1 << 20);
  {
    CudaMatmul matmul;
    ASSERT_TRUE(matmul.start(driver, memory, 256).ok());
    tp_gemm gemm = {};
    gemm.m = gemm.n = gemm.ldc = 384, gemm.k = gemm.lda = gemm.ldb = 384, gemm.batch = 1;
    gemm.trans_b = 1, gemm.in = TP_F8E4M3, gemm.out = TP_F32;
    tp_scales scales = {TP_F8E4M3, TP_SCALE_OTHER, TP_SCALE_OTHER, 0, 0, 32, 1, 12, 1, 1, 12, 1};
    auto refusal = [&] {
      auto *number = (float *)memory;
      return matmul
          .run(gemm, &scales,
               {.a = memory, .b = memory, .aScale = number, .bScale = number, .c = memory},
               (cuda::StreamHandle *)&stream)
          .message();
    };
    EXPECT_EQ(refusal(),
              "cuBLASLt multiplies no operands in f8 with scales for parts of 32 of k as "
              "they lie here");
    scales = {TP_F8E4M3, TP_SCALE_BLOCK, TP_SCALE_SQUARE, 0, 0, 128, 1, 1, 384, 128, 3, 1};
    gemm.n = gemm.ldc = 128 * 17;
    EXPECT_EQ(refusal(),
              "a workspace of 256 bytes is too small for the scales of a GEMM, which need "
              "512");
    scales = {TP_F8E4M3, TP_SCALE_ROW, TP_SCALE_ROW, 0, 0, 384, 1, 1, 0, 1, 1, 0};
    setenv("STANDIN_CUBLASLT_VERSION", "120803", 1);
    EXPECT_EQ(refusal(),
              "GEMMs in f8 with several scales an operand need cuBLASLt 12.9: update the "
              "toolkit, or name fp8(current); found version 12.8");
    unsetenv("STANDIN_CUBLASLT_VERSION");
  }
  fake::release(memory);
}

} // namespace
