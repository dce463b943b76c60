//===- planning-driver.cpp - a driver without a GPU, in front of cuDNN --------------===//
//
// cuDNN plans for a GPU that is described to it, on a machine that has none, but hands the code
// that it compiles to a driver. This one takes any code, and runs none. It has the name of the real
// one, so that a library that looks for that finds this one.
//
//===----------------------------------------------------------------------===//

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
constexpr int noDevice = 100; // CUDA_ERROR_NO_DEVICE
char object;                  // what stands for a library and a kernel
} // namespace

EXPORT int cuLibraryLoadData(void **library, const void *, void *, void *, unsigned, void *, void *,
                             unsigned) {
  *library = &object;
  return 0;
}
EXPORT int cuLibraryGetKernel(void **kernel, void *, const char *) {
  *kernel = &object;
  return 0;
}
EXPORT int cuKernelGetFunction(void **function, void *) {
  *function = &object;
  return 0;
}
EXPORT int cuGetErrorString(int, const char **text) {
  *text = "no device";
  return 0;
}

// Done, and nothing is.
#define DONE(NAME)                                                                                 \
  EXPORT int NAME() { return 0; }
DONE(cuLibraryUnload)
DONE(cuKernelSetAttribute)
DONE(cuFuncSetAttribute)

// All else that cuDNN looks for needs a device.
#define REFUSED(NAME)                                                                              \
  EXPORT int NAME() { return noDevice; }
REFUSED(cuInit)
REFUSED(cuDriverGetVersion)
REFUSED(cuDeviceGetCount)
REFUSED(cuDeviceGet)
REFUSED(cuGetErrorName)
REFUSED(cuCtxGetCurrent)
REFUSED(cuCtxGetLimit)
REFUSED(cuCtxPopCurrent)
REFUSED(cuCtxPushCurrent)
REFUSED(cuStreamGetCtx)
REFUSED(cuLinkCreate)
REFUSED(cuLinkAddData)
REFUSED(cuLinkComplete)
REFUSED(cuLinkDestroy)
REFUSED(cuLaunchKernel)
REFUSED(cuLaunchCooperativeKernel)
REFUSED(cuLaunchKernelEx)
REFUSED(cuLibraryLoadFromFile)
REFUSED(cuKernelGetAttribute)
REFUSED(cuOccupancyMaxPotentialClusterSize)
REFUSED(cuModuleLoadData)
REFUSED(cuModuleLoadDataEx)
REFUSED(cuModuleUnload)
REFUSED(cuModuleGetFunction)
REFUSED(cuFuncGetAttribute)
REFUSED(cuTensorMapEncodeIm2col)
REFUSED(cuTensorMapEncodeTiled)
