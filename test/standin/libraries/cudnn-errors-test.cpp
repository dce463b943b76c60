//===- cudnn-errors-test.cpp - what the stand-in for cuDNN refuses ------------------===//
//
// Attention forward, set up as it may be, with one thing wrong at a time.
//
//===----------------------------------------------------------------------===//

#include "cudnn_api.h"
#include "fake-driver.h"

#include "gtest/gtest.h"

#include <array>
#include <functional>
#include <string>
#include <vector>

using namespace standin::dnn;

#define DECLARE(RESULT, NAME, ARGUMENTS) extern "C" RESULT NAME ARGUMENTS;
STANDIN_CUDNN_FUNCTIONS(DECLARE)
#undef DECLARE

namespace {

using Sizes = std::array<int64_t, 4>;

/// Attention forward as its descriptors. The first status that is no success stays, and why.
class Forward {
public:
  int64_t b = 2, h = 4, hk = 2, s = 24, t = 40, d = 16;
  int status = success;
  std::string why;
  // What a test changes before it is built.
  int elements = typeBf16, precision = typeF32, divide = pwDiv;
  int64_t keyWidth = 0, outId = 4, kinds = 4;
  bool finalizesTensors = true, makesOut = true;

  ~Forward() {
    stream.synchronize();
    for (Raw raw : all)
      EXPECT_EQ(cudnnBackendDestroyDescriptor(raw), success);
    for (void *place : memory)
      fake::release(place);
    if (handle)
      EXPECT_EQ(cudnnDestroy(handle), success);
  }

  Raw create(int kind) {
    Raw raw = nullptr;
    note(cudnnBackendCreateDescriptor(kind, &raw));
    if (raw)
      all.push_back(raw);
    return raw;
  }
  void note(int result) {
    if (status || !result)
      return;
    char text[256];
    cudnnGetLastErrorString(text, sizeof text);
    status = result, why = text;
  }
  void set(Raw raw, int name, int type, int64_t count, const void *values) {
    note(cudnnBackendSetAttribute(raw, name, type, count, values));
  }
  void set(Raw raw, int name, int64_t value) { set(raw, name, isInt64, 1, &value); }
  void set(Raw raw, int name, bool value) { set(raw, name, isBoolean, 1, &value); }
  void set(Raw raw, int name, int type, int value) { set(raw, name, type, 1, &value); }
  void set(Raw raw, int name, Raw value) { set(raw, name, isDescriptor, 1, &value); }
  void finalize(Raw raw) { note(cudnnBackendFinalize(raw)); }

  Raw tensor(int64_t id, Sizes dims, Sizes strides, int type, bool isVirtual,
             bool isByValue = false) {
    Raw raw = create(kindTensor);
    set(raw, tensorType, isDataType, type);
    set(raw, tensorDims, isInt64, kinds, dims.data());
    set(raw, tensorStrides, isInt64, kinds, strides.data());
    set(raw, tensorId, id);
    set(raw, tensorAlignment, int64_t(16));
    set(raw, tensorVirtual, isVirtual);
    set(raw, tensorByValue, isByValue);
    if (finalizesTensors)
      finalize(raw);
    return raw;
  }
  Raw between(Sizes dims, int type = typeF32) {
    return tensor(next++, dims, {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1}, type,
                  true);
  }
  Raw operation(int kind, int settingName, Raw setting,
                std::initializer_list<std::pair<int, Raw>> operands, Raw result) {
    Raw raw = create(kind);
    set(raw, settingName, setting);
    for (auto [name, operand] : operands)
      set(raw, name, operand);
    finalize(raw);
    operations.push_back(raw);
    return result;
  }
  Raw matmul(Raw a, Raw b, Raw c) {
    Raw setting = create(kindMatmul);
    set(setting, matmulPrecision, isDataType, precision);
    finalize(setting);
    return operation(kindOperationMatmul, opMatmul, setting,
                     {{opMatmulA, a}, {opMatmulB, b}, {opMatmulC, c}}, c);
  }
  Raw pointwise(int mode, Raw x, Raw b, Raw y) {
    Raw setting = create(kindPointwise);
    set(setting, pointwiseMode, isPointwiseMode, mode);
    set(setting, pointwisePrecision, isDataType, typeF32);
    finalize(setting);
    if (!b)
      return operation(kindOperationPointwise, opPointwise, setting,
                       {{opPointwiseX, x}, {opPointwiseY, y}}, y);
    return operation(kindOperationPointwise, opPointwise, setting,
                     {{opPointwiseX, x}, {opPointwiseB, b}, {opPointwiseY, y}}, y);
  }
  Raw reduce(int mode, Raw x, Raw y) {
    Raw setting = create(kindReduction);
    set(setting, reductionOperator, isReduction, mode);
    set(setting, reductionPrecision, isDataType, typeF32);
    finalize(setting);
    return operation(kindOperationReduction, opReduction, setting,
                     {{opReductionX, x}, {opReductionY, y}}, y);
  }

