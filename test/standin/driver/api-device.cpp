//===- api-device.cpp - devices, contexts, errors -------------------------===//
#include "test/standin/driver/environment.h"
#include "test/standin/driver/log.h"
#include "test/standin/driver/stream.h"

#include <cstring>

using namespace standin;

namespace {
bool knownDevice(CUdevice device) { return device >= 0 && device < environment().devices; }

/// The most shared memory that a kernel may ask for in a block.
int mostShared() {
  int arch = environment().arch;
  return arch == 80 || arch == 87                  ? 166912
         : arch == 86 || arch == 89 || arch >= 120 ? 101376
         : arch >= 90                              ? 232448
                                                   : 65536;
}

CUresult checkInit() {
  if (insideHostFunction)
    return refuse(CUDA_ERROR_NOT_PERMITTED, "a host function calls the driver");
  System &s = standin::system();
  std::lock_guard<std::mutex> lock(s.mutex);
  return s.initialised ? CUDA_SUCCESS
                       : refuse(CUDA_ERROR_NOT_INITIALIZED, "cuInit has not been called");
}
} // namespace

int standin_most_shared() { return mostShared(); }

CUresult cuInit(unsigned flags) {
  if (flags)
    return CUDA_ERROR_INVALID_VALUE;
  System &s = standin::system();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (!s.initialised) {
    if (!readEnvironment())
      return CUDA_ERROR_INVALID_VALUE;
    openLog();
    s.random = environment().seed * 0x9E3779B97F4A7C15ull | 1;
    s.contexts.clear();
    for (int i = 0; i < environment().devices; ++i) {
      s.contexts.push_back(std::make_unique<Context>());
      s.contexts.back()->device = i;
    }
  }
  s.initialised = true;
  return environment().devices ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

void standin_reset() {
  System &s = standin::system();
  Lock lock(s.mutex);
  for (auto &context : s.contexts)
    awaitContext(lock, *context, false);
  for (auto &[handle, stream] : s.streams) {
    stream->destroyed = true;
    stream->wake.notify_one();
  }
  s.memory.forgetPeers();
  s.streams.clear(), s.events.clear(), s.graphs.clear(), s.execs.clear(), s.captures.clear();
  for (auto &context : s.contexts)
    context->error = CUDA_SUCCESS, context->retained = 0;
  s.initialised = false, s.launches = 0;
}

CUresult cuDriverGetVersion(int *version) {
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  System &s = standin::system(); // it may be called before cuInit
  std::lock_guard<std::mutex> lock(s.mutex);
  if (!s.initialised && !readEnvironment())
    return CUDA_ERROR_INVALID_VALUE;
  *version = environment().driver;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **text) {
  if (!text)
    return CUDA_ERROR_INVALID_VALUE;
  *text = nameOf(error);
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  if (!text)
    return CUDA_ERROR_INVALID_VALUE;
  switch (error) {
  case CUDA_SUCCESS:
    *text = "no error";
    break;
  case CUDA_ERROR_INVALID_VALUE:
    *text = "invalid argument";
    break;
  case CUDA_ERROR_OUT_OF_MEMORY:
    *text = "out of memory";
    break;
  case CUDA_ERROR_NO_DEVICE:
    *text = "no CUDA-capable device is detected";
    break;
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
    *text = "no kernel image is available for execution on the device";
    break;
  case CUDA_ERROR_INVALID_PTX:
    *text = "a PTX JIT compilation failed";
    break;
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    *text = "the provided PTX was compiled with an unsupported toolchain.";
    break;
  case CUDA_ERROR_NOT_READY:
    *text = "device not ready";
    break;
  case CUDA_ERROR_ILLEGAL_ADDRESS:
    *text = "an illegal memory access was encountered";
    break;
  case CUDA_ERROR_MISALIGNED_ADDRESS:
    *text = "misaligned address";
    break;
  case CUDA_ERROR_LAUNCH_FAILED:
    *text = "unspecified launch failure";
    break;
  default:
    *text = nameOf(error);
    break;
  }
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetCount(int *count) {
  if (CUresult r = checkInit())
    return r;
  if (!count)
    return CUDA_ERROR_INVALID_VALUE;
  *count = environment().devices;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  if (CUresult r = checkInit())
    return r;
  if (!device)
    return CUDA_ERROR_INVALID_VALUE;
  if (!knownDevice(ordinal))
    return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  if (CUresult r = checkInit())
    return r;
  if (!name || length < 1)
    return CUDA_ERROR_INVALID_VALUE;
  if (!knownDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  std::string suffix = environment().mixed ? " number " + std::to_string(device) : "";
  snprintf(name, length, "Stand-in sm_%d%s", environment().arch, suffix.c_str());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
  if (CUresult r = checkInit())
    return r;
  if (!uuid)
    return CUDA_ERROR_INVALID_VALUE;
  if (!knownDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  memcpy(uuid->bytes, "stand-in device", 16);
  uuid->bytes[15] = char(device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device) {
  if (CUresult r = checkInit())
    return r;
  if (!id || length < 1)
    return CUDA_ERROR_INVALID_VALUE;
  if (!knownDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  snprintf(id, length, "0000:%02x:00.0", device + 1);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device) {
  if (CUresult r = checkInit())
    return r;
  if (!value)
    return CUDA_ERROR_INVALID_VALUE;
  if (!knownDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  int arch = environment().arch;
  switch (which) {
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = 1024;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    *value = 1024;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
    *value = 1024;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
    *value = 64;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
    *value = 2147483647;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    *value = 65535;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
    *value = 65535;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
    *value = 49152;
    break;
  case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
    *value = 65536;
    break;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
    *value = 32;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    *value = 65536;
    break;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
    *value = 1980000;
    break;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = 132;
    break;
  case CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT:
    *value = 0;
    break;
  case CU_DEVICE_ATTRIBUTE_INTEGRATED:
    *value = 0;
    break;
  case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    *value = 0;
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
    *value = 0;
    break;
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    *value = 1;
    break;
  case CU_DEVICE_ATTRIBUTE_ECC_ENABLED:
    *value = 1;
    break;
  case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
    *value = device + 1;
    break;
  case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
    *value = 0;
    break;
  case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
    *value = 0;
    break;
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
    *value = 2619000;
    break;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
    *value = 5120;
    break;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
    *value = 50 << 20;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
    *value = 2048;
    break;
  case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
    *value = 3;
    break;
  case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    *value = 1;
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = arch / 10;
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = arch % 10;
    break;
  case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    *value = 1;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
    *value = mostShared() + 1024;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
    *value = 65536;
    break;
  case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    *value = 0;
    break;
  case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    *value = 0;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    *value = mostShared();
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
    *value = 32;
    break;
  case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
    *value = 1024;
    break;
  case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    *value = 0;
    break;
  default:
    return refuse(CUDA_ERROR_INVALID_VALUE, "unknown attribute of a device: %d", int(which));
  }
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  if (CUresult r = checkInit())
    return r;
  if (!bytes)
    return CUDA_ERROR_INVALID_VALUE;
  if (!knownDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  *bytes = environment().memory;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  if (CUresult r = checkInit())
    return r;
  if (!context)
    return CUDA_ERROR_INVALID_VALUE;
  if (!knownDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  System &s = standin::system();
  std::lock_guard<std::mutex> lock(s.mutex);
  ++s.contexts[device]->retained;
  *context = reinterpret_cast<CUcontext>(s.contexts[device].get());
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  if (CUresult r = checkInit())
    return r;
  if (!knownDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  System &s = standin::system();
  Lock lock(s.mutex);
  Context &context = *s.contexts[device];
  if (!context.retained)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (context.retained == 1)
    awaitContext(lock, context, false);
  if (--context.retained == 0)
    context.error = CUDA_SUCCESS;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext handle) {
  if (CUresult r = checkInit())
    return r;
  System &s = standin::system();
  std::lock_guard<std::mutex> lock(s.mutex);
  Context *found = nullptr;
  for (auto &context : s.contexts)
    if (reinterpret_cast<CUcontext>(context.get()) == handle && context->retained)
      found = context.get();
  if (handle && !found)
    return refuse(CUDA_ERROR_INVALID_CONTEXT, "unknown context: %p", (void *)handle);
  currentContext = found;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  if (CUresult r = checkInit())
    return r;
  if (!context)
    return CUDA_ERROR_INVALID_VALUE;
  *context = reinterpret_cast<CUcontext>(currentContext);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device) {
  if (CUresult r = enter())
    return r;
  if (!device)
    return CUDA_ERROR_INVALID_VALUE;
  *device = currentContext->device;
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() {
  Line line("ctxsync");
  if (CUresult r = enter())
    return line.end(r);
  Lock lock(standin::system().mutex);
  if (CUresult r = checkUnsafe("cuCtxSynchronize"))
    return line.end(r);
  return line.end(awaitContext(lock, *currentContext, false));
}

CUresult cuProfilerStart() { return enter(); }
CUresult cuProfilerStop() { return enter(); }
