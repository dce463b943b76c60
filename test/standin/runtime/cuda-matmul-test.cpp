//===- cuda-matmul-test.cpp - GEMMs as the runtime asks cuBLASLt for them ------------===//
//
// The runtime's calls on the stand-in, whose driver is this test's own.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda_matmul.h"
#include "test/standin/libraries/fake-driver.h"
#include "test/standin/libraries/numbers.h"

#include "gtest/gtest.h"

#include <cstdlib>

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
    status = matmul.run(gemm, a, b, nullptr, c, (cuda::StreamHandle *)&stream);
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
      return matmul.run(gemm, memory, memory, nullptr, memory, (cuda::StreamHandle *)&stream)
          .message();
    };
    EXPECT_EQ(refusal(TP_I32, TP_I32), "cuBLASLt multiplies no matrices of type 4 (i32)");
    EXPECT_EQ(refusal(TP_F32, TP_I1), "cuBLASLt multiplies no matrices of type 6 (i1)");
    EXPECT_EQ(refusal(99, 99), "cuBLASLt multiplies no matrices of type 99 (unknown)");
  }
  fake::release(memory);
}

} // namespace
