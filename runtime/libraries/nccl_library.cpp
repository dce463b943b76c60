//===- nccl_library.cpp - NCCL, loaded at run time --------------------------===//
//
// One decision: NCCL starts collectives in the order in which the host asks for them. A rank has
// several communicators, each in its own stream. If two of their kernels start in one order on this
// GPU and in the other order on another one, they may wait for each other where a GPU has no room
// for both. All ranks run one program, so the host's order is the same on all that share a group.
// Where ranks exchange messages, a plan has an order in which no rank waits for one that waits,
// even if each message were done before the next.
//
//===----------------------------------------------------------------------===//

#include "runtime/libraries/nccl_library.h"

#include <cstdlib>

#include <dlfcn.h>

using namespace tplan::runtime;

static constexpr const char *fileNames[] = {"libnccl.so.2"};

/// The first version that keeps to the host's order where it is asked to, and that does not share
/// registered memory where that is a risk.
static constexpr int oldestVersion = 22600;
static constexpr const char *hostsOrder = "NCCL_LAUNCH_ORDER_IMPLICIT";

static std::string versionText(int version) {
  return format("%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

Status tplan::runtime::loadNccl(NcclLibrary &library, NamedFile named) {
  const LibraryNames names = {"NCCL", "TPLAN_NCCL", fileNames, "nccl"};
  void *handle = nullptr;
  std::string file;
  setenv(hostsOrder, "1", /*overwrite=*/0);
  TP_TRY(openLibrary(names, handle, file, named));
  // Asked for the version first, because an old one lacks functions that came later.
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
  return {};
}

Status NcclLibrary::error(nccl::Result result, std::string_view what) const {
  const char *last = GetLastError(nullptr);
  return errorf("NCCL refuses %s: %s (%d)%s%s", std::string(callee(what)).c_str(),
                GetErrorString(result), result, last && *last ? ": " : "", last ? last : "");
}
