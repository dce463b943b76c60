//===- cuda_driver.cpp - NVIDIA's driver, loaded at run time ----------------===//

#include "runtime/cuda_driver.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include <dlfcn.h>

using namespace tplan::runtime;

namespace {

/// The oldest driver that has all functions above, and that cuBLASLt 13 and cuDNN 9 run on.
constexpr int oldestVersion = 12000;

std::string versionText(int version) {
  return format("%d.%d", version / 1000, version % 1000 / 10);
}

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
  const char *given = getenv("TPLAN_CUDA");
  const char *name = given && *given ? given : "libcuda.so.1";
  void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    return errorf("there is no NVIDIA driver on this machine, so no GPU can be used; run with "
                  "--device=cpu a binary that was compiled for one: %s",
                  dlerror());
  // Asked first, for an old driver lacks what comes later.
  auto getVersion = (cuda::Result (*)(int *))dlsym(library, "cuDriverGetVersion");
  if (!getVersion || getVersion(&driver.version) != cuda::success)
    return errorf("'%s' is no driver of NVIDIA's: it tells no version", name);
  if (driver.version < oldestVersion)
    return errorf("the NVIDIA driver is for CUDA %s, and this binary needs one for CUDA %s or "
                  "later: install a newer driver",
                  versionText(driver.version).c_str(), versionText(oldestVersion).c_str());
  TP_TRY(find(driver, library, name));
  if (cuda::Result result = driver.Init(0); result == cuda::noDevice)
    return errorf("there is an NVIDIA driver but no GPU on this machine (CUDA_VISIBLE_DEVICES=%s)",
                  getenv("CUDA_VISIBLE_DEVICES") ? getenv("CUDA_VISIBLE_DEVICES") : "");
  else
    return driver.check(result, "cuInit");
}

} // namespace

Status CudaDriver::check(cuda::Result result, const char *what) const {
  if (result == cuda::success)
    return {};
  const char *name = nullptr, *text = nullptr;
  GetErrorName(result, &name);
  GetErrorString(result, &text);
  const char *end = strchr(what, '(');
  return errorf("the NVIDIA driver refuses %.*s: %s (%s)", end ? int(end - what) : 99, what,
                text ? text : "unknown error", name ? name : std::to_string(result).c_str());
}

/// Once a process: ranks that are threads share it.
Status tplan::runtime::loadCuda(const CudaDriver *&driver) {
  static std::mutex mutex;
  static CudaDriver loaded;
  static bool done = false;
  std::lock_guard lock(mutex);
  if (!done)
    TP_TRY(load(loaded));
  done = true;
  driver = &loaded;
  return {};
}
