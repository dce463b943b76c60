//===- cublaslt-errors-test.cpp - what the stand-in for cuBLASLt refuses ------------===//

#include "cublaslt-product.h"

#include <functional>

using namespace standin;
using namespace standin::lt;

namespace {

/// The error of a set-up with one thing wrong.
struct Wrong {
  const char *name;
  int status;
  const char *message;
  std::function<void(Product &)> before; // the descriptors are made
  std::function<void(Product &)> after;  // the algorithm is found
  bool inHeuristic = false;              // it fails there already
};

void fail(const Wrong &wrong) {
  SCOPED_TRACE(wrong.name);
  Product it;
  if (wrong.before)
    wrong.before(it);
  it.create();
  int status = it.find();
  if (!wrong.inHeuristic)
    ASSERT_EQ(status, success);
  if (wrong.after)
    wrong.after(it);
  std::vector<char> before = it.bits();
  testing::internal::CaptureStderr();
  status = wrong.inHeuristic ? it.find() : it.multiply();
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, wrong.status);
  EXPECT_NE(text.find(wrong.message), std::string::npos) << text;
  EXPECT_EQ(it.bits(), before);
}

TEST(CublasLt, RefusesDescriptorsThatDoNotFit) {
  auto layout = [](Layout *Product::*which, int id, auto value) {
    return [=](Product &it) { it.set(it.*which, id, value); };
  };
  auto desc = [](int id, auto value) { return [=](Product &it) { it.set(id, value); }; };
  const Wrong all[] = {
      {"ld",
       invalidValue,
       "the leading dimension of A",
       {},
       layout(&Product::la, layoutLd, 19l),
       true},
      {"ld of C",
       invalidValue,
       "the leading dimension of C",
       {},
       layout(&Product::lc, layoutLd, 19l),
       true},
      {"rows",
       invalidValue,
       "op(A) is 20 x 50, op(B) 49 x 30",
       {},
       layout(&Product::lb, layoutRows, 49ull),
       true},
      {"columns of D",
       invalidValue,
       "D 20 x 29",
       {},
       layout(&Product::ld, layoutCols, 29ull),
       true},
      {"nothing",
       invalidValue,
       "no or too many rows",
       {},
       layout(&Product::la, layoutRows, 0ull),
       true},
      {"C unlike D",
       invalidValue,
       "C is 20 x 30 of f16",
       {},
       layout(&Product::lc, layoutType, 2u),
       true},
      {"batch",
       invalidValue,
       "a batch of 2 makes one of 1",
       {},
       layout(&Product::la, layoutBatchCount, 2),
       true},
      {"types",
       notSupported,
       "A of f32, B of f32, D of bf16",
       [](Product &it) { it.cd = typeBf16; },
       {},
       true},
      {"A unlike B",
       notSupported,
       "A of f32, B of bf16",
       {},
       layout(&Product::lb, layoutType, 14u),
       true},
      {"f64 in f32",
       notSupported,
       "scale type 0, A of f64",
       [](Product &it) { it.ab = it.cd = typeF64; },
       {},
       true},
      {"fp4",
       notSupported,
       "A has a type without a model: 33",
       {},
       layout(&Product::la, layoutType, 33u),
       true},
      {"tiled order",
       notSupported,
       "an order without a model: 2",
       {},
       layout(&Product::la, layoutOrder, 2),
       true},
      {"scale type", notSupported, "scale type 1", {}, desc(descScaleType, 1), true},
      {"pointer mode",
       notSupported,
       "a pointer mode without a model: 1",
       {},
       desc(descPointerMode, 1),
       true},
      {"conjugate", notSupported, "an operation without a model: 2", {}, desc(descTransA, 2), true},
      {"triangle", notSupported, "the fill mode 0", {}, desc(descFillMode, 0), true},
      {"epilogue",
       notSupported,
       "an epilogue without a model: 136",
       {},
       desc(descEpilogue, 136u),
       true},
      {"epilogue by rows",
       notSupported,
       "D is in row order: 4",
       [](Product &it) { it.orderD = orderRow, it.epilogue = epilogueBias; },
       {},
       true},
      {"bias type", notSupported, "the bias of type 14",
       [](Product &it) { it.epilogue = epilogueBias; }, desc(descBiasDataType, 14), true},
      {"aux ld", invalidValue, "divisible by 8, has 21",
       [](Product &it) { it.epilogue = epilogueGeluAux; }, desc(descAuxLd, 21l), true},
      {"batches overlap", invalidValue, "matrices of the batch overlap in D",
       [](Product &it) { it.batch = 2; }, layout(&Product::ld, layoutBatchOffset, 20l), true},
      {"alignment",
       invalidValue,
       "an alignment is no power of 2: 24",
       {},
       [](Product &it) { it.prefer(preferMinAlignmentA, 24u); },
       true},
      {"search",
       notSupported,
       "a way to search",
       {},
       [](Product &it) { it.prefer(preferSearchMode, 1u); },
       true},
      {"destroyed",
       invalidValue,
       "destroyed before",
       {},
       [](Product &it) { cublasLtMatrixLayoutDestroy(std::exchange(it.la, nullptr)); },
       true},
      {"handle",
       notInitialized,
       "not a handle",
       {},
       [](Product &it) { cublasLtDestroy(std::exchange(it.handle, nullptr)); },
       true},
  };
  for (const Wrong &wrong : all)
    fail(wrong);
}

