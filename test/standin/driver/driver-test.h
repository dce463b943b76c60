//===- driver-test.h - what tests of the stand-in share -------------------===//
#ifndef TPLAN_TEST_STANDIN_DRIVER_TEST_H
#define TPLAN_TEST_STANDIN_DRIVER_TEST_H

#include "test/standin/driver/driver.h"
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#define OK(call) ASSERT_EQ(call, CUDA_SUCCESS)

/// A kernel with a pointer, of one statement a line. %rd1 is the pointer, %r1 the thread of
/// the block and %r2 the block; %rd2 is the pointer plus four times the thread.
inline std::string ptx(const std::string &body, const std::string &directives = "",
                       const std::string &head = "", const std::string &target = "sm_90",
                       const std::string &version = "7.8") {
  return ".version " + version + "\n.target " + target + "\n.address_size 64\n" + head +
         "\n.visible .entry k(.param .u64 .ptr .global .align 1 k_param_0)\n" + directives +
         "\n{\n.reg .pred %p<9>;\n.reg .b16 %rs<9>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<40>;\n"
         "ld.param.b64 %rd1, [k_param_0];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n"
         "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd2, %rd1, %rd3;\n" +
         body + "\nret;\n}\n";
}

class Driver : public testing::Test {
protected:
  void SetUp() override { start(); }
  void TearDown() override {
    for (CUdeviceptr p : allocated)
      cuMemFree_v2(p);
    for (const char *name :
         {"STANDIN_ORDER", "STANDIN_SEED", "STANDIN_STRICT", "STANDIN_DEVICES", "STANDIN_PEERS",
          "STANDIN_MIXED", "STANDIN_ARCH", "STANDIN_MEMORY", "STANDIN_DRIVER_VERSION",
          "STANDIN_THREADS", "STANDIN_RACES", "STANDIN_FAULT", "STANDIN_LOG", "STANDIN_TOUCH",
          "STANDIN_GRAPH_FAULT", "STANDIN_NODE_BYTES"})
      unsetenv(name);
    standin_reset();
  }
  /// Once more, with variables of the environment.
  void start(std::vector<std::pair<const char *, std::string>> variables = {}) {
    standin_reset();
    for (auto &[name, value] : variables)
      setenv(name, value.c_str(), 1);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    a = newStream(), b = newStream();
    data = device(4096);
    host = pinned(4096);
  }
  CUstream newStream() {
    CUstream s = nullptr;
    EXPECT_EQ(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
    return s;
  }
  CUevent newEvent(unsigned flags = CU_EVENT_DISABLE_TIMING) {
    CUevent e = nullptr;
    EXPECT_EQ(cuEventCreate(&e, flags), CUDA_SUCCESS);
    return e;
  }
  CUdeviceptr device(size_t bytes) {
    CUdeviceptr p = 0;
    EXPECT_EQ(cuMemAlloc_v2(&p, bytes), CUDA_SUCCESS);
    allocated.push_back(p);
    return p;
  }
  int *pinned(size_t bytes) {
    void *p = nullptr;
    EXPECT_EQ(cuMemHostAlloc(&p, bytes, 0), CUDA_SUCCESS);
    return static_cast<int *>(p);
  }
  int read(CUdeviceptr p) {
    int value = -1;
    EXPECT_EQ(cuMemcpyDtoH_v2(&value, p, 4), CUDA_SUCCESS);
    return value;
  }
  CUresult load(const std::string &text, std::string *log = nullptr) {
    char buffer[400] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {buffer, reinterpret_cast<void *>(sizeof buffer)};
    CUresult result = cuModuleLoadDataEx(&module, text.c_str(), 2, options, values);
    if (log)
      *log = buffer;
    if (!result)
      EXPECT_EQ(cuModuleGetFunction(&function, module, "k"), CUDA_SUCCESS);
    return result;
  }
  CUresult launch(CUstream stream, CUdeviceptr pointer, unsigned blocks = 1, unsigned threads = 32,
                  unsigned shared = 0) {
    void *params[] = {&pointer};
    return cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared, stream, params, nullptr);
  }
  /// Runs a kernel on memory that counts from 0; the result of the synchronise.
  CUresult run(const std::string &body, unsigned blocks = 1, unsigned threads = 32) {
    return runText(ptx(body), blocks, threads);
  }
  CUresult runText(const std::string &text, unsigned blocks = 1, unsigned threads = 32) {
    for (int i = 0; i < 1024; ++i)
      host[i] = i;
    std::string log;
    CUresult loaded = load(text, &log);
    EXPECT_EQ(loaded, CUDA_SUCCESS) << log;
    if (loaded)
      return loaded;
    EXPECT_EQ(cuMemcpyHtoDAsync_v2(data, host, 4096, a), CUDA_SUCCESS);
    EXPECT_EQ(launch(a, data, blocks, threads), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, data, 4096, a), CUDA_SUCCESS);
    return cuStreamSynchronize(a);
  }
  /// What was said on stderr meanwhile.
  template <typename F> std::string said(F f) {
    testing::internal::CaptureStderr();
    f();
    return testing::internal::GetCapturedStderr();
  }

  CUcontext context = nullptr;
  CUstream a = nullptr, b = nullptr;
  CUdeviceptr data = 0;
  int *host = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  std::vector<CUdeviceptr> allocated;
};

#endif // TPLAN_TEST_STANDIN_DRIVER_TEST_H
