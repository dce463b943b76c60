//===- cuda_driver.h - NVIDIA's driver, loaded at run time ------------------===//
//
// A binary starts on a machine without a GPU, so nothing is linked and no header of the toolkit is
// read: the functions, handles and numbers that are used stand here, as cuda.h of CUDA 12 and 13
// has them.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_LIBRARIES_CUDA_DRIVER_H
#define TPLAN_RUNTIME_LIBRARIES_CUDA_DRIVER_H

#include "runtime/support/status.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tplan::runtime {

namespace cuda {
using Result = int;
using Device = int;
using Pointer = unsigned long long; // CUdeviceptr
struct Context;
struct Module;
struct Function;
struct StreamHandle;
struct EventHandle;
struct Graph;
struct GraphExec;

/// CUDA_MEMCPY2D.
struct Copy2D {
  size_t srcXInBytes = 0, srcY = 0;
  unsigned srcMemoryType = 0;
  const void *srcHost = nullptr;
  Pointer srcDevice = 0;
  void *srcArray = nullptr;
  size_t srcPitch = 0;
  size_t dstXInBytes = 0, dstY = 0;
  unsigned dstMemoryType = 0;
  void *dstHost = nullptr;
  Pointer dstDevice = 0;
  void *dstArray = nullptr;
  size_t dstPitch = 0;
  size_t WidthInBytes = 0, Height = 0;
};

/// CUDA_MEMCPY3D_PEER.
struct Copy3DPeer {
  size_t srcXInBytes = 0, srcY = 0, srcZ = 0, srcLOD = 0;
  unsigned srcMemoryType = 0;
  const void *srcHost = nullptr;
  Pointer srcDevice = 0;
  void *srcArray = nullptr;
  Context *srcContext = nullptr;
  size_t srcPitch = 0, srcHeight = 0;
  size_t dstXInBytes = 0, dstY = 0, dstZ = 0, dstLOD = 0;
  unsigned dstMemoryType = 0;
  void *dstHost = nullptr;
  Pointer dstDevice = 0;
  void *dstArray = nullptr;
  Context *dstContext = nullptr;
  size_t dstPitch = 0, dstHeight = 0;
  size_t WidthInBytes = 0, Height = 0, Depth = 1;
};

enum : Result {
  success = 0,
  outOfMemory = 2,
  noDevice = 100,
  noBinary = 209,
  eccUncorrectable = 214,
  nvlinkUncorrectable = 220,
  notReady = 600,
  illegalAddress = 700,
  launchTimeout = 702,
  peerAccessEnabled = 704,
  assertFailed = 710,
  tooManyPeers = 711,
  hardwareStackError = 714,
  launchFailed = 719,
  tensorMemoryLeak = 721,
  unknown = 999
};
enum : unsigned {
  memoryTypeDevice = 2,
  streamNonBlocking = 1,
  eventDefault = 0,
  eventDisableTiming = 2,
  captureThreadLocal = 1,
  graphUseNodePriority = 8, // not that of the stream in which it is launched
  hostAllocPortable = 1
};
enum : int {
  attributeSharedPerBlock = 8,
  attributeMultiprocessors = 16,
  attributeMajor = 75,
  attributeMinor = 76,
  attributeStreamPriorities = 78
};
enum : int { jitInfoBuffer = 3, jitInfoBytes = 4, jitErrorBuffer = 5, jitErrorBytes = 6 };

/// A copy of `rows` rows of `bytes` bytes each, strides in bytes, in the memory of GPUs.
inline Copy2D copyOfRows(Pointer to, size_t toStride, Pointer from, size_t fromStride, size_t bytes,
                         size_t rows) {
  Copy2D copy;
  copy.srcMemoryType = copy.dstMemoryType = memoryTypeDevice;
  copy.srcDevice = from, copy.srcPitch = fromStride;
  copy.dstDevice = to, copy.dstPitch = toStride;
  copy.WidthInBytes = bytes, copy.Height = rows;
  return copy;
}
} // namespace cuda

