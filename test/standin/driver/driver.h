//===- driver.h - what the stand-in shares with users of the driver -------===//
//
// The few types and values of NVIDIA's cuda.h that the stand-in implements, under their
// names there, so that tests read like programs for the real driver.
//
// One decision: the header of the toolkit is not included, because the build has to work without
// it. `check-values` of the tests compares the two where there is a toolkit.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_DRIVER_H
#define TPLAN_TEST_STANDIN_DRIVER_H

#include <cstddef>
#include <cstdint>

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphExec = struct CUgraphExec_st *;
using CUhostFn = void (*)(void *);
struct CUuuid {
  char bytes[16];
};

enum CUresult : int {
#define TPLAN_RESULT(name, value) name = value,
#include "test/standin/driver/results.def"
};

enum CUjit_option : int {
  CU_JIT_INFO_LOG_BUFFER = 3,
  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
  CU_JIT_NUM_OPTIONS = 35,
};

enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY = 9,
  CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT = 17,
  CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
  CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
  CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
  CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS = 31,
  CU_DEVICE_ATTRIBUTE_ECC_ENABLED = 32,
  CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
  CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
  CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
  CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
  CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED = 78,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
  CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
  CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
  CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK = 111,
  CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
};

enum CUfunction_attribute : int {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_PTX_VERSION = 5,
  CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
};

enum CUmemorytype : int { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2 };

enum CUpointer_attribute : int {
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
  CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
  CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
};

enum CUstreamCaptureMode : int {
  CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
  CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
  CU_STREAM_CAPTURE_MODE_RELAXED = 2,
};
enum CUstreamCaptureStatus : int {
  CU_STREAM_CAPTURE_STATUS_NONE = 0,
  CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
  CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2,
};

inline constexpr unsigned long long CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY = 8;
inline constexpr unsigned CU_STREAM_DEFAULT = 0, CU_STREAM_NON_BLOCKING = 1;
inline constexpr unsigned CU_EVENT_DEFAULT = 0, CU_EVENT_BLOCKING_SYNC = 1,
                          CU_EVENT_DISABLE_TIMING = 2, CU_EVENT_INTERPROCESS = 4;

struct CUDA_MEMCPY2D {
  size_t srcXInBytes, srcY;
  CUmemorytype srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  void *srcArray;
  size_t srcPitch;
  size_t dstXInBytes, dstY;
  CUmemorytype dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  void *dstArray;
  size_t dstPitch;
  size_t WidthInBytes, Height;
};

struct CUDA_MEMCPY3D_PEER {
  size_t srcXInBytes, srcY, srcZ, srcLOD;
  CUmemorytype srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  void *srcArray;
  CUcontext srcContext;
  size_t srcPitch, srcHeight;
  size_t dstXInBytes, dstY, dstZ, dstLOD;
  CUmemorytype dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  void *dstArray;
  CUcontext dstContext;
  size_t dstPitch, dstHeight;
  size_t WidthInBytes, Height, Depth;
};

#define TPLAN_DRIVER extern "C" __attribute__((visibility("default")))

TPLAN_DRIVER CUresult cuInit(unsigned flags);
TPLAN_DRIVER CUresult cuDriverGetVersion(int *version);
TPLAN_DRIVER CUresult cuGetErrorName(CUresult error, const char **text);
TPLAN_DRIVER CUresult cuGetErrorString(CUresult error, const char **text);
TPLAN_DRIVER CUresult cuDeviceGetCount(int *count);
TPLAN_DRIVER CUresult cuDeviceGet(CUdevice *device, int ordinal);
TPLAN_DRIVER CUresult cuDeviceGetName(char *name, int length, CUdevice device);
TPLAN_DRIVER CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device);
TPLAN_DRIVER CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device);
TPLAN_DRIVER CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device);
TPLAN_DRIVER CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device);
TPLAN_DRIVER CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
TPLAN_DRIVER CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
TPLAN_DRIVER CUresult cuCtxSetCurrent(CUcontext context);
TPLAN_DRIVER CUresult cuCtxGetCurrent(CUcontext *context);
TPLAN_DRIVER CUresult cuCtxGetDevice(CUdevice *device);
TPLAN_DRIVER CUresult cuCtxSynchronize();
TPLAN_DRIVER CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer);
TPLAN_DRIVER CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags);
TPLAN_DRIVER CUresult cuProfilerStart();
TPLAN_DRIVER CUresult cuProfilerStop();

