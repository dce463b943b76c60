//===- first-gpu.h - the first GPU, for programs that no plan is compiled to ===//
#ifndef TPLAN_TEST_GPU_FIRST_GPU_H
#define TPLAN_TEST_GPU_FIRST_GPU_H

#include "runtime/libraries/cuda_driver.h"

/// Loads the driver, makes the GPU's context the thread's, and a stream in it. Both stay until the
/// process ends.
inline tplan::runtime::Status openFirstGpu(const tplan::runtime::CudaDriver *&driver,
                                           tplan::runtime::cuda::StreamHandle *&stream) {
  using namespace tplan::runtime;
  TP_TRY(loadCuda(driver));
  const CudaDriver &cu = *driver;
  cuda::Device gpu;
  cuda::Context *context;
  TP_CUDA(DeviceGet(&gpu, 0));
  TP_CUDA(PrimaryCtxRetain(&context, gpu));
  TP_CUDA(CtxSetCurrent(context));
  TP_CUDA(StreamCreate(&stream, cuda::streamNonBlocking, 0));
  return {};
}

#endif // TPLAN_TEST_GPU_FIRST_GPU_H
