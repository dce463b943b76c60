//===- driver-test.cpp - devices, memory, streams, events, modules --------===//
#include "test/standin/driver/driver-test.h"
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>
#include <unistd.h>

namespace {
//===----------------------------------------------------------------------===//
// Devices and memory
//===----------------------------------------------------------------------===//

TEST_F(Driver, Devices) {
  int count = -1, value = 0;
  OK(cuDeviceGetCount(&count));
  EXPECT_EQ(count, 1);
  OK(cuDriverGetVersion(&value));
  EXPECT_EQ(value, 13000);
  OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
  EXPECT_EQ(value, 9);
  EXPECT_EQ(cuDeviceGet(&value, 1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGetAttribute(&value, CUdevice_attribute(9999), 0), CUDA_ERROR_INVALID_VALUE);
  standin_reset();
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
  setenv("STANDIN_DEVICES", "0", 1);
  EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE);
  standin_reset();
  setenv("STANDIN_ORDER", "sometimes", 1);
  EXPECT_EQ(cuInit(0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, Errors) {
  const char *text = nullptr;
  OK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(cuGetErrorName(CUresult(4711), &text), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, ThreadNeedsAContext) {
  CUresult result = CUDA_SUCCESS;
  std::thread([&] {
    CUdeviceptr p;
    result = cuMemAlloc_v2(&p, 4);
  }).join();
  EXPECT_EQ(result, CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Driver, MemoryIsLimited) {
  start({{"STANDIN_MEMORY", "100000"}});
  size_t free, total;
  OK(cuMemGetInfo_v2(&free, &total));
  EXPECT_EQ(total, 100000u);
  size_t before = free;
  CUdeviceptr p;
  EXPECT_EQ(cuMemAlloc_v2(&p, before + 1), CUDA_ERROR_OUT_OF_MEMORY);
  OK(cuMemAlloc_v2(&p, before));
  EXPECT_EQ(p % 512, 0u);
  EXPECT_NE(p % 1024, 0u) << "more aligned than promised";
  OK(cuMemGetInfo_v2(&free, &total));
  EXPECT_EQ(free, 0u);
  OK(cuMemFree_v2(p));
  EXPECT_EQ(cuMemFree_v2(p), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemGetInfo_v2(&free, &total));
  EXPECT_EQ(free, before);
}

TEST_F(Driver, FreshMemoryIsNan) {
  CUdeviceptr p = device(16);
  float f;
  double d;
  OK(cuMemcpyDtoH_v2(&f, p, 4));
  OK(cuMemcpyDtoH_v2(&d, p, 8));
  EXPECT_NE(f, f);
  EXPECT_NE(d, d);
}

TEST_F(Driver, HostCannotTouchDeviceMemory) {
  EXPECT_EXIT(*reinterpret_cast<volatile int *>(data) = 1, testing::KilledBySignal(SIGSEGV), "");
  *static_cast<int *>(standin_host(data)) = 7;
  EXPECT_EQ(read(data), 7);
  EXPECT_EQ(standin_host(data + 4096), nullptr);
  EXPECT_EQ(standin_host(reinterpret_cast<uint64_t>(host)), nullptr);
}

TEST_F(Driver, LibraryThatWritesOutside) {
  CUdeviceptr p;
  OK(cuMemAlloc_v2(&p, 100));
  static_cast<char *>(standin_host(p))[101] = 0;
  EXPECT_EQ(cuMemFree_v2(p), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_ERROR_ILLEGAL_ADDRESS) << "errors stay";
}

TEST_F(Driver, Pointers) {
  unsigned type = 0;
  CUdeviceptr base = 0;
  size_t bytes = 0;
  OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, data + 10));
  EXPECT_EQ(type, unsigned(CU_MEMORYTYPE_DEVICE));
  OK(cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, data + 10));
  OK(cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, data + 10));
  EXPECT_EQ(base, data);
  EXPECT_EQ(bytes, 4096u);
  OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUdeviceptr(host)));
  EXPECT_EQ(type, unsigned(CU_MEMORYTYPE_HOST));
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUdeviceptr(&type)),
            CUDA_ERROR_INVALID_VALUE);
}

//===----------------------------------------------------------------------===//
// Copies and fills
//===----------------------------------------------------------------------===//

