//===- cublaslt-test.cpp - the stand-in for cuBLASLt against plain formulas ---------===//

#include "cublaslt-product.h"

using namespace standin;
using namespace standin::lt;

namespace {

struct Types {
  int compute, scale, ab, cd;
};
constexpr Types allTypes[] = {{compute32F, typeF32, typeF32, typeF32},
                              {compute32F, typeF32, typeBf16, typeBf16},
                              {compute32F, typeF32, typeF16, typeF16},
                              {compute32F, typeF32, typeBf16, typeF32},
                              {compute32FPedantic, typeF32, typeF16, typeF32},
                              {compute32FFastTf32, typeF32, typeF32, typeF32},
                              {compute64F, typeF64, typeF64, typeF64}};

TEST(CublasLt, EqualsTheFormulaInEachType) {
  for (Types types : allTypes)
    for (int trans = 0; trans < 4; ++trans) {
      SCOPED_TRACE(testing::Message()
                   << types.compute << " " << types.ab << " " << types.cd << " trans " << trans);
      Product it;
      it.compute = types.compute, it.scale = types.scale, it.ab = types.ab, it.cd = types.cd;
      it.transA = trans & 1, it.transB = trans >> 1;
      it.m = 131, it.n = 7, it.k = 300; // more than a tile and a panel
      it.alpha = 0.75, it.beta = trans % 2 ? 0.5 : 0;
      it.run();
      types.scale == typeF64 ? it.checkExactly<double>() : it.checkExactly<float>();
    }
}

TEST(CublasLt, EqualsTheFormulaInEachOrderAndBatch) {
  for (int orders = 0; orders < 8; ++orders) {
    SCOPED_TRACE(orders);
    Product it;
    it.orderA = orders & 1, it.orderB = orders >> 1 & 1, it.orderD = orders >> 2;
    it.transB = opT;
    it.n = 101, it.batch = 3, it.beta = -2;
    it.alignment[0] = it.alignment[1] = it.alignment[2] = it.alignment[3] = 4;
    it.run();
    it.checkExactly<float>();
  }
}

TEST(CublasLt, ReadsNoCWhereBetaIsZero) {
  Product it;
  it.create();
  for (int64_t i = 0; i < it.c.elements(); ++i)
    fake::hostAs<float>(it.c.data)[i] = NAN;
  ASSERT_EQ(it.find(), success);
  fake::release(it.c.data);
  it.c.data = nullptr;
  ASSERT_EQ(it.multiply(), success);
  it.checkExactly<float>();
}

TEST(CublasLt, AddsToDInPlace) {
  Product it;
  it.beta = 1;
  it.create();
  memcpy(fake::host(it.c.data), fake::host(it.d.data), it.d.elements() * 4);
  Matrix before = it.c;
  ASSERT_EQ(it.find(), success);
  it.c = it.d;
  ASSERT_EQ(it.multiply(), success);
  it.c = before;
  it.checkExactly<float>();
}

double geluOf(double x) {
  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

TEST(CublasLt, EpiloguesEqualTheirFormulas) {
  for (uint32_t epilogue : {epilogueRelu, epilogueBias, epilogueReluBias, epilogueGelu,
                            epilogueGeluBias, epilogueGeluAux, epilogueGeluAuxBias, epilogueDgelu,
                            epilogueDgeluBgrad, epilogueBgradA, epilogueBgradB})
    for (int type : {typeF32, typeF64, typeBf16}) {
      SCOPED_TRACE(testing::Message() << epilogue << " type " << type);
      Product it;
      it.epilogue = epilogue, it.batch = 2, it.alpha = 0.1;
      it.ab = it.cd = type, it.scale = type == typeF64 ? typeF64 : typeF32;
      it.compute = type == typeF64 ? compute64F : compute32F;
      it.create();
      double tolerance = type == typeF64 ? 1e-12 : type == typeF32 ? 1e-5 : 1e-2;
      auto auxAt = [&](int64_t i, int64_t j, int b) {
        return b * it.auxLd() * it.n + j * it.auxLd() + i;
      };
      bool isBackward = epilogue == epilogueDgelu || epilogue == epilogueDgeluBgrad;
      std::vector<double> bias(it.n * it.batch), inputs(it.auxLd() * it.n * it.batch);
      for (size_t i = 0; i < bias.size(); ++i)
        bias[i] = get(type, fake::host(it.bias), i);
      for (size_t i = 0; i < inputs.size() && isBackward; ++i) {
        put(type, fake::host(it.aux), i, std::sin(0.1 * i));
        inputs[i] = get(type, fake::host(it.aux), i);
      }
      ASSERT_EQ(it.find(), success);
      ASSERT_EQ(it.multiply(), success);
      for (int b = 0; b < it.batch; ++b) {
        std::vector<double> gradient(it.n);
        for (int64_t i = 0; i < it.m; ++i)
          for (int64_t j = 0; j < it.n; ++j) {
            double value = it.alpha * it.sum<double>(i, j, b, 0, it.k);
            if (epilogue & epilogueBias)
              value += bias[b * it.n + i];
            double input = value;
            if (epilogue & epilogueRelu)
              value = std::max(value, 0.0);
            if (epilogue & epilogueGelu)
              value = geluOf(value);
            if (isBackward) {
              double x = inputs[auxAt(i, j, b)], h = 1e-5;
              value *= (geluOf(x + h) - geluOf(x - h)) / (2 * h);
            }
            gradient[i] += value;
            double slack = isBackward ? std::max(tolerance, 1e-8) : tolerance;
            ASSERT_NEAR(it.d.get(i, j, b), value, slack * std::max(1.0, std::fabs(value)));
            if (epilogue == epilogueGeluAux || epilogue == epilogueGeluAuxBias) {
              ASSERT_NEAR(get(type, fake::host(it.aux), auxAt(i, j, b)), input,
                          tolerance * std::max(1.0, std::fabs(input)));
            }
          }
        auto biasAt = [&](int64_t i) { return get(type, fake::host(it.bias), b * it.n + i); };
        for (int64_t i = 0; i < it.n && epilogue == epilogueBgradB; ++i) {
          double sum = 0;
          for (int64_t p = 0; p < it.k; ++p)
            sum += it.opB(p, i, b);
          ASSERT_NEAR(biasAt(i), sum, tolerance * 10);
        }
        for (int64_t i = 0; i < it.m && epilogue == epilogueBgradA; ++i) {
          double sum = 0;
          for (int64_t p = 0; p < it.k; ++p)
            sum += it.opA(i, p, b);
          ASSERT_NEAR(biasAt(i), sum, tolerance * 10);
        }
        for (int64_t i = 0; i < it.m && epilogue == epilogueDgeluBgrad; ++i)
          ASSERT_NEAR(biasAt(i), gradient[i], std::max(tolerance, 1e-8) * 10);
      }
    }
}

TEST(CublasLt, AlgorithmsSumInTheirOwnOrders) {
  Product it;
  it.m = 64, it.n = 48, it.k = 77;
  it.create();
  ASSERT_EQ(it.find(), success);
  ASSERT_EQ(it.found, 3);
  std::vector<std::vector<char>> bits;
  std::vector<size_t> workspaces;
  for (int choice = 0; choice < 3; ++choice) {
    it.algo = it.results[choice].algo;
    ASSERT_EQ(it.multiply(), success);
    bits.push_back(it.bits());
    workspaces.push_back(it.results[choice].workspaceSize);
  }
  EXPECT_NE(bits[0], bits[1]);
  EXPECT_NE(bits[0], bits[2]);
  EXPECT_NE(bits[1], bits[2]);
  EXPECT_EQ(workspaces, (std::vector<size_t>{0, 2 * 64 * 48 * 4, 64 * 48 * 4}));
  for (int64_t i = 0; i < it.m; ++i)
    for (int64_t j = 0; j < it.n; ++j) {
      auto got = [&](int choice) { return ((float *)bits[choice].data())[it.d.at(i, j)]; };
      float half = it.sum<float>(i, j, 0, 0, 38) + it.sum<float>(i, j, 0, 38, 77);
      float blocks = 0;
      for (int64_t p = 0; p < 77; p += 16)
        blocks += it.sum<float>(i, j, 0, p, std::min<int64_t>(p + 16, 77));
      ASSERT_EQ(got(0), it.sum<float>(i, j, 0, 0, 77));
      ASSERT_EQ(got(1), half);
      ASSERT_EQ(got(2), blocks);
    }
}

TEST(CublasLt, AlgorithmsAreStoredAndLoaded) {
  char stored[64];
  std::vector<char> before;
  {
    Product it;
    it.choice = 1;
    it.run();
    memcpy(stored, &it.algo, sizeof stored);
    before = it.bits();
  }
  Product it;
  it.create();
  memcpy(&it.algo, stored, sizeof stored);
  ASSERT_EQ(it.multiply(), success);
  EXPECT_EQ(it.bits(), before);
  ASSERT_EQ(it.find(), success);
  ASSERT_EQ(it.multiply(), success);
  EXPECT_NE(it.bits(), before);
  HeuristicResult result = {};
  Algo algo;
  memcpy(&algo, stored, sizeof algo);
  ASSERT_EQ(cublasLtMatmulAlgoCheck(it.handle, it.desc, it.la, it.lb, it.lc, it.ld, &algo, &result),
            success);
  EXPECT_EQ(result.workspaceSize, it.results[1].workspaceSize);
}

TEST(CublasLt, HeuristicKeepsToThePreference) {
  Product it;
  it.create();
  auto workspaces = [&] {
    EXPECT_EQ(it.find(), success);
    std::vector<size_t> all;
    for (int i = 0; i < it.found; ++i)
      all.push_back(it.results[i].workspaceSize);
    return all;
  };
  it.prefer(preferMaxWorkspaceBytes, (uint64_t)2560); // 20 x 30 sums are 2400 bytes
  EXPECT_EQ(workspaces(), (std::vector<size_t>{0, 2560}));
  it.prefer(preferMaxWorkspaceBytes, (uint64_t)2559);
  EXPECT_EQ(workspaces(), (std::vector<size_t>{0}));
  it.prefer(preferMaxWorkspaceBytes, (uint64_t)1 << 20);
  it.prefer(preferReductionSchemeMask, (uint32_t)1);
  EXPECT_EQ(workspaces(), (std::vector<size_t>{0}));
  it.prefer(preferReductionSchemeMask, (uint32_t)7);
  setenv("STANDIN_CUBLASLT_FIRST", "2", 1);
  EXPECT_EQ(workspaces(), (std::vector<size_t>{2560, 0, 4864}));
  unsetenv("STANDIN_CUBLASLT_FIRST");
  Product deep;
  deep.m = deep.n = 8, deep.k = 64;
  deep.create();
  EXPECT_EQ(deep.find(), success);
  EXPECT_NE(deep.results[0].workspaceSize, 0u); // split k first
}

TEST(CublasLt, AlgoInitMakesOneForAnyProblemOfItsTypes) {
  Product it;
  it.create();
  ASSERT_EQ(it.find(), success);
  ASSERT_EQ(it.multiply(), success);
  std::vector<char> ascending = it.bits();
  ASSERT_EQ(cublasLtMatmulAlgoInit(it.handle, compute32F, typeF32, typeF32, typeF32, typeF32,
                                   typeF32, 1, &it.algo),
            success);
  int32_t splits = 0;
  size_t written = 0;
  ASSERT_EQ(cublasLtMatmulAlgoConfigGetAttribute(&it.algo, configSplitKNum, &splits, 4, &written),
            success);
  EXPECT_EQ(splits, 2);
  EXPECT_EQ(cublasLtMatmulAlgoConfigSetAttribute(&it.algo, configSplitKNum, &splits, 4), success);
  ASSERT_EQ(it.multiply(), success);
  EXPECT_NE(it.bits(), ascending);
}

TEST(CublasLt, RunsInTheOrderOfItsStreamAndInGraphs) {
  Product it;
  it.create();
  ASSERT_EQ(it.find(), success);
  std::vector<float> was(it.a.elements());
  float one = 1, zero = 0;
  auto enqueue = [&] {
    return cublasLtMatmul(it.handle, it.desc, &one, it.a.data, it.la, it.b.data, it.lb, &zero,
                          nullptr, it.lc, it.d.data, it.ld, &it.algo, nullptr, 0, &it.stream);
  };
  it.stream.beginCapture();
  ASSERT_EQ(enqueue(), success);
  fake::Graph graph = it.stream.endCapture();
  it.stream.synchronize();
  auto *a = fake::hostAs<float>(it.a.data);
  for (int round = 0; round < 2; ++round) {
    // A host function before it in the stream changes A.
    it.stream.push({[](void *a) { ((float *)a)[0] += 1; }, a});
    it.stream.push(graph);
    it.stream.synchronize();
    it.checkExactly<float>();
  }
  it.stream.push({[](void *a) { ((float *)a)[0] += 1; }, a});
  ASSERT_EQ(enqueue(), success);
  it.stream.synchronize();
  it.checkExactly<float>();
}

TEST(CublasLt, NamesItsStatus) {
  EXPECT_STREQ(cublasLtGetStatusName(notSupported), "CUBLAS_STATUS_NOT_SUPPORTED");
  EXPECT_STREQ(cublasLtGetStatusString(invalidValue),
               "an unsupported value or parameter was passed to the function");
  EXPECT_STREQ(cublasLtGetStatusName(2), "unrecognized status");
  EXPECT_EQ(cublasLtGetVersion(), 130100u);
}

TEST(CublasLt, AttributesHaveTheSizesAndDefaultsOfTheLibrary) {
  Product it;
  it.create();
  size_t written = 0;
  uint32_t alignment = 0;
  ASSERT_EQ(cublasLtMatmulPreferenceGetAttribute(it.preference, preferMinAlignmentC, &alignment, 4,
                                                 &written),
            success);
  EXPECT_EQ(alignment, 256u);
  Desc *fresh = nullptr;
  ASSERT_EQ(cublasLtMatmulDescCreate(&fresh, compute32F, typeF32), success);
  int32_t type = 0;
  ASSERT_EQ(cublasLtMatmulDescGetAttribute(fresh, descBiasDataType, &type, 4, &written), success);
  EXPECT_EQ(type, -1);
  ASSERT_EQ(cublasLtMatmulDescGetAttribute(fresh, descFastAccum, nullptr, 0, &written), success);
  EXPECT_EQ(written, 1u);
  uint64_t rows = 0;
  ASSERT_EQ(cublasLtMatrixLayoutGetAttribute(it.la, layoutRows, &rows, 8, &written), success);
  EXPECT_EQ(rows, 20u);
  cublasLtMatmulDescDestroy(fresh);
}

/// Matrices side by side in one that is wider share no element.
TEST(CublasLt, TakesSlicesOfOneMatrix) {
  Product it;
  it.m = it.k = 32, it.n = 16, it.pad = 96;
  it.create();
  fake::release(it.d.data);
  it.d.data = (char *)it.a.data + 32 * 4;
  it.d.ld = 128;
  ASSERT_EQ(it.find(), success);
  it.prefer(preferMinAlignmentD, 128u);
  ASSERT_EQ(it.find(), success);
  ASSERT_EQ(it.multiply(), success);
  it.checkExactly<float>();
  (char *&)it.d.data -= 4; // now its first row is the last of A
  it.prefer(preferMinAlignmentD, 4u);
  ASSERT_EQ(it.find(), success);
  testing::internal::CaptureStderr();
  EXPECT_EQ(it.multiply(), invalidValue);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("D shares memory with A"),
            std::string::npos);
  it.d.data = nullptr;
}

} // namespace
