//===- nccl_library.cpp - NCCL, loaded at run time --------------------------===//

#include "runtime/nccl_library.h"

#include <dlfcn.h>

using namespace tplan::runtime;

static constexpr const char *fileNames[] = {"libnccl.so.2"};

/// The first that splits communicators.
static constexpr int oldestVersion = 21801;

static std::string versionText(int version) {
  return format("%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

Status tplan::runtime::loadNccl(NcclLibrary &library, NamedFile named) {
  const LibraryNames names = {"NCCL", "TPLAN_NCCL", fileNames, "nccl"};
  void *handle = nullptr;
  std::string file;
  TP_TRY(openLibrary(names, handle, file, named));
  // Asked first, for an old one lacks what comes later.
  nccl::Result (*getVersion)(int *) = nullptr;
  TP_TRY(findFunction(names, handle, file, "ncclGetVersion", getVersion));
  if (getVersion(&library.version) != nccl::success)
    return errorf("'%s' is no NCCL: it tells no version", file.c_str());
  if (library.version < oldestVersion)
    return errorf("the NCCL in '%s' is %s, and this binary needs %s or later: install a newer one, "
                  "or name its file by --nccl-library",
                  file.c_str(), versionText(library.version).c_str(),
                  versionText(oldestVersion).c_str());
#define FIND(NAME, SYMBOL, ARGUMENTS)                                                              \
  TP_TRY(findFunction(names, handle, file, #SYMBOL, library.NAME));
  TP_NCCL_FUNCTIONS(FIND)
#undef FIND
  TP_TRY(findFunction(names, handle, file, "ncclGetErrorString", library.GetErrorString));
  TP_TRY(findFunction(names, handle, file, "ncclGetLastError", library.GetLastError));
  library.CommRegister = (decltype(library.CommRegister))dlsym(handle, "ncclCommRegister");
  library.CommDeregister = (decltype(library.CommDeregister))dlsym(handle, "ncclCommDeregister");
  return {};
}

Status NcclLibrary::error(nccl::Result result, std::string_view what) const {
  const char *last = GetLastError(nullptr);
  return errorf("NCCL refuses %s: %s (%d)%s%s", std::string(callee(what)).c_str(),
                GetErrorString(result), result, last && *last ? ": " : "", last ? last : "");
}
