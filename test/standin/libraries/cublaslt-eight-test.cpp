//===- cublaslt-eight-test.cpp - operands in f8 in the stand-in for cuBLASLt ----------===//
//
// Formulas and refusals by the library's documentation of narrow types on Hopper.
//
//===----------------------------------------------------------------------===//

#include "cublaslt-product.h"

#include <functional>

using namespace standin;
using namespace standin::lt;

namespace {

/// A product in f8 that works.
struct Eight : Product {
  Eight() {
    ab = typeE4M3, cd = typeBf16, transA = opT;
    m = 144, n = 20, k = 384, pad = 16;
  }

  void checkPanels() const {
    int64_t panel = modeA >= scaleVec128 ? 128 : k;
    float rounded[1];
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        float total = 0;
        for (int64_t p = 0; p < k; p += panel) {
          float by = scaleAt(scaleA, modeA, m, i, p) * scaleAt(scaleB, modeB, n, j, p);
          total = std::fma(sum<float>(i, j, 0, p, p + panel), by, total);
        }
        put(cd, rounded, 0, expected(i, j, 0, total));
        ASSERT_EQ(d.get(i, j), get(cd, rounded, 0)) << i << " " << j;
      }
  }
};

constexpr std::pair<int, int> pairs[] = {{scaleScalar, scaleScalar},
                                         {scaleOuterVec, scaleOuterVec},
                                         {scaleVec128, scaleVec128},
                                         {scaleVec128, scaleBlock128},
                                         {scaleBlock128, scaleVec128}};

TEST(CublasLtEight, EqualsTheFormulaWithEachPairOfScales) {
  for (auto [a, b] : pairs)
    for (int cd : {typeBf16, typeF32})
      for (int other : {typeE4M3, typeE5M2}) {
        SCOPED_TRACE(testing::Message() << a << " " << b << " to " << cd << " by " << other);
        Eight it;
        it.isFast = a < scaleVec128; // what stands in adds as ever
        it.modeA = a, it.modeB = b, it.cd = cd, it.typeB = other, it.beta = cd == typeF32;
        it.run();
        it.checkPanels();
      }
}

struct Wrong {
  const char *message;
  std::function<void(Eight &)> before;
};

TEST(CublasLtEight, RefusesWhatHopperLacks) {
  const Wrong all[] = {
      {"A of E5M2, B of E5M2", [](Eight &it) { it.ab = it.typeB = typeE5M2; }},
      {"A of E4M3, B of bf16", [](Eight &it) { it.typeB = typeBf16; }},
      {"D of f64", [](Eight &it) { it.cd = typeF64; }},
      {"for transA = T and transB = N", [](Eight &it) { it.transA = opN; }},
      {"for transA = T and transB = N", [](Eight &it) { it.transB = opT; }},
      {"in column order", [](Eight &it) { it.orderD = orderRow; }},
      {"k 392", [](Eight &it) { it.k = 392, it.pad = 8; }},
      {"388 and 388", [](Eight &it) { it.pad = 4; }},
      {"m 140 of bf16", [](Eight &it) { it.m = 140; }},
      {"no such pair of scale modes: 5 and 5",
       [](Eight &it) { it.modeA = it.modeB = scaleBlock128; }},
      {"no such pair of scale modes: 0 and 3", [](Eight &it) { it.modeB = scaleOuterVec; }},
      {"no such pair of scale modes: 2 and 2", [](Eight &it) { it.modeA = it.modeB = scaleVec32; }},
      {"fast accumulation with scales of blocks",
       [](Eight &it) {
         it.modeA = it.modeB = scaleVec128;
         it.isFast = 1;
       }},
      {"an epilogue with scales of blocks",
       [](Eight &it) {
         it.modeA = it.modeB = scaleVec128;
         it.epilogue = epilogueGelu;
       }},
  };
  for (const Wrong &wrong : all) {
    SCOPED_TRACE(wrong.message);
    Eight it;
    wrong.before(it);
    it.create();
    testing::internal::CaptureStderr();
    EXPECT_EQ(it.find(), notSupported);
    std::string text = testing::internal::GetCapturedStderr();
    EXPECT_NE(text.find(wrong.message), std::string::npos) << text;
  }
}

TEST(CublasLtEight, RefusesScalesThatAreNotThere) {
  Eight it;
  it.modeA = it.modeB = scaleVec128;
  it.create();
  ASSERT_EQ(it.find(), success);
  it.set(descAScalePointer, (void *)((char *)it.scaleA + 4));
  testing::internal::CaptureStderr();
  EXPECT_EQ(it.multiply(), invalidValue);
  it.set(descAScalePointer, (void *)it.bits().data());
  EXPECT_EQ(it.multiply(), invalidValue);
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("scales of A is not aligned to 16 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("scales of A is not in device memory"), std::string::npos) << text;
}

TEST(CublasLtEight, ScalesAreForEight) {
  Product it;
  it.create();
  it.set(descAScaleMode, (int32_t)scaleOuterVec);
  testing::internal::CaptureStderr();
  EXPECT_EQ(it.find(), notSupported);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("for operands of f32"), std::string::npos);
}

} // namespace