TPLAN_DRIVER CUresult cuMemGetInfo_v2(size_t *free, size_t *total);
TPLAN_DRIVER CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes);
TPLAN_DRIVER CUresult cuMemFree_v2(CUdeviceptr pointer);
TPLAN_DRIVER CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags);
TPLAN_DRIVER CUresult cuMemFreeHost(void *pointer);
TPLAN_DRIVER CUresult cuPointerGetAttribute(void *data, CUpointer_attribute which,
                                            CUdeviceptr pointer);
TPLAN_DRIVER CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
TPLAN_DRIVER CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
TPLAN_DRIVER CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes,
                                           CUstream stream);
TPLAN_DRIVER CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes,
                                           CUstream stream);
TPLAN_DRIVER CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                           CUstream stream);
TPLAN_DRIVER CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream);
TPLAN_DRIVER CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext toContext, CUdeviceptr from,
                                        CUcontext fromContext, size_t bytes, CUstream stream);
TPLAN_DRIVER CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream);
TPLAN_DRIVER CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
                                      CUstream stream);
TPLAN_DRIVER CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count,
                                       CUstream stream);
TPLAN_DRIVER CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value,
                                        size_t width, size_t height, CUstream stream);

TPLAN_DRIVER CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                                         CUjit_option *options, void **values);
TPLAN_DRIVER CUresult cuModuleUnload(CUmodule module);
TPLAN_DRIVER CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
TPLAN_DRIVER CUresult cuFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction f);
TPLAN_DRIVER CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute which, int value);
TPLAN_DRIVER CUresult cuLaunchKernel(CUfunction f, unsigned gridX, unsigned gridY, unsigned gridZ,
                                     unsigned blockX, unsigned blockY, unsigned blockZ,
                                     unsigned shared, CUstream stream, void **params, void **extra);
TPLAN_DRIVER CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data);

TPLAN_DRIVER CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority);
TPLAN_DRIVER CUresult cuStreamDestroy_v2(CUstream stream);
TPLAN_DRIVER CUresult cuStreamSynchronize(CUstream stream);
TPLAN_DRIVER CUresult cuStreamQuery(CUstream stream);
TPLAN_DRIVER CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr to, unsigned value,
                                              unsigned flags);
TPLAN_DRIVER CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);
TPLAN_DRIVER CUresult cuEventCreate(CUevent *event, unsigned flags);
TPLAN_DRIVER CUresult cuEventDestroy_v2(CUevent event);
TPLAN_DRIVER CUresult cuEventRecord(CUevent event, CUstream stream);
TPLAN_DRIVER CUresult cuEventQuery(CUevent event);
TPLAN_DRIVER CUresult cuEventSynchronize(CUevent event);
TPLAN_DRIVER CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end);
TPLAN_DRIVER CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end);

TPLAN_DRIVER CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode);
TPLAN_DRIVER CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph);
TPLAN_DRIVER CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status);
TPLAN_DRIVER CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
                                                  unsigned long long flags);
TPLAN_DRIVER CUresult cuGraphUpload(CUgraphExec exec, CUstream stream);
TPLAN_DRIVER CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream);
TPLAN_DRIVER CUresult cuGraphExecDestroy(CUgraphExec exec);
TPLAN_DRIVER CUresult cuGraphDestroy(CUgraph graph);

/// The host address of device memory, or null. For other stand-ins, in cuLaunchHostFunc.
TPLAN_DRIVER void *standin_host(unsigned long long device_pointer);
/// As if the process began anew: errors are forgotten, the environment is read again by the
/// next cuInit. Memory and modules stay.
TPLAN_DRIVER void standin_reset();
/// Instructions times threads that kernels have executed in this process.
TPLAN_DRIVER unsigned long long standin_lane_instructions();

#endif // TPLAN_TEST_STANDIN_DRIVER_H