struct CudaDriver {
#define TP_CUDA_FUNCTIONS(FUNCTION)                                                                \
  FUNCTION(Init, cuInit, (unsigned))                                                               \
  FUNCTION(DriverGetVersion, cuDriverGetVersion, (int *))                                          \
  FUNCTION(DeviceGetCount, cuDeviceGetCount, (int *))                                              \
  FUNCTION(DeviceGet, cuDeviceGet, (cuda::Device *, int))                                          \
  FUNCTION(DeviceGetName, cuDeviceGetName, (char *, int, cuda::Device))                            \
  FUNCTION(DeviceGetAttribute, cuDeviceGetAttribute, (int *, int, cuda::Device))                   \
  FUNCTION(DeviceTotalMem, cuDeviceTotalMem_v2, (size_t *, cuda::Device))                          \
  FUNCTION(PrimaryCtxRetain, cuDevicePrimaryCtxRetain, (cuda::Context **, cuda::Device))           \
  FUNCTION(PrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (cuda::Device))                        \
  FUNCTION(CtxSetCurrent, cuCtxSetCurrent, (cuda::Context *))                                      \
  FUNCTION(CtxSynchronize, cuCtxSynchronize, (void))                                               \
  FUNCTION(DeviceCanAccessPeer, cuDeviceCanAccessPeer, (int *, cuda::Device, cuda::Device))        \
  FUNCTION(CtxEnablePeerAccess, cuCtxEnablePeerAccess, (cuda::Context *, unsigned))                \
  FUNCTION(MemGetInfo, cuMemGetInfo_v2, (size_t *, size_t *))                                      \
  FUNCTION(MemAlloc, cuMemAlloc_v2, (cuda::Pointer *, size_t))                                     \
  FUNCTION(MemFree, cuMemFree_v2, (cuda::Pointer))                                                 \
  FUNCTION(MemHostAlloc, cuMemHostAlloc, (void **, size_t, unsigned))                              \
  FUNCTION(MemFreeHost, cuMemFreeHost, (void *))                                                   \
  FUNCTION(MemcpyHtoD, cuMemcpyHtoD_v2, (cuda::Pointer, const void *, size_t))                     \
  FUNCTION(MemcpyDtoH, cuMemcpyDtoH_v2, (void *, cuda::Pointer, size_t))                           \
  FUNCTION(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                                  \
           (cuda::Pointer, const void *, size_t, cuda::StreamHandle *))                            \
  FUNCTION(MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                                  \
           (cuda::Pointer, cuda::Pointer, size_t, cuda::StreamHandle *))                           \
  FUNCTION(Memcpy2DAsync, cuMemcpy2DAsync_v2, (const cuda::Copy2D *, cuda::StreamHandle *))        \
  FUNCTION(MemcpyPeerAsync, cuMemcpyPeerAsync,                                                     \
           (cuda::Pointer, cuda::Context *, cuda::Pointer, cuda::Context *, size_t,                \
            cuda::StreamHandle *))                                                                 \
  FUNCTION(Memcpy3DPeerAsync, cuMemcpy3DPeerAsync,                                                 \
           (const cuda::Copy3DPeer *, cuda::StreamHandle *))                                       \
  FUNCTION(MemsetD8Async, cuMemsetD8Async,                                                         \
           (cuda::Pointer, unsigned char, size_t, cuda::StreamHandle *))                           \
  FUNCTION(MemsetD2D8Async, cuMemsetD2D8Async,                                                     \
           (cuda::Pointer, size_t, unsigned char, size_t, size_t, cuda::StreamHandle *))           \
  FUNCTION(ModuleLoadDataEx, cuModuleLoadDataEx,                                                   \
           (cuda::Module **, const void *, unsigned, int *, void **))                              \
  FUNCTION(ModuleUnload, cuModuleUnload, (cuda::Module *))                                         \
  FUNCTION(ModuleGetFunction, cuModuleGetFunction,                                                 \
           (cuda::Function **, cuda::Module *, const char *))                                      \
  FUNCTION(LaunchKernel, cuLaunchKernel,                                                           \
           (cuda::Function *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,          \
            unsigned, cuda::StreamHandle *, void **, void **))                                     \
  FUNCTION(StreamCreate, cuStreamCreateWithPriority, (cuda::StreamHandle **, unsigned, int))       \
  FUNCTION(StreamDestroy, cuStreamDestroy_v2, (cuda::StreamHandle *))                              \
  FUNCTION(StreamSynchronize, cuStreamSynchronize, (cuda::StreamHandle *))                         \
  FUNCTION(StreamWaitEvent, cuStreamWaitEvent,                                                     \
           (cuda::StreamHandle *, cuda::EventHandle *, unsigned))                                  \
  FUNCTION(StreamWriteValue32, cuStreamWriteValue32_v2,                                            \
           (cuda::StreamHandle *, cuda::Pointer, unsigned, unsigned))                              \
  FUNCTION(EventCreate, cuEventCreate, (cuda::EventHandle **, unsigned))                           \
  FUNCTION(EventDestroy, cuEventDestroy_v2, (cuda::EventHandle *))                                 \
  FUNCTION(EventRecord, cuEventRecord, (cuda::EventHandle *, cuda::StreamHandle *))                \
  FUNCTION(EventQuery, cuEventQuery, (cuda::EventHandle *))                                        \
  FUNCTION(EventSynchronize, cuEventSynchronize, (cuda::EventHandle *))                            \
  FUNCTION(EventElapsedTime, cuEventElapsedTime,                                                   \
           (float *, cuda::EventHandle *, cuda::EventHandle *))                                    \
  FUNCTION(StreamBeginCapture, cuStreamBeginCapture_v2, (cuda::StreamHandle *, int))               \
  FUNCTION(StreamEndCapture, cuStreamEndCapture, (cuda::StreamHandle *, cuda::Graph **))           \
  FUNCTION(GraphInstantiate, cuGraphInstantiateWithFlags,                                          \
           (cuda::GraphExec **, cuda::Graph *, unsigned long long))                                \
  FUNCTION(GraphUpload, cuGraphUpload, (cuda::GraphExec *, cuda::StreamHandle *))                  \
  FUNCTION(GraphLaunch, cuGraphLaunch, (cuda::GraphExec *, cuda::StreamHandle *))                  \
  FUNCTION(GraphExecDestroy, cuGraphExecDestroy, (cuda::GraphExec *))                              \
  FUNCTION(GraphDestroy, cuGraphDestroy, (cuda::Graph *))                                          \
  FUNCTION(GetErrorName, cuGetErrorName, (cuda::Result, const char **))                            \
  FUNCTION(GetErrorString, cuGetErrorString, (cuda::Result, const char **))
#define TP_CUDA_MEMBER(NAME, SYMBOL, ARGUMENTS) cuda::Result(*NAME) ARGUMENTS = nullptr;
  TP_CUDA_FUNCTIONS(TP_CUDA_MEMBER)
#undef TP_CUDA_MEMBER

  int version = 0; // 13000: CUDA 13.0

  /// The error of a call in the driver's words; success for 0.
  Status check(cuda::Result result, std::string_view what) const;
  /// Whether the error is one of earlier work, which the driver reports to the next call.
  static bool isLate(cuda::Result result);
  /// The error of a library, or that of a kernel which failed before it and breaks what the library
  /// does afterwards. `event` is any of the device's.
  Status ofLibrary(Status status, cuda::EventHandle *event) const;
};

/// The driver as TPLAN_CUDA names it, or as the loader finds it, with a device. Errors: there is
/// none, it is too old, there is no GPU.
Status loadCuda(const CudaDriver *&driver);

/// The CUDA that the driver of this machine is for, as CudaDriver::version; 0 without a driver.
int cudaOfDriver();

/// Leaves the enclosing function unless a call of the driver `cu` succeeds.
#define TP_CUDA(CALL) TP_TRY(cu.check(cu.CALL, "cu" #CALL))

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_LIBRARIES_CUDA_DRIVER_H
