//===- cuda.h - a GPU of NVIDIA's -------------------------------------------===//
#ifndef TPLAN_RUNTIME_DEVICE_CUDA_H
#define TPLAN_RUNTIME_DEVICE_CUDA_H

#include "runtime/device/cuda_options.h"
#include "runtime/device/device.h"

namespace tplan::runtime {

/// GPUs that the process sees. Errors: no driver, an old one, no GPU.
Status countGpus(int64_t &count);

/// The GPU of a rank, for the thread that calls.
Status openCuda(const CudaOptions &options, std::unique_ptr<Device> &device);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DEVICE_CUDA_H
