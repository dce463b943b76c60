//===- cuda.h - a GPU of NVIDIA's -------------------------------------------===//
#ifndef TPLAN_RUNTIME_CUDA_H
#define TPLAN_RUNTIME_CUDA_H

#include "runtime/device.h"

namespace tplan::runtime {

/// How a rank uses its GPU.
struct CudaOptions {
  int64_t ordinal = 0;      // of the GPU, among those that the process sees
  bool synchronous = false; // every call is waited for, so that one that fails is named
  bool times = false;       // calls are timed
};

/// GPUs that the process sees. Errors: no driver, an old one, no GPU.
Status countGpus(int64_t &count);

/// The GPU of a rank, for the thread that calls.
Status openCuda(const CudaOptions &options, std::unique_ptr<Device> &device);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_CUDA_H
