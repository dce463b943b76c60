//===- mpi_library.cpp - libmpi, loaded at run time -------------------------===//

#include "runtime/libraries/mpi_library.h"

#include "runtime/support/environment.h"

#include <dlfcn.h>

using namespace tplan::runtime;

namespace {

/// Open MPI 4 and 5 have one binary interface.
constexpr const char *fileNames[] = {"libmpi.so.40", "libmpi.so"};

void *openLibrary(std::string &tried, std::string &name) {
  // Global: its plugins look for its symbols, and so do layers before it.
  constexpr int mode = RTLD_NOW | RTLD_GLOBAL;
  if (const char *given = readVariable("TPLAN_MPI"); given && *given) {
    name = given;
    void *handle = dlopen(given, mode);
    if (!handle)
      tried = dlerror();
    return handle;
  }
  for (const char *file : fileNames) {
    name = file;
    if (void *handle = dlopen(file, mode))
      return handle;
    tried += std::string(tried.empty() ? "" : "; ") + dlerror();
  }
  return nullptr;
}

} // namespace

Status MpiLibrary::check(int code, const char *function) const {
  if (code == 0)
    return {};
  char text[512] = ""; // MPI_MAX_ERROR_STRING is 256
  int length = 0;
  Error_string(code, text, &length);
  return errorf("MPI_%s failed: %s", function, text);
}

Status tplan::runtime::loadMpi(MpiLibrary &library) {
  std::string tried, name;
  void *handle = openLibrary(tried, name);
  if (!handle)
    return errorf("cannot load MPI: install Open MPI, or name its libmpi.so in TPLAN_MPI: %s",
                  tried.c_str());
  library.world = dlsym(handle, "ompi_mpi_comm_world");
  library.byte = dlsym(handle, "ompi_mpi_byte");
  library.errorsReturn = dlsym(handle, "ompi_mpi_errors_return");
  if (!library.world || !library.byte || !library.errorsReturn)
    return errorf("the MPI in '%s' is not Open MPI, the one that this runtime speaks; name the "
                  "libmpi.so of an Open MPI in TPLAN_MPI",
                  name.c_str());
#define FIND(NAME, ARGUMENTS)                                                                      \
  library.NAME = (decltype(library.NAME))dlsym(RTLD_DEFAULT, "MPI_" #NAME);                        \
  if (!library.NAME)                                                                               \
    return errorf("the Open MPI in '%s' has no MPI_" #NAME, name.c_str());
  TP_MPI_FUNCTIONS(FIND)
#undef FIND
  return {};
}