  void describe() {
    Sizes scores = {b, h, s, t}, rows = {b, h, s, 1};
    Sizes inQ = {h * s * d, d, h * d, 1}, inK = {hk * t * d, d, hk * d, 1};
    int64_t wide = keyWidth ? keyWidth : d;
    Raw q = tensor(1, {b, h, s, d}, inQ, elements, false);
    Raw kt = tensor(2, {b, hk, wide, t}, {inK[0], inK[1], 1, inK[2]}, elements, false);
    Raw v = tensor(3, {b, hk, t, d}, inK, elements, false);
    Raw out = tensor(outId, {b, h, s, d}, inQ, elements, false);
    Raw lse = tensor(5, rows, {h * s, s, 1, 1}, typeF32, false);
    Raw scale = tensor(6, {1, 1, 1, 1}, {1, 1, 1, 1}, typeF32, false, true);
    Raw x = pointwise(pwMul, matmul(q, kt, between(scores)), scale, between(scores));
    Raw max = reduce(reduceMax, x, between(rows));
    Raw e = pointwise(pwExp, pointwise(pwSub, x, max, between(scores)), nullptr, between(scores));
    Raw sum = reduce(reduceAdd, e, between(rows));
    pointwise(pwAdd, max, pointwise(pwLog, sum, nullptr, between(rows)), lse);
    if (makesOut)
      matmul(pointwise(divide, e, sum, between(scores, elements)), v, out);
  }
  void makeGraph() {
    graph = create(kindGraph);
    set(graph, graphHandle, isHandle, 1, &handle);
    set(graph, graphOperations, isDescriptor, (int64_t)operations.size(), operations.data());
    finalize(graph);
  }
  /// Configurations that heuristics offer, and a plan of the last, which is good.
  int64_t findEngines() {
    Raw heuristic = create(kindHeuristic);
    set(heuristic, heuristicGraph, graph);
    set(heuristic, heuristicMode, isHeuristicMode, modeA);
    finalize(heuristic);
    int64_t count = 0;
    note(cudnnBackendGetAttribute(heuristic, heuristicResults, isDescriptor, 0, &count, nullptr));
    for (int64_t i = 0; i < count; ++i)
      configs.push_back(create(kindEngineConfig));
    if (count)
      note(cudnnBackendGetAttribute(heuristic, heuristicResults, isDescriptor, count, &count,
                                    configs.data()));
    return count;
  }
  int makePlan(Raw config) {
    plan = create(kindPlan);
    set(plan, planHandle, isHandle, 1, &handle);
    set(plan, planConfig, config);
    return cudnnBackendFinalize(plan);
  }
  void build() {
    note(cudnnCreate(&handle));
    note(cudnnSetStream(handle, &stream));
    describe();
    makeGraph();
    if (findEngines() > 0)
      note(makePlan(configs.back()));
    for (int64_t elements :
         {b * h * s * d, b * hk * t * d, b * hk * t * d, b * h * s * d, 2 * b * h * s})
      memory.push_back(fake::allocate(2 * elements));
    memory.push_back(fake::allocate(256));
    ids = {1, 2, 3, 4, 5, 6};
    pointers.assign(memory.begin(), memory.begin() + 5);
    pointers.push_back(&scaleValue);
    workspace = memory[5];
  }
  void execute() {
    Raw pack = create(kindVariantPack);
    set(pack, packIds, isInt64, (int64_t)ids.size(), ids.data());
    set(pack, packPointers, isVoidPointer, (int64_t)pointers.size(), pointers.data());
    set(pack, packWorkspace, isVoidPointer, 1, &workspace);
    finalize(pack);
    if (!status)
      note(cudnnBackendExecute(handle, plan, pack));
  }