TEST_F(Driver, CopiesAndFills) {
  CUdeviceptr other = device(4096);
  OK(cuMemsetD32Async(data, 5, 1024, a));
  OK(cuMemsetD8Async(data + 4, 1, 4, a));
  OK(cuMemcpyDtoDAsync_v2(other, data, 4096, a));
  OK(cuMemcpyDtoHAsync_v2(host, other, 4096, a));
  OK(cuStreamSynchronize(a));
  EXPECT_EQ(host[0], 5);
  EXPECT_EQ(host[1], 0x01010101);
  EXPECT_EQ(host[1023], 5);
  // Rows of 8 bytes, 64 apart, to rows 16 apart; the second row gets another fill.
  OK(cuMemsetD2D8Async(data + 64, 64, 2, 4, 1, a));
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE, copy.srcDevice = data, copy.srcPitch = 64;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST, copy.dstHost = host, copy.dstPitch = 16;
  copy.srcXInBytes = 4, copy.srcY = 0, copy.dstXInBytes = 4, copy.dstY = 1;
  copy.WidthInBytes = 8, copy.Height = 3;
  OK(cuMemcpy2DAsync_v2(&copy, a));
  OK(cuStreamSynchronize(a));
  EXPECT_EQ(host[4], 5) << "not copied to";
  EXPECT_EQ(host[5], 0x01010101);
  EXPECT_EQ(host[9], 5) << "x begins behind the fill";
  copy.dstPitch = 4;
  EXPECT_EQ(cuMemcpy2DAsync_v2(&copy, a), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, CopiesAreChecked) {
  int pageable[4] = {};
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(data, pageable, 16, a), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(pageable, data, 16, a), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemcpyHtoD_v2(data, pageable, 16));
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(data, host, 4097, a), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(data + 4092, host, 8, a), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoDAsync_v2(data, data + 8, 16, a), CUDA_ERROR_INVALID_VALUE) << "overlaps";
  EXPECT_EQ(cuMemsetD32Async(data + 2, 0, 1, a), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8Async(data, 0, 4097, a), CUDA_ERROR_INVALID_VALUE);
  OK(cuStreamSynchronize(a));
}

