//===- kernels-test.cpp - PTX of kernels, interpreted and compiled for the CPU ===//
//
// Every kernel of the tests in test/lower, as PTX for each architecture in the stand-in, against
// the same GPU kernel compiled for this machine: two ways from one IR, which have nothing below
// LLVM in common. Equal bit for bit; NaNs are equal to NaNs, because x86 and GPUs differ in those
// that they make.
//
//===----------------------------------------------------------------------===//
#include "dialects/rt/RT.h"
#include "lib/Emit/Ptx.h"
#include "lib/Lower/Lower.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "test/lower/gpu-on-cpu.h"
#include "test/standin/driver/driver.h"
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace {
struct Argument {
  std::string type;
  int64_t count = 1;
  int64_t bytes() const {
    return count * (type == "f64" ? 8 : type == "bf16" ? 2 : type == "i1" ? 1 : 4);
  }
};
struct KernelText {
  std::string name, mlir;
  std::vector<Argument> args;
  bool bounded = false;
};

std::string read(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void replaceAll(std::string &text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

/// "[S 8192, D 4096], f32" and the like.
Argument parseArgument(const std::string &text) {
  Argument a;
  size_t close = text.find(']');
  a.type = text.substr(close + 3);
  std::stringstream dims(text.substr(1, close - 1));
  for (std::string dim; std::getline(dims, dim, ',');)
    a.count *= std::stoll(dim.substr(dim.rfind(' ')));
  return a;
}

std::vector<KernelText> kernelsOf(const std::string &file) {
  std::string text = read(SOURCE "/test/lower/" + file);
  EXPECT_FALSE(text.empty()) << file;
  replaceAll(text, "8192", "128"); // rows: two tasks
  replaceAll(text, "128256", "32064");
  replaceAll(text, "each.task 128", "each.task 2");
  std::string aliases =
      text.find("\n#in") != text.npos
          ? text.substr(text.find("\n#in"),
                        text.find('\n', text.find("\n#in") + 1) - text.find("\n#in"))
          : "";
  std::vector<KernelText> kernels;
  for (size_t at = 0; (at = text.find("\nrt.kernel @", at)) != text.npos;) {
    size_t end = text.find("\n}", at) + 2;
    KernelText k;
    std::string body = text.substr(at, end - at);
    k.mlir = aliases + body;
    k.name = body.substr(12, body.find(' ', 12) - 12);
    k.bounded = body.find(", true>") != body.npos;
    size_t head = body.find("access [");
    for (size_t t = 0; (t = body.find("!nn.tensor<", t)) < head; ++t)
      k.args.push_back(parseArgument(body.substr(t + 11, body.find('>', t) - t - 11)));
    kernels.push_back(k);
    at = end;
  }
  return kernels;
}

/// Random, of the type; ids are small.
std::vector<char> fill(const Argument &a, uint64_t seed) {
  std::vector<char> bytes(a.bytes());
  uint64_t state = seed * 0x9E3779B97F4A7C15ull + 1;
  for (int64_t i = 0; i < a.count; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    double x = (double(int64_t(state) >> 11) / double(1ll << 52)) * 3;
    float f = float(x);
    uint32_t word;
    memcpy(&word, &f, 4);
    if (a.type == "f64")
      memcpy(&bytes[8 * i], &x, 8);
    else if (a.type == "f32")
      memcpy(&bytes[4 * i], &f, 4);
    else if (a.type == "bf16")
      memcpy(&bytes[2 * i], reinterpret_cast<char *>(&word) + 2, 2);
    else if (a.type == "i32")
      bytes[4 * i] = (state >> 40) % 32;
    else
      bytes[i] = state >> 40 & 1;
  }
  return bytes;
}

bool isNan(const Argument &a, const char *at) {
  if (a.type == "f64") {
    double x;
    memcpy(&x, at, 8);
    return x != x;
  }
  uint32_t bits = 0;
  memcpy(a.type == "bf16" ? reinterpret_cast<char *>(&bits) + 2 : reinterpret_cast<char *>(&bits),
         at, a.type == "bf16" ? 2 : 4);
  return a.type != "i32" && (bits & 0x7FFFFFFF) > 0x7F800000;
}

/// How many elements are NaN; the first that differs is an error.
int64_t compare(const Argument &a, const std::vector<char> &got, const std::vector<char> &want) {
  int64_t size = a.bytes() / a.count, nans = 0;
  for (int64_t i = 0; i < a.count; ++i) {
    const char *x = got.data() + i * size, *y = want.data() + i * size;
    bool nan = a.type != "i1" && isNan(a, x) && isNan(a, y);
    nans += nan;
    if (!nan && memcmp(x, y, size)) {
      ADD_FAILURE() << "element " << i << " of " << a.count;
      return nans;
    }
  }
  return nans;
}

struct Ptx {
  std::string text;
  unsigned threads, blocks;
};
Ptx compile(const KernelText &k, const std::string &arch) {
  mlir::DialectRegistry registry;
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<tplan::rt::RTDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(k.mlir, &context);
  if (!module || failed(tplan::lower::lowerKernelsToNVVM(*module)))
    return ADD_FAILURE() << "not lowered: " << k.name, Ptx();
  auto gpu = *module->getOps<mlir::gpu::GPUModuleOp>().begin();
  auto func = *gpu.getOps<mlir::LLVM::LLVMFuncOp>().begin();
  auto first = [&](llvm::StringRef name) -> unsigned {
    return func->getAttrOfType<mlir::DenseI32ArrayAttr>(name).asArrayRef()[0];
  };
  llvm::Expected<std::string> text = tplan::emit::emitPtx(gpu, arch);
  if (!text)
    return ADD_FAILURE() << toString(text.takeError()), Ptx();
  return {*text, first("gpu.known_block_size"), first("gpu.known_grid_size")};
}

#define CHECK(call) ASSERT_EQ(call, CUDA_SUCCESS)

/// Everything through the API, as a program would.
void runOnStandin(const Ptx &ptx, const KernelText &k, std::vector<std::vector<char>> &data,
                  int64_t count) {
  CUcontext context;
  CUstream stream;
  CUmodule module;
  CUfunction function;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
  CHECK(cuModuleLoadDataEx(&module, ptx.text.c_str(), 0, nullptr, nullptr));
  CHECK(cuModuleGetFunction(&function, module, k.name.c_str()));
  std::vector<CUdeviceptr> pointers(data.size());
  std::vector<void *> params;
  for (size_t i = 0; i < data.size(); ++i) {
    CHECK(cuMemAlloc_v2(&pointers[i], data[i].size()));
    CHECK(cuMemcpyHtoD_v2(pointers[i], data[i].data(), data[i].size()));
    params.push_back(&pointers[i]);
  }
  CUdeviceptr countPointer = 0;
  if (k.bounded) {
    CHECK(cuMemAlloc_v2(&countPointer, 8));
    CHECK(cuMemcpyHtoD_v2(countPointer, &count, 8));
    params.push_back(&countPointer);
  }
  CHECK(cuStreamSynchronize(nullptr)); // what was copied has arrived
  CHECK(cuLaunchKernel(function, ptx.blocks, 1, 1, ptx.threads, 1, 1, 0, stream, params.data(),
                       nullptr));
  CHECK(cuStreamSynchronize(stream));
  for (size_t i = 0; i < data.size(); ++i) {
    CHECK(cuMemcpyDtoH_v2(data[i].data(), pointers[i], data[i].size()));
    CHECK(cuMemFree_v2(pointers[i]));
  }
  if (countPointer)
    CHECK(cuMemFree_v2(countPointer));
  CHECK(cuModuleUnload(module));
  CHECK(cuStreamDestroy_v2(stream));
}

class Kernels : public testing::TestWithParam<const char *> {};

TEST_P(Kernels, PtxEqualsTheCpu) {
  double seconds = 0;
  uint64_t instructions = 0;
  for (const KernelText &k : kernelsOf(GetParam())) {
    SCOPED_TRACE(k.name);
    std::vector<std::vector<char>> start;
    for (size_t i = 0; i < k.args.size(); ++i)
      start.push_back(fill(k.args[i], i + 1));
    int64_t count = 37;
    auto want = start;
    std::vector<void *> pointers;
    for (auto &bytes : want)
      pointers.push_back(bytes.data());
    if (k.bounded)
      pointers.push_back(&count);
    GpuOnCpu(k.mlir).run(pointers);
    EXPECT_NE(want, start) << "the kernel writes nothing";
    std::string last;
    for (const char *arch : {"80", "89", "90", "100"}) {
      SCOPED_TRACE(arch);
      standin_reset();
      setenv("STANDIN_ARCH", arch, 1);
      Ptx ptx = compile(k, std::string("sm_") + arch);
      std::string body = ptx.text.substr(std::min(ptx.text.size(), ptx.text.find(".entry")));
      if (body == last) // only the target differs
        continue;
      last = body;
      auto got = start;
      auto begin = std::chrono::steady_clock::now();
      uint64_t before = standin_lane_instructions();
      ASSERT_NO_FATAL_FAILURE(runOnStandin(ptx, k, got, count));
      seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      instructions += standin_lane_instructions() - before;
      for (size_t i = 0; i < k.args.size(); ++i) {
        SCOPED_TRACE("argument " + std::to_string(i));
        int64_t nans = compare(k.args[i], got[i], want[i]);
        EXPECT_LT(nans, k.args[i].count / 2 + 1) << "most of the result is no number";
      }
    }
  }
  unsetenv("STANDIN_ARCH");
  standin_reset();
  printf("%.0f million instructions of threads in %.2f s: %.0f million a second\n",
         instructions / 1e6, seconds, instructions / 1e6 / seconds);
}

INSTANTIATE_TEST_SUITE_P(Lower, Kernels,
                         testing::Values("kernels-to-ptx-f32.mlir", "kernels-to-ptx-bf16.mlir",
                                         "lower-kernels-gpu.mlir", "Inputs/more-kernels.mlir"));
} // namespace
