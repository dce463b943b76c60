//===- cuda_options.h - how a rank uses its GPU ---------------------------===//
#ifndef TPLAN_RUNTIME_DEVICE_CUDA_OPTIONS_H
#define TPLAN_RUNTIME_DEVICE_CUDA_OPTIONS_H

#include <cstdint>

namespace tplan::runtime {

/// How a rank uses its GPU.
struct CudaOptions {
  int64_t ordinal = 0;      // of the GPU, among those that the process sees
  bool synchronous = false; // every call is waited for, so that one that fails is named
  bool times = false;       // calls are timed
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DEVICE_CUDA_OPTIONS_H