TEST(CublasLt, RefusesMemoryThatDoesNotFit) {
  auto move = [](Matrix Product::*which, int64_t bytes) {
    return [=](Product &it) { (char *&)(it.*which).data += bytes; };
  };
  auto same = [](Matrix Product::*which) {
    return [=](Product &it) { fake::release(std::exchange((it.*which).data, it.d.data)); };
  };
  auto loose = [](Product &it) { it.alignment[0] = it.alignment[1] = it.alignment[3] = 4; };
  auto withBias = [](Product &it) { it.epilogue = epilogueBias; };
  auto withBeta = [](Product &it) { it.beta = 1; };
  const Wrong all[] = {
      {"null",
       invalidValue,
       "B is not in device memory",
       {},
       [](Product &it) { fake::release(std::exchange(it.b.data, nullptr)); }},
      {"host",
       invalidValue,
       "A is not in device memory",
       {},
       [](Product &it) { it.a.data = fake::host(it.a.data); }},
      {"freed",
       invalidValue,
       "A is not in device memory",
       {},
       [](Product &it) { fake::release(it.a.data); }},
      {"too short", invalidValue, "A is not in device memory with all of its 4588 bytes", loose,
       move(&Product::a, 256)},
      {"alignment of A", notSupported, "A is not aligned to 256 bytes",
       [](Product &it) { it.pad = 40; },
       [](Product &it) { it.set(it.la, layoutLd, 23l), it.find(), (char *&)it.a.data += 16; }},
      {"alignment of D",
       notSupported,
       "D is not aligned to 256 bytes",
       {},
       [](Product &it) { it.set(it.ld, layoutLd, 20l), it.find(), (char *&)it.d.data += 128; }},
      {"alignment of the bias", notSupported, "the bias is not aligned to 256 bytes", withBias,
       [](Product &it) { it.n = 20, it.set(descBiasPointer, (char *)it.bias + 16); }},
      {"no bias", invalidValue, "the bias is not in device memory", withBias,
       [](Product &it) { it.set(descBiasPointer, (void *)nullptr); }},
      {"no C", invalidValue, "C is not in device memory", withBeta,
       [](Product &it) { fake::release(std::exchange(it.c.data, nullptr)); }},
      {"D is A", invalidValue, "D shares memory with A", {}, same(&Product::a)},
      {"D is B", invalidValue, "D shares memory with B", [](Product &it) { it.m = 50; },
       same(&Product::b)},
      {"D is C with another ld", invalidValue, "D shares memory with C", withBeta,
       [&](Product &it) { same (&Product::c)(it), it.set(it.lc, layoutLd, 22l), it.find(); }},
      {"D in the workspace",
       invalidValue,
       "D shares memory with the workspace",
       {},
       [](Product &it) { fake::release(std::exchange(it.d.data, it.workspace)); }},
      {"no workspace", invalidValue, "needs a workspace of 4864 bytes, has 4863",
       [](Product &it) { it.choice = 1; }, [](Product &it) { it.workspaceBytes = 4863; }},
      {"alignment of the workspace",
       invalidValue,
       "the workspace is not aligned to 256",
       {},
       [](Product &it) { (char *&)it.workspace += 128, it.workspaceBytes -= 128; }},
  };
  for (const Wrong &wrong : all) {
    SCOPED_TRACE(wrong.name);
    Product it;
    if (wrong.before)
      wrong.before(it);
    it.create();
    ASSERT_EQ(it.find(), success);
    wrong.after(it);
    testing::internal::CaptureStderr();
    int status = it.multiply();
    std::string text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(status, wrong.status);
    EXPECT_NE(text.find(wrong.message), std::string::npos) << text;
    // The fake driver forgets copies that it does not know.
    it.a.data = it.b.data = it.c.data = it.d.data = it.workspace = nullptr;
  }
}

