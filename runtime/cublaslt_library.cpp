//===- cublaslt_library.cpp - cuBLASLt, loaded at run time ------------------===//

#include "runtime/cublaslt_library.h"

#include "runtime/library.h"

#include <cstring>
#include <mutex>
#include <string>

#include <dlfcn.h>

using namespace tplan::runtime;

static constexpr const char *fileNames[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                            "libcublasLt.so"};

static Status load(CublasLt &library) {
  void *handle = nullptr;
  std::string file;
  TP_TRY(openLibrary({"cuBLASLt", "TPLAN_CUBLASLT", fileNames, "cublas"}, handle, file));
#define FIND(NAME, SYMBOL, ARGUMENTS)                                                              \
  library.NAME = (decltype(library.NAME))dlsym(handle, #SYMBOL);                                   \
  if (!library.NAME)                                                                               \
    return errorf("the cuBLASLt in '%s' has no " #SYMBOL, file.c_str());
  TP_CUBLASLT_FUNCTIONS(FIND)
#undef FIND
  library.GetVersion = (decltype(library.GetVersion))dlsym(handle, "cublasLtGetVersion");
  library.StatusString = (decltype(library.StatusString))dlsym(handle, "cublasLtGetStatusString");
  if (!library.GetVersion)
    return errorf("the cuBLASLt in '%s' has no cublasLtGetVersion", file.c_str());
  return {};
}

Status CublasLt::check(cublaslt::Result result, const char *what) const {
  if (result == 0)
    return {};
  const char *end = strchr(what, '(');
  return errorf("cuBLASLt refuses %.*s: %s (%d)", end ? int(end - what) : 99, what,
                StatusString ? StatusString(result) : "error", result);
}

Status tplan::runtime::loadCublasLt(const CublasLt *&library) {
  static std::mutex mutex;
  static CublasLt loaded;
  static bool done = false;
  std::lock_guard lock(mutex);
  if (!done)
    TP_TRY(load(loaded));
  done = true;
  library = &loaded;
  return {};
}