TEST_F(Driver, NumbersAreWrittenInTheOrderOfTheirStream) {
  auto *seen = reinterpret_cast<volatile unsigned *>(host);
  *seen = 1;
  OK(cuMemsetD32Async(data, 7, 1, a));
  OK(cuStreamWriteValue32_v2(a, reinterpret_cast<CUdeviceptr>(host), 2, 0));
  OK(cuStreamWriteValue32_v2(a, data + 4, 3, 0));
  EXPECT_EQ(*seen, 1u);
  OK(cuStreamSynchronize(a));
  EXPECT_EQ(*seen, 2u);
  EXPECT_EQ(read(data), 7);
  EXPECT_EQ(read(data + 4), 3);
  unsigned pageable = 0;
  EXPECT_EQ(cuStreamWriteValue32_v2(a, reinterpret_cast<CUdeviceptr>(&pageable), 2, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWriteValue32_v2(a, data + 2, 2, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, DevicesHaveNumbersOnTheBus) {
  char id[32];
  OK(cuDeviceGetPCIBusId(id, sizeof id, 0));
  EXPECT_STREQ(id, "0000:01:00.0");
  EXPECT_EQ(cuDeviceGetPCIBusId(id, sizeof id, 7), CUDA_ERROR_INVALID_DEVICE);
  CUdevice device = -1;
  OK(cuCtxGetDevice(&device));
  EXPECT_EQ(device, 0);
}

TEST_F(Driver, DefaultStreamsAreRefused) {
  EXPECT_EQ(cuMemsetD8Async(data, 0, 1, nullptr), CUDA_ERROR_INVALID_HANDLE);
  OK(cuStreamSynchronize(nullptr)); // blocking copies run there
  EXPECT_EQ(cuStreamSynchronize(reinterpret_cast<CUstream>(1)), CUDA_ERROR_INVALID_HANDLE);
  OK(cuStreamDestroy_v2(b));
  EXPECT_EQ(cuStreamSynchronize(b), CUDA_ERROR_INVALID_HANDLE) << "destroyed";
}

TEST_F(Driver, UseAfterFree) {
  CUdeviceptr p;
  OK(cuMemAlloc_v2(&p, 16));
  OK(cuMemsetD8Async(p, 0, 16, a));
  OK(cuMemFree_v2(p)); // before it has run
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_ERROR_ILLEGAL_ADDRESS);
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

TEST_F(Driver, NothingRunsBeforeItIsAskedFor) {
  OK(cuMemsetD32Async(data, 1, 1, a));
  OK(cuStreamSynchronize(a));
  OK(cuMemsetD32Async(data, 2, 1, a));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(read(data), 1) << "a blocking copy does not wait for streams of this kind";
  EXPECT_EQ(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
  while (cuStreamQuery(a) == CUDA_ERROR_NOT_READY)
    ;
  EXPECT_EQ(read(data), 2);
}

TEST_F(Driver, NothingIsLateForEver) {
  OK(cuMemsetD32Async(data, 1, 1, a));
  OK(cuStreamSynchronize(a));
  OK(cuMemsetD32Async(data, 2, 1, a));
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(read(data), 2);
}

TEST_F(Driver, BlockingStreamsAndBlockingCopies) {
  CUstream blocking;
  OK(cuStreamCreateWithPriority(&blocking, CU_STREAM_DEFAULT, 0));
  OK(cuMemsetD32Async(data, 3, 1, blocking));
  EXPECT_EQ(read(data), 3);
}

TEST_F(Driver, CopiesOfPageableMemoryReturnBeforeTheyArrive) {
  CUstream blocking;
  OK(cuStreamCreateWithPriority(&blocking, CU_STREAM_DEFAULT, 0));
  int pageable = 0;
  auto copy = [&](CUstream stream, bool waits) {
    OK(cuMemsetD32Async(data, 1, 1, a));
    OK(cuStreamSynchronize(a));
    pageable = 2;
    OK(cuMemcpyHtoD_v2(data, &pageable, sizeof pageable));
    pageable = 3; // it has been read
    if (waits)
      OK(cuStreamSynchronize(nullptr));
    OK(cuMemcpyDtoDAsync_v2(data + 1024, data, 4, stream));
    OK(cuStreamSynchronize(stream));
  };
  auto copied = [&](CUstream stream, bool waits) {
    copy(stream, waits);
    return read(data + 1024);
  };
  EXPECT_EQ(copied(a, false), 1) << "the stream does not wait for the default one";
  EXPECT_EQ(copied(a, true), 2);
  EXPECT_EQ(copied(blocking, false), 2);
}

/// A missing wait between streams shows; a wait repairs it, and asks for no more than it must.
TEST_F(Driver, MissingWait) {
  CUevent e = newEvent();
  OK(cuMemsetD32Async(data, 1, 1, a));
  OK(cuStreamSynchronize(a));
  OK(cuMemsetD32Async(data, 2, 1, a));
  OK(cuMemcpyDtoHAsync_v2(host, data, 4, b));
  OK(cuStreamSynchronize(b));
  EXPECT_EQ(host[0], 1);
  OK(cuMemsetD32Async(data, 3, 1, a));
  OK(cuEventRecord(e, a));
  OK(cuMemsetD32Async(data, 4, 1, a));
  OK(cuStreamWaitEvent(b, e, 0));
  OK(cuMemcpyDtoHAsync_v2(host, data, 4, b));
  OK(cuStreamSynchronize(b));
  EXPECT_EQ(host[0], 3) << "only up to the record";
}

TEST_F(Driver, WaitTakesTheLastRecord) {
  CUevent e = newEvent();
  OK(cuMemsetD32Async(data, 1, 1, a));
  OK(cuEventRecord(e, a));
  OK(cuStreamWaitEvent(b, e, 0));
  OK(cuMemsetD32Async(data, 2, 1, a));
  OK(cuEventRecord(e, a));
  OK(cuMemcpyDtoHAsync_v2(host, data, 4, b));
  OK(cuStreamSynchronize(b));
  EXPECT_EQ(host[0], 1);
  EXPECT_EQ(cuEventQuery(e), CUDA_ERROR_NOT_READY);
  OK(cuEventSynchronize(e));
  EXPECT_EQ(read(data), 2);
  OK(cuEventQuery(e));
}

TEST_F(Driver, EventThatWasNeverRecorded) {
  CUevent e = newEvent();
  OK(cuStreamWaitEvent(a, e, 0));
  OK(cuEventQuery(e));
  start({{"STANDIN_STRICT", "1"}});
  e = newEvent();
  EXPECT_EQ(cuStreamWaitEvent(a, e, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, ElapsedTime) {
  CUevent begin = newEvent(CU_EVENT_DEFAULT), end = newEvent(CU_EVENT_DEFAULT), none = newEvent();
  float ms = -1;
  EXPECT_EQ(cuEventElapsedTime_v2(&ms, begin, end), CUDA_ERROR_INVALID_HANDLE);
  OK(cuEventRecord(begin, a));
  OK(cuLaunchHostFunc(
      a, [](void *) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }, nullptr));
  OK(cuEventRecord(end, a));
  EXPECT_EQ(cuEventElapsedTime_v2(&ms, begin, end), CUDA_ERROR_NOT_READY);
  OK(cuEventSynchronize(end));
  OK(cuEventElapsedTime(&ms, begin, end));
  EXPECT_GE(ms, 19);
  OK(cuEventRecord(none, a));
  OK(cuEventSynchronize(none));
  EXPECT_EQ(cuEventElapsedTime(&ms, begin, none), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Driver, HostFunctionsCallNoDriver) {
  static CUresult result;
  OK(cuLaunchHostFunc(a, [](void *) { result = cuCtxSynchronize(); }, nullptr));
  OK(cuStreamSynchronize(a));
  EXPECT_EQ(result, CUDA_ERROR_NOT_PERMITTED);
}

/// Two ranks that meet twice, each in two streams, and wait for the streams in different
/// order: real devices have no trouble with it.
TEST_F(Driver, RanksThatMeetInDifferentOrder) {
  struct Meeting {
    std::atomic<int> here{0};
    static void come(void *m) {
      auto *meeting = static_cast<Meeting *>(m);
      ++meeting->here;
      while (meeting->here < 2)
        std::this_thread::yield();
    }
  } first, second;
  auto rank = [&](bool turned) {
    cuCtxSetCurrent(context);
    CUstream x = newStream(), y = newStream();
    EXPECT_EQ(cuLaunchHostFunc(x, Meeting::come, &first), CUDA_SUCCESS);
    EXPECT_EQ(cuLaunchHostFunc(y, Meeting::come, &second), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(turned ? y : x), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(turned ? x : y), CUDA_SUCCESS);
  };
  std::thread other(rank, true);
  rank(false);
  other.join();
}

TEST_F(Driver, Orders) {
  for (const char *order : {"eager", "random", "late"}) {
    start({{"STANDIN_ORDER", order}});
    CUevent e = newEvent();
    for (int i = 0; i < 20; ++i) {
      OK(cuMemsetD32Async(data, i, 1, a));
      OK(cuEventRecord(e, a));
      OK(cuStreamWaitEvent(b, e, 0));
      OK(cuMemcpyDtoHAsync_v2(host + i, data, 4, b));
      OK(cuEventRecord(e, b));
      OK(cuStreamWaitEvent(a, e, 0));
    }
    OK(cuCtxSynchronize());
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(host[i], i) << order;
  }
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

TEST_F(Driver, ModulesThatAreRefused) {
  EXPECT_EQ(load("\177ELF"), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(load(ptx("", "", "", "sm_100", "8.6")), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(load(ptx("", "", "", "sm_80", "7.0")), CUDA_SUCCESS);
  EXPECT_EQ(load(ptx("", "", "", "sm_90", "7.0")), CUDA_ERROR_INVALID_PTX) << "too old for it";
  EXPECT_EQ(load(ptx("", "", "", "sm_80a", "8.0")), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(load(ptx("", "", "", "sm_90", "9.1")), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  start({{"STANDIN_DRIVER_VERSION", "12000"}});
  EXPECT_EQ(load(ptx("", "", "", "sm_90", "8.0")), CUDA_SUCCESS);
  EXPECT_EQ(load(ptx("", "", "", "sm_90", "8.1")), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
}

TEST_F(Driver, WhatIsNotKnownIsNamed) {
  struct {
    std::string body, log;
  } cases[] = {
      {"frob.b32 %r3, %r1;", "line 17: unknown instruction: frob.b32"},
      {"add.frob.s32 %r3, %r1, %r2;", "unknown modifier .frob: add.frob.s32"},
      {"add.f32 %r3, %r1, %r2;", "not rounded to nearest even: add.f32"},
      {"mul.rn.ftz.f32 %r3, %r1, %r2;", "unknown modifier .ftz"},
      {"ex2.approx.f32 %r3, %r1;", "unknown instruction: ex2.approx.f32"},
      {"add.s32 %r3, %r1, %rd1;", "register is not of 32 bits: %rd1"},
      {"add.s32 %r99, %r1, %r2;", "unknown register: %r99"},
      {"bra nowhere;", "unknown label: nowhere"},
      {"mul.rn.f32x2 %rd3, %rd1, %rd2;", "instruction needs sm_100, the target is sm_90"},
      {"ld.volatile.global.b32 %r3, [%rd1];", "unknown modifier .volatile"},
      {"atom.global.add.u32 %r3, [%rd1], 1;", "unknown instruction: atom.global.add.u32"},
      {"mov.u32 %r3, %clock;", "unknown register: %clock"},
      {"setp.lt.b32 %p1, %r1, %r2;", "unknown form of an instruction: setp.lt.b32"},
      {"setp.lt.f16x2 %p1, %r1, %r2;", "unknown form of an instruction: setp.lt.f16x2"},
      {"setp.lt.bf16x2 %p1|%p2, %r1, %r2;", "unknown form of an instruction: setp.lt.bf16x2"},
      {"ld.global.b32 %r3, [%r1];", "unknown address"},
      {"ld.global.b32 %r3, [0];", "unknown address"},
      {".local .align 4 .b8 x[4];", "local memory is not supported"},
      {"mov.b32 %r3, 0d3FF0000000000000;", "no value of 32 bits"},
  };
  for (auto &c : cases) {
    std::string log;
    EXPECT_EQ(load(ptx(c.body), &log), CUDA_ERROR_INVALID_PTX) << c.body;
    EXPECT_NE(log.find(c.log), log.npos) << c.body << " gives " << log;
  }
  std::string log;
  EXPECT_EQ(load(ptx("", ".frob 3"), &log), CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(log.find("unknown directive: .frob"), log.npos) << log;
  EXPECT_EQ(load(ptx("", "", ".shared .align 4 .b8 big[50000];")), CUDA_ERROR_INVALID_PTX);
}

TEST_F(Driver, Functions) {
  OK(load(ptx("", ".maxntid 64, 2, 1", ".extern .shared .align 16 .b8 dyn[];")));
  CUfunction none;
  EXPECT_EQ(cuModuleGetFunction(&none, module, "frob"), CUDA_ERROR_NOT_FOUND);
  int value;
  OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
  EXPECT_EQ(value, 128);
  OK(launch(a, data, 1, 128));
  EXPECT_EQ(launch(a, data, 1, 160), CUDA_ERROR_INVALID_VALUE) << "above .maxntid";
  EXPECT_EQ(launch(a, data, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(a, data, 1, 32, 16), CUDA_ERROR_INVALID_VALUE) << "it has no dynamic memory";
  OK(load(ptx("", ".reqntid 64")));
  EXPECT_EQ(launch(a, data, 1, 32), CUDA_ERROR_INVALID_VALUE);
  OK(launch(a, data, 1, 64));
  CUfunction old = function;
  OK(cuModuleUnload(module));
  function = old;
  EXPECT_EQ(launch(a, data, 1, 64), CUDA_ERROR_INVALID_HANDLE);
  OK(cuStreamSynchronize(a));
}

TEST_F(Driver, DynamicSharedMemory) {
  // The last word of dynamic memory, after 16 bytes of static.
  std::string text = ptx("mov.b64 %rd4, dyn;\nadd.s64 %rd4, %rd4, %rd3;\n"
                         "st.shared.b32 [%rd4], %r1;\nbar.sync 0;\n"
                         "ld.shared.b32 %r3, [%rd4];\nst.global.b32 [%rd2], %r3;",
                         "", ".shared .align 16 .b8 st[16];\n.extern .shared .align 16 .b8 dyn[];");
  OK(load(text));
  OK(launch(a, data, 1, 32, 128));
  EXPECT_EQ(launch(a, data, 1, 32, 49152), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448),
            CUDA_ERROR_INVALID_VALUE);
  OK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000));
  OK(launch(a, data, 1, 32, 60000));
  OK(cuStreamSynchronize(a));
  EXPECT_EQ(read(data + 124), 31);
  OK(launch(a, data, 1, 32, 124));
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_ERROR_ILLEGAL_ADDRESS);
}

/// Not when it is launched, but in the wait for it, and then in every call.
TEST_F(Driver, LaunchThatFails) {
  start({{"STANDIN_FAULT", "1"}});
  OK(load(ptx("st.global.b32 [%rd2], %r1;")));
  OK(launch(a, data));
  OK(cuStreamSynchronize(a));
  OK(launch(a, data));
  std::string text = said([&] { EXPECT_EQ(cuStreamSynchronize(a), CUDA_ERROR_ILLEGAL_ADDRESS); });
  EXPECT_NE(text.find("STANDIN_FAULT: kernel 'k' fails"), text.npos) << text;
  EXPECT_EQ(launch(a, data), CUDA_ERROR_ILLEGAL_ADDRESS);
  standin_reset();
  setenv("STANDIN_FAULT", "all", 1);
  EXPECT_EQ(cuInit(0), CUDA_ERROR_INVALID_VALUE);
}

//===----------------------------------------------------------------------===//
// The log
//===----------------------------------------------------------------------===//

TEST_F(Driver, Log) {
  std::string path = testing::TempDir() + "standin-log-" + std::to_string(getpid());
  start({{"STANDIN_LOG", path}, {"STANDIN_TOUCH", "1"}});
  // Threads 0 to 31 of 2 blocks read words 1 to 32 and write 64 to 95.
  OK(load(ptx("ld.global.b32 %r3, [%rd2+4];\nst.global.b32 [%rd2+256], %r3;")));
  OK(launch(a, data, 2));
  OK(cuStreamSynchronize(a));
  EXPECT_EQ(cuStreamSynchronize(reinterpret_cast<CUstream>(1)), CUDA_ERROR_INVALID_HANDLE);
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  unlink(path.c_str());
  char launch[200], touch[200], hex[40];
  snprintf(hex, sizeof hex, "%llx", data);
  snprintf(launch, sizeof launch, "kernel=k grid=2,1,1 block=32,1,1 shared=0 n=");
  snprintf(touch, sizeof touch, " r=%llx-%llx w=%llx-%llx\n", data + 4, data + 132, data + 256,
           data + 384);
  EXPECT_NE(text.str().find(" alloc p=" + std::string(hex) + " bytes=4096\n"), std::string::npos);
  EXPECT_NE(text.str().find(launch), std::string::npos) << text.str();
  EXPECT_NE(text.str().find(" args=" + std::string(hex) + "\n"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find(touch), std::string::npos) << text.str() << touch;
  EXPECT_NE(text.str().find("streamsync -> CUDA_ERROR_INVALID_HANDLE\n"), std::string::npos);
}

/// Names and values of the toolkit, where there is one.
TEST_F(Driver, ValuesAreThoseOfTheToolkit) {
  std::ifstream file("/usr/local/cuda/include/cuda.h");
  if (!file)
    GTEST_SKIP() << "no toolkit";
  std::stringstream stream;
  stream << file.rdbuf();
  std::string text = stream.str();
  auto value = [&](const std::string &name) {
    for (size_t at = 0; (at = text.find(name, at)) != text.npos; at += name.size()) {
      size_t p = text.find_first_not_of(' ', at + name.size());
      if (text[p] == '=' && !isalnum(text[at - 1]) && text[at - 1] != '_')
        return int(std::stol(text.substr(p + 1), nullptr, 0));
    }
    return -1;
  };
#define TPLAN_RESULT(name, number) EXPECT_EQ(value(#name), number) << #name;
#include "test/standin/driver/results.def"
#define SAME(name) EXPECT_EQ(value(#name), int(name)) << #name
  SAME(CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
  SAME(CU_JIT_ERROR_LOG_BUFFER);
  SAME(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  SAME(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  SAME(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  SAME(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  SAME(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  SAME(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  SAME(CU_MEMORYTYPE_DEVICE);
  SAME(CU_POINTER_ATTRIBUTE_RANGE_SIZE);
  SAME(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
  SAME(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  SAME(CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  SAME(CU_STREAM_NON_BLOCKING);
  SAME(CU_EVENT_DISABLE_TIMING);
}
} // namespace
