//===- cublaslt_library.cpp - cuBLASLt, loaded at run time ------------------===//

#include "runtime/libraries/cublaslt_library.h"

#include "runtime/libraries/library.h"
#include "runtime/support/environment.h"

#include <cstdlib>
#include <string>

#include <dlfcn.h>

using namespace tplan::runtime;

static constexpr const char *fileNames[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                            "libcublasLt.so"};

static Status load(CublasLt &library) {
  const LibraryNames names = {"cuBLASLt", "TPLAN_CUBLASLT", fileNames, "cublas", cudaOfDriver()};
  void *handle = nullptr;
  std::string file;
  TP_TRY(openLibrary(names, handle, file));
#define FIND(NAME, SYMBOL, ARGUMENTS)                                                              \
  TP_TRY(findFunction(names, handle, file, #SYMBOL, library.NAME));
  TP_CUBLASLT_FUNCTIONS(FIND)
#undef FIND
  TP_TRY(findFunction(names, handle, file, "cublasLtGetVersion", library.GetVersion));
  library.StatusString = (decltype(library.StatusString))dlsym(handle, "cublasLtGetStatusString");
  return {};
}

Status CublasLt::check(cublaslt::Result result, std::string_view what) const {
  if (result == 0)
    return {};
  return errorf("cuBLASLt refuses %s: %s (%d)", std::string(callee(what)).c_str(),
                StatusString ? StatusString(result) : "error", result);
}

bool tplan::runtime::isTf32Forced() {
  const char *value = readVariable(tf32Override);
  return value && atoi(value) != 0;
}

Status tplan::runtime::loadCublasLt(const CublasLt *&library) {
  return loadOnce<CublasLt, load>(library);
}
