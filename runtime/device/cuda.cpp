//===- cuda.cpp - the GPUs of this machine --------------------------------===//

#include "runtime/device/cuda.h"

#include "runtime/device/cuda_device.h"

using namespace tplan::runtime;

Status tplan::runtime::countGpus(int64_t &count) {
  const CudaDriver *driver = nullptr;
  TP_TRY(loadCuda(driver));
  const CudaDriver &cu = *driver;
  int found = 0;
  TP_CUDA(DeviceGetCount(&found));
  count = found;
  return found ? Status() : errorf("there is an NVIDIA driver but no GPU on this machine");
}

Status tplan::runtime::openCuda(const CudaOptions &options, std::unique_ptr<Device> &device) {
  const CudaDriver *driver = nullptr;
  TP_TRY(loadCuda(driver));
  auto opened = std::make_unique<CudaDevice>(*driver, options);
  TP_TRY(opened->open());
  device = std::move(opened);
  return {};
}
