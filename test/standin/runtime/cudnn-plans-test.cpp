//===- cudnn-plans-test.cpp - NVIDIA's cuDNN plans what choose-attention chose ------===//
//
// Where cuDNN is, it plans the runtime's graphs for GPUs that are described to it, without one
// being there: each shape that the compiler calls the library's has an engine, within the workspace
// that the compiler counts. Where cuDNN is not, a line says so, and only the compiler is asked.
//
//===----------------------------------------------------------------------===//

#include "dialects/rt/RT.h"
#include "runtime/device/cuda_attention.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace tplan;
using namespace tplan::runtime;

namespace {

/// What cuDNN reads of a GPU.
struct Gpu {
  const char *arch, *properties;
};
#define PROPERTIES(REST)                                                                           \
  R"({"maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
      "regsPerBlock": 65536, "warpSize": 32, "maxSharedMemoryPerBlock": 49152,
      "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "pciDeviceId": 0,
      "maxThreadsPerBlock": 1024, "isTccDriver": 0, "supportCoopLaunch": 1, "cudaDeviceId": 0,
      "driverVer": 13000, "smCountOrigin": 0, "oversizedSharedMemoryPerBlock": 0,
      "memoryBusWidth": 5120, )" REST "}"
const Gpu gpus[] = {
    {"sm_80", PROPERTIES(R"("deviceVer": 800, "multiProcessorCount": 108, "smClockRateKHz": 1410000,
      "memClockRateKHz": 1593000, "l2CacheSize": 41943040, "maxSharedMemoryPerBlockOptin": 166912,
      "maxCtasPerSM": 32, "maxThreadsPerSM": 2048, "deviceName": "A100",
      "totalGlobalMem": 85014806528)")},
    {"sm_86", PROPERTIES(R"("deviceVer": 860, "multiProcessorCount": 84, "smClockRateKHz": 1800000,
      "memClockRateKHz": 8001000, "l2CacheSize": 6291456, "maxSharedMemoryPerBlockOptin": 101376,
      "maxCtasPerSM": 16, "maxThreadsPerSM": 1536, "deviceName": "A6000",
      "totalGlobalMem": 50899058688)")},
    {"sm_89", PROPERTIES(R"("deviceVer": 890, "multiProcessorCount": 142, "smClockRateKHz": 2520000,
      "memClockRateKHz": 9001000, "l2CacheSize": 100663296, "maxSharedMemoryPerBlockOptin": 101376,
      "maxCtasPerSM": 24, "maxThreadsPerSM": 1536, "deviceName": "L40S",
      "totalGlobalMem": 47810936832)")},
    {"sm_90", PROPERTIES(R"("deviceVer": 900, "multiProcessorCount": 132, "smClockRateKHz": 1980000,
      "memClockRateKHz": 2619000, "l2CacheSize": 52428800, "maxSharedMemoryPerBlockOptin": 232448,
      "maxCtasPerSM": 32, "maxThreadsPerSM": 2048, "deviceName": "H100",
      "totalGlobalMem": 85014806528)")},
    {"sm_100", PROPERTIES(R"("deviceVer": 1000, "multiProcessorCount": 148,
      "smClockRateKHz": 1965000, "memClockRateKHz": 3996000, "l2CacheSize": 132644864,
      "maxSharedMemoryPerBlockOptin": 232448, "maxCtasPerSM": 32, "maxThreadsPerSM": 2048,
      "deviceName": "B200", "totalGlobalMem": 191000000000)")},
    {"sm_120", PROPERTIES(R"("deviceVer": 1200, "multiProcessorCount": 188,
      "smClockRateKHz": 2617000, "memClockRateKHz": 14001000, "l2CacheSize": 134217728,
      "maxSharedMemoryPerBlockOptin": 101376, "maxCtasPerSM": 24, "maxThreadsPerSM": 1536,
      "deviceName": "RTX PRO 6000", "totalGlobalMem": 101000000000)")},
};

struct Case {
  const char *arch;
  int64_t batch, heads, groups, queries, keys, width; // batch 0: no such dimension
  const char *mask;                                   // "all", "causal", or "window" with causal
  rt::AttentionPass pass;
  bool half = false; // f16 in place of bf16
};
constexpr auto forward = rt::AttentionPass::Forward, backward = rt::AttentionPass::Backward;
const Case cases[] = {
    {"sm_90", 1, 32, 8, 4096, 4096, 64, "causal", forward},
    {"sm_90", 1, 32, 8, 4096, 4096, 64, "causal", backward},
    {"sm_90", 4, 12, 12, 1024, 1024, 64, "causal", backward},
    {"sm_90", 1, 8, 2, 8192, 8192, 128, "window", backward},
    {"sm_90", 2, 4, 2, 16, 16, 8, "causal", backward},
    {"sm_90", 2, 2, 2, 100, 300, 256, "all", backward},
    {"sm_80", 1, 32, 8, 4096, 4096, 128, "causal", forward},
    {"sm_80", 1, 32, 8, 4096, 4096, 128, "causal", backward},
    {"sm_86", 2, 8, 8, 512, 512, 128, "causal", backward},
    {"sm_120", 2, 8, 2, 512, 512, 128, "causal", backward},
    {"sm_89", 2, 8, 2, 1000, 1000, 64, "window", backward},
    {"sm_100", 1, 32, 8, 4096, 4096, 128, "causal", backward},
    {"sm_90", 1, 32, 8, 4096, 4096, 128, "causal", forward, true},
    {"sm_90", 1, 32, 8, 4096, 4096, 128, "causal", backward, true},
    {"sm_90", 2, 2, 2, 100, 300, 256, "all", backward, true},
    {"sm_80", 1, 8, 2, 1024, 1024, 64, "window", backward, true},
    {"sm_100", 1, 32, 8, 4096, 4096, 128, "causal", backward, true},
    {"sm_90", 0, 4, 2, 256, 256, 64, "causal", backward},
    // A head at once, of an odd number of rows.
    {"sm_90", 1, 7, 7, 6001, 6001, 128, "causal", backward},
};

nn::MaskAttr maskOf(const Case &it, mlir::MLIRContext &context) {
  if (it.mask != std::string("window"))
    return nn::MaskAttr::getLeaf(&context, *nn::symbolizeMaskKind(it.mask));
  return nn::MaskAttr::get(&context, nn::MaskKind::And, 0,
                           {nn::MaskAttr::getLeaf(&context, nn::MaskKind::Causal),
                            nn::MaskAttr::getLeaf(&context, nn::MaskKind::Window, 100)});
}

/// The limits that the driver writes on the module.
rt::LibraryLimits limitsOf(const char *arch) {
  int number = atoi(arch + 3);
  rt::LibraryLimits limits;
  limits.widestForward = limits.widestBackward = 0;
#define ATTENTION_LIMITS(FROM, FORWARD, BACKWARD)                                                  \
  if (!limits.widestForward && number >= FROM)                                                     \
    limits.widestForward = FORWARD, limits.widestBackward = BACKWARD;
#include "lib/Driver/AttentionLimits.def"
  return limits;
}

/// A chunk of the attention as the host program describes it.
struct Chunk {
  tp_attention call = {};
  std::vector<int64_t> strides;
};

void describe(const Case &it, Chunk &chunk) {
  mlir::MLIRContext context;
  context.loadDialect<nn::NNDialect, rt::RTDialect>();
  auto dim = [&](llvm::StringRef name, int64_t size) {
    return nn::DimAttr::get(&context, name, size, false);
  };
  mlir::Type element = mlir::BFloat16Type::get(&context);
  if (it.half)
    element = mlir::Float16Type::get(&context);
  nn::DimAttr b = dim("B", it.batch), s = dim("S", it.queries), t = dim("T", it.keys),
              h = dim("H", it.heads), g = dim("G", it.groups), k = dim("K", it.width);
  auto batched = [&](llvm::SmallVector<nn::DimAttr> dims) {
    if (it.batch)
      dims.insert(dims.begin(), b);
    return nn::Tensor::get(&context, dims, element);
  };
  nn::Tensor q = batched({s, h, k}), keys = batched({t, g, k});
  rt::LibraryAttention shape;
  auto spec =
      nn::AttentionAttr::get(&context, "S", "T", "H", "G",
                             mlir::Builder(&context).getF64FloatAttr(0.125), maskOf(it, context));
  ASSERT_EQ(rt::matchLibraryAttention(it.pass, q, keys, spec, limitsOf(it.arch), shape).found, "");
  tp_attention &call = chunk.call;
  call.pass = it.pass == forward ? TP_ATTENTION_FORWARD : TP_ATTENTION_BACKWARD;
  call.type = it.half ? TP_F16 : TP_BF16;
  call.batch = shape.batch, call.heads = shape.heads, call.groups = shape.groups;
  call.queries = shape.queries, call.keys = shape.keys, call.width = shape.width;
  call.batch_chunk = shape.batchChunk, call.group_chunk = shape.groupChunk;
  call.causal = shape.causal, call.window = shape.window, call.scale = 0.125;
  call.workspace = rt::workspaceOf(it.pass, shape);
  for (int32_t i = 0; i < tp_attention_pointers(call.pass); ++i) {
    bool ofKeys = tp_attention_of_keys(i);
    rt::AttentionStrides each =
        *rt::stridesOf(ofKeys ? keys : q, ofKeys ? "T" : "S", ofKeys ? "G" : "H", "K");
    if (i == tp_attention_lse(call.pass))
      each = {it.heads * it.queries, it.queries, 1};
    chunk.strides.insert(chunk.strides.end(), {each.batch, each.head, each.row});
  }
  call.strides = chunk.strides.data();
}

Status plan(const Cudnn &library, const Case &it, const tp_attention &call, CudnnPlan &made) {
  CudnnDescriptor properties;
  TP_TRY(properties.create(library, cudnn::devicePropertiesDescriptor));
  for (const Gpu &gpu : gpus)
    if (gpu.arch == std::string(it.arch))
      TP_TRY(properties.set(cudnn::devicePropertiesJson, cudnn::typeChar,
                            (int64_t)strlen(gpu.properties), gpu.properties));
  TP_TRY(properties.finalize());
  CudnnGraph graph(library);
  describeAttention(call, graph);
  return graph.plan({nullptr, &properties}, call.workspace - bytesOfRowSums(call), made);
}

TEST(Cases, AreTheLibrarys) {
  for (const Case &it : cases) {
    Chunk chunk;
    describe(it, chunk);
    EXPECT_GT(chunk.call.workspace, 0) << it.arch << " " << it.mask << ", width " << it.width;
  }
}

class CudnnPlans : public testing::Test {
protected:
  void SetUp() override {
    // cuDNN asks the loader for the driver, which then has this one.
    ASSERT_TRUE(dlopen(PLANNING_DRIVER, RTLD_NOW | RTLD_GLOBAL)) << dlerror();
    Status status = loadCudnn(library);
    if (!status.ok())
      GTEST_SKIP() << "left out, there is no cuDNN here: " << status.message();
    if (library->GetVersion() < 91100)
      GTEST_SKIP() << "left out, cuDNN plans for GPUs by their properties from 9.11 on, found "
                   << library->version();
  }
  const Cudnn *library = nullptr;
};

TEST_F(CudnnPlans, EachChoiceHasAnEngineWithinItsWorkspace) {
  for (const Case &it : cases) {
    bool isForward = it.pass == forward;
    if (!isForward && it.keys % 128 && library->GetVersion() <= 91500)
      continue; // the runtime refuses them
    SCOPED_TRACE(testing::Message()
                 << it.arch << " " << it.mask << (isForward ? " forward" : " backward")
                 << ", width " << it.width);
    Chunk chunk;
    describe(it, chunk);
    CudnnPlan made;
    Status status = plan(*library, it, chunk.call, made);
    EXPECT_TRUE(status.ok()) << status.message();
    int64_t all = made.workspace + bytesOfRowSums(chunk.call);
    EXPECT_LE(all, chunk.call.workspace);
    // What is counted is used, where there is more than slack.
    if (!isForward && chunk.call.workspace > 8 << 20)
      EXPECT_GE(all, chunk.call.workspace * 0.8);
  }
}

/// The limits of choose-attention are those of the library.
TEST_F(CudnnPlans, WhatIsNotChosenHasNone) {
  Case wide = {"sm_90", 1, 2, 1, 64, 64, 256, "causal", backward};
  Chunk chunk;
  describe(wide, chunk);
  CudnnPlan made;
  for (const char *arch : {"sm_80", "sm_100"}) {
    wide.arch = arch;
    EXPECT_FALSE(plan(*library, wide, chunk.call, made).ok()) << arch;
  }
  chunk.call.width = 20;
  wide.arch = "sm_90";
  EXPECT_FALSE(plan(*library, wide, chunk.call, made).ok());
}

} // namespace