TEST(CublasLt, RefusesWhatWasFreedBeforeItsTurn) {
  Product it;
  it.create();
  ASSERT_EQ(it.find(), success);
  it.stream.beginCapture();
  ASSERT_EQ(it.multiply(), success);
  fake::Graph graph = it.stream.endCapture();
  fake::release(std::exchange(it.a.data, nullptr));
  testing::internal::CaptureStderr();
  it.stream.push(graph);
  it.stream.synchronize();
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("a matmul in its stream: A is not in device memory"), std::string::npos)
      << text;
}

TEST(CublasLt, RefusesAlgorithmsOfSomethingElse) {
  const Wrong all[] = {
      {"of other shapes",
       invalidValue,
       "was made for another problem than 20 x 30 x 50",
       {},
       [](Product &it) {
         Product other;
         other.k = 51;
         other.create();
         other.find();
         it.algo = other.algo;
       }},
      {"of another epilogue",
       invalidValue,
       "was made for another problem",
       {},
       [](Product &it) { it.set(descEpilogue, (uint32_t)epilogueRelu); }},
      {"of another ld",
       invalidValue,
       "was made for another problem",
       {},
       [](Product &it) { it.set(it.la, layoutLd, 22l); }},
      {"of other types",
       invalidValue,
       "was made for another problem",
       {},
       [](Product &it) {
         cublasLtMatmulAlgoInit(it.handle, compute64F, typeF64, typeF64, typeF64, typeF64, typeF64,
                                0, &it.algo);
       }},
      {"damaged", invalidValue, "or was changed", {}, [](Product &it) { it.algo.data[4] ^= 1; }},
      {"empty", invalidValue, "none that this library made", {}, [](Product &it) { it.algo = {}; }},
  };
  for (const Wrong &wrong : all)
    fail(wrong);
  setenv("STANDIN_CUBLASLT_VERSION", "130200", 1);
  Product stored;
  stored.create();
  stored.find();
  unsetenv("STANDIN_CUBLASLT_VERSION");
  fail({"of another version",
        invalidValue,
        "made by version 130200, this is 130100",
        {},
        [&](Product &it) { it.algo = stored.algo; }});
}

TEST(CublasLt, RefusesCallsThatMakeNoSense) {
  Product it;
  it.create();
  ASSERT_EQ(it.find(), success);
  auto expect = [](int status, const char *message, std::function<int()> call) {
    testing::internal::CaptureStderr();
    int got = call();
    std::string text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(got, status) << message;
    EXPECT_NE(text.find(message), std::string::npos) << text;
  };
  expect(invalidValue, "attribute 3 has 4 bytes, not 8", [&] { return it.set(descTransA, 0l); });
  expect(invalidValue, "no such attribute: 9", [&] { return it.set(9, 0); });
  expect(notSupported, "an attribute without a model: 19",
         [&] { return it.set(descCScalePointer, it.a.data); });
  EXPECT_EQ(it.set(descCScalePointer, (void *)nullptr), success);
  auto multiply = [&](const void *alpha, const void *beta) {
    return cublasLtMatmul(it.handle, it.desc, alpha, it.a.data, it.la, it.b.data, it.lb, beta,
                          it.c.data, it.lc, it.d.data, it.ld, &it.algo, nullptr, 0, &it.stream);
  };
  float one = 1;
  expect(invalidValue, "in memory of the host", [&] { return multiply(&one, it.c.data); });
  expect(invalidValue, "in memory of the host", [&] { return multiply(nullptr, &one); });
  expect(notInitialized, "the handle is of device 0, the current one is 1", [&] {
    fake::setDevice(1);
    int status = multiply(&one, &one);
    fake::setDevice(0);
    return status;
  });
  expect(notInitialized, "no context is current", [&] {
    fake::setDevice(-1);
    Handle handle;
    int status = cublasLtCreate(&handle);
    fake::setDevice(0);
    return status;
  });
  expect(notInitialized, "not a handle", [&] { return cublasLtDestroy((Handle)&it); });
  expect(invalidValue, "not a descriptor", [&] {
    Desc *desc = nullptr;
    cublasLtMatmulDescCreate(&desc, compute32F, typeF32);
    cublasLtMatmulDescDestroy(desc);
    return cublasLtMatmulDescDestroy(desc);
  });
  expect(notSupported, "algorithm 0 has no other value of attribute 2", [&] {
    int32_t splits = 4;
    return cublasLtMatmulAlgoConfigSetAttribute(&it.algo, configSplitKNum, &splits, 4);
  });
}

} // namespace