  Handle handle = nullptr;
  Raw graph = nullptr, plan = nullptr;
  std::vector<Raw> all, operations, configs;
  std::vector<int64_t> ids;
  std::vector<void *> memory, pointers;
  void *workspace = nullptr;
  float scaleValue = 0.25f;
  int64_t next = 100;
  fake::Stream stream;
};

Handle other = nullptr; // beside that of a set-up

struct Wrong {
  const char *name;
  int status;
  const char *message;
  std::function<void(Forward &)> before; // it is built
  std::function<void(Forward &)> after;
};

void expectRefused(const Wrong &wrong) {
  SCOPED_TRACE(wrong.name);
  Forward it;
  testing::internal::CaptureStderr();
  if (wrong.before)
    wrong.before(it);
  it.build();
  if (wrong.after) {
    EXPECT_EQ(it.status, success);
    wrong.after(it);
  }
  if (!it.status)
    it.execute();
  std::string aloud = testing::internal::GetCapturedStderr();
  EXPECT_EQ(it.status, wrong.status);
  EXPECT_NE(it.why.find(wrong.message), std::string::npos) << it.why;
  // What is not supported is an answer, and not a mistake.
  if (wrong.status != notSupported)
    EXPECT_NE(aloud.find(wrong.message), std::string::npos) << aloud;
}

TEST(Cudnn, RunsWhatIsRight) {
  Forward it;
  it.build();
  ASSERT_EQ(it.status, success);
  ASSERT_EQ(it.configs.size(), 4u);
  it.execute();
  EXPECT_EQ(it.status, success) << it.why;
}

TEST(Cudnn, RefusesDescriptorsThatDoNotFit) {
  const Wrong all[] = {
      {"a tensor of three axes",
       notSupported,
       "has not four dimensions",
       [](Forward &it) { it.kinds = 3; },
       {}},
      {"not final",
       notFinalized,
       "is not finalized",
       [](Forward &it) { it.finalizesTensors = false; },
       {}},
      {"sizes", shapeMismatch, "a product of tensor 1", [](Forward &it) { it.keyWidth = 8; }, {}},
      {"one id twice",
       duplicated,
       "two tensors have the id 3",
       [](Forward &it) { it.outId = 3; },
       {}},
      {"type", notSupported, "no model of type 99", [](Forward &it) { it.elements = 99; }, {}},
      {"precision",
       notSupported,
       "no model of the precision 9",
       [](Forward &it) { it.precision = typeBf16; },
       {}},
      {"comparison in f32",
       notSupported,
       "no model of the precision 0",
       [](Forward &it) { it.divide = pwGreater; },
       {}},
      {"attribute type",
       attributeType,
       "attribute 901 has type 1, not 3",
       {},
       [](Forward &it) { it.set(it.create(kindTensor), tensorType, isInt64, int64_t(1)); }},
      {"attribute of another",
       badParam,
       "have no attribute 901",
       {},
       [](Forward &it) { it.set(it.create(kindMatmul), tensorType, isDataType, typeF32); }},
      {"count",
       badParam,
       "has 1 to 1 values, not 2",
       {},
       [](Forward &it) {
         int two[] = {0, 0};
         it.set(it.create(kindTensor), tensorType, isDataType, 2, two);
       }},
      {"lacking",
       badParam,
       "a descriptor of kind 18 lacks attribute 1500",
       {},
       [](Forward &it) { it.finalize(it.create(kindMatmul)); }},
      {"twice final", badParam, "finalized twice", {}, [](Forward &it) { it.finalize(it.graph); }},
      {"set when final",
       badParam,
       "takes no more attributes",
       {},
       [](Forward &it) { it.set(it.graph, graphHandle, isHandle, 1, &it.handle); }},
      {"kind",
       notSupported,
       "no model of descriptors of kind 77",
       {},
       [](Forward &it) { it.create(77); }},
      {"gone", badParam, "not a descriptor", {}, [](Forward &it) { it.finalize(&it); }},
  };
  for (const Wrong &wrong : all)
    expectRefused(wrong);
}

TEST(Cudnn, RefusesExecutionsThatDoNotFit) {
  const Wrong all[] = {
      {"a pointer short",
       badParam,
       "a variant pack of 5 pointers for 6",
       {},
       [](Forward &it) { it.ids.pop_back(), it.pointers.pop_back(); }},
      {"ids", badParam, "as many pointers as ids", {}, [](Forward &it) { it.ids.pop_back(); }},
      {"an id twice", duplicated, "an id twice", {}, [](Forward &it) { it.ids[1] = 1; }},
      {"null",
       nullPointer,
       "no pointer to array 2",
       {},
       [](Forward &it) { it.pointers[1] = nullptr; }},
      {"host memory",
       badParam,
       "array 1 is not in device memory",
       {},
       [](Forward &it) { it.pointers[0] = &it; }},
      {"too small",
       badParam,
       "array 4 is not in device memory with all of its",
       {},
       [](Forward &it) { it.pointers[3] = (char *)it.pointers[3] + 16; }},
      {"alignment",
       misaligned,
       "array 2 is not aligned to 16 bytes",
       {},
       [](Forward &it) {
         it.memory.push_back(fake::allocate(1 << 16));
         it.pointers[1] = (char *)it.memory.back() + 8;
       }},
      {"in place",
       badParam,
       "is written, and shares memory with",
       {},
       [](Forward &it) { it.pointers[3] = it.pointers[0]; }},
      {"no workspace",
       badParam,
       "the workspace is not in device memory",
       {},
       [](Forward &it) { it.workspace = nullptr; }},
      {"the workspace is an array",
       badParam,
       "shares memory with the workspace",
       {},
       [](Forward &it) { it.workspace = it.pointers[4]; }},
      {"a plan of another handle",
       badParam,
       "made with another handle",
       {},
       [](Forward &it) { std::swap(it.handle, other); }},
      {"another device",
       badParam,
       "the handle is of device 0, the current one is 1",
       {},
       [](Forward &) { fake::setDevice(1); }},
  };
  ASSERT_EQ(cudnnCreate(&other), success);
  for (const Wrong &wrong : all) {
    expectRefused(wrong);
    fake::setDevice(0);
  }
  EXPECT_EQ(cudnnDestroy(other), success);
}

TEST(Cudnn, OffersEnginesThatMayNotBeTaken) {
  Forward it;
  it.build();
  Raw engine = it.create(kindEngine);
  int64_t count = 0;
  int notes[8] = {};
  ASSERT_EQ(cudnnBackendGetAttribute(it.configs[0], configEngine, isDescriptor, 1, &count, &engine),
            success);
  ASSERT_EQ(cudnnBackendGetAttribute(engine, engineNote, isNumericalNote, 8, &count, notes),
            success);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(notes[1], noteNondeterministic);
  EXPECT_EQ(it.makePlan(it.configs[1]), notSupported);
  ASSERT_EQ(it.makePlan(it.configs[2]), success);
  int64_t bytes = 0;
  ASSERT_EQ(cudnnBackendGetAttribute(it.plan, planWorkspace, isInt64, 1, &count, &bytes), success);
  EXPECT_GT(bytes, int64_t(1) << 39);
}

TEST(Cudnn, KnowsNoOtherPatterns) {
  const std::function<void(Forward &)> others[] = {
      [](Forward &it) { it.divide = pwMul; },
      [](Forward &it) { it.makesOut = false; },
      [](Forward &it) { it.d = 20; },
      [](Forward &it) { it.s = it.t = 1; },
      [](Forward &it) { it.elements = typeF32; },
  };
  for (const auto &change : others) {
    Forward it;
    change(it);
    it.build();
    EXPECT_EQ(it.status, success);
    EXPECT_TRUE(it.configs.empty());
  }
}

} // namespace
