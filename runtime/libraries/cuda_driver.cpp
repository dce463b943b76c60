//===- cuda_driver.cpp - NVIDIA's driver, loaded at run time ----------------===//

#include "runtime/libraries/cuda_driver.h"

#include "runtime/libraries/library.h"
#include "runtime/support/environment.h"

#include <string>

#include <dlfcn.h>

using namespace tplan::runtime;

namespace {

/// The oldest driver that has all functions above, and that cuDNN 9 runs on.
constexpr int oldestVersion = 12000;

Status find(CudaDriver &driver, void *library, const char *name) {
#define FIND(NAME, SYMBOL, ARGUMENTS)                                                              \
  driver.NAME = (decltype(driver.NAME))dlsym(library, #SYMBOL);                                    \
  if (!driver.NAME)                                                                                \
    return errorf("the NVIDIA driver in '%s' is too old: it has no " #SYMBOL, name);
  TP_CUDA_FUNCTIONS(FIND)
#undef FIND
  return {};
}

Status load(CudaDriver &driver) {
  const char *given = readVariable("TPLAN_CUDA");
  const char *name = given && *given ? given : "libcuda.so.1";
  void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    return errorf("there is no NVIDIA driver on this machine, so no GPU can be used; run with "
                  "--device=cpu a binary that was compiled for one: %s",
                  dlerror());
  // Asked for the version first, because an old driver lacks functions that came later.
  auto getVersion = (cuda::Result (*)(int *))dlsym(library, "cuDriverGetVersion");
  if (!getVersion || getVersion(&driver.version) != cuda::success)
    return errorf("'%s' is no driver of NVIDIA's: it tells no version", name);
  if (driver.version < oldestVersion)
    return errorf("the NVIDIA driver is for CUDA %s, and this binary needs one for CUDA %s or "
                  "later: install a newer driver",
                  cudaVersion(driver.version).c_str(), cudaVersion(oldestVersion).c_str());
  TP_TRY(find(driver, library, name));
  if (cuda::Result result = driver.Init(0); result == cuda::noDevice)
    return errorf("there is an NVIDIA driver but no GPU on this machine (CUDA_VISIBLE_DEVICES=%s)",
                  readVariable("CUDA_VISIBLE_DEVICES") ? readVariable("CUDA_VISIBLE_DEVICES") : "");
  else
    return driver.check(result, "cuInit");
}

} // namespace

namespace {
constexpr const char *ofKernel = "a kernel has failed, whose line --synchronous names";

/// Errors of work before the call that reports them, and what that work was.
struct LateErrors {
  cuda::Result first, last;
  const char *what;
};
constexpr LateErrors lateErrors[] = {
    {cuda::eccUncorrectable, cuda::eccUncorrectable,
     "memory of the GPU has lost bits, which no plan is to blame for: see nvidia-smi -q -d ECC"},
    {cuda::nvlinkUncorrectable, cuda::nvlinkUncorrectable,
     "a link between GPUs has failed, which no plan is to blame for: see nvidia-smi nvlink -e"},
    {cuda::illegalAddress, cuda::illegalAddress, ofKernel},
    {cuda::launchTimeout, cuda::launchTimeout, ofKernel},
    {cuda::assertFailed, cuda::assertFailed, ofKernel},
    {cuda::hardwareStackError, cuda::launchFailed, ofKernel},
    {cuda::tensorMemoryLeak, cuda::tensorMemoryLeak, ofKernel},
    {cuda::unknown, cuda::unknown,
     "what ran before has failed; of a kernel --synchronous names the line"},
};

const LateErrors *findLate(cuda::Result result) {
  for (const LateErrors &it : lateErrors)
    if (result >= it.first && result <= it.last)
      return &it;
  return nullptr;
}
} // namespace

bool CudaDriver::isLate(cuda::Result result) { return findLate(result); }

Status CudaDriver::check(cuda::Result result, std::string_view what) const {
  if (result == cuda::success)
    return {};
  const char *name = nullptr, *text = nullptr;
  GetErrorName(result, &name);
  GetErrorString(result, &text);
  // Nothing has run before the first call.
  const LateErrors *late = what == "cuInit" ? nullptr : findLate(result);
  return errorf("the NVIDIA driver refuses %s: %s (%s)%s%s", std::string(callee(what)).c_str(),
                text ? text : "unknown error", name ? name : std::to_string(result).c_str(),
                late ? "; " : "", late ? late->what : "");
}

Status CudaDriver::ofLibrary(Status status, cuda::EventHandle *event) const {
  if (status.ok())
    return status;
  cuda::Result result = EventQuery(event);
  return isLate(result) ? check(result, "cuEventQuery") : std::move(status);
}

Status tplan::runtime::loadCuda(const CudaDriver *&driver) {
  return loadOnce<CudaDriver, load>(driver);
}

int tplan::runtime::cudaOfDriver() {
  const CudaDriver *driver = nullptr;
  return loadCuda(driver).ok() ? driver->version : 0;
}
