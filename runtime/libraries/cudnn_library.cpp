//===- cudnn_library.cpp - cuDNN, loaded at run time ------------------------===//
//
// Its engines compile for the GPU with NVRTC, which they ask the loader for by name. The loader may
// not find NVRTC where it found cuDNN, so NVRTC is loaded first, from where it is.
//===----------------------------------------------------------------------===//

#include "runtime/libraries/cudnn_library.h"

#include "runtime/libraries/library.h"
#include "runtime/support/environment.h"

#include <dlfcn.h>

using namespace tplan::runtime;

static constexpr const char *fileNames[] = {"libcudnn.so.9", "libcudnn.so"};

static constexpr const char *compilerNames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
/// Folders below nvidia/, by the age of the packages.
static constexpr const char *compilerFolders[] = {"cu13", "cuda_nvrtc"};

/// Loads each that is there, because a cuDNN asks for that of its own CUDA. Where there is none,
/// cuDNN reports it.
static void loadCompilers() {
  void *handle = nullptr;
  std::string file;
  for (const char *const &name : compilerNames)
    for (const char *folder : compilerFolders)
      if (openLibrary({"NVRTC", "TPLAN_NVRTC", {&name, 1}, folder, cudaOfDriver()}, handle, file)
              .ok())
        break;
}

static Status load(Cudnn &library) {
  loadCompilers();
  const LibraryNames names = {"cuDNN", "TPLAN_CUDNN", fileNames, "cudnn"};
  void *handle = nullptr;
  std::string file;
  TP_TRY(openLibrary(names, handle, file));
#define FIND(NAME, SYMBOL, ARGUMENTS)                                                              \
  TP_TRY(findFunction(names, handle, file, #SYMBOL, library.NAME));
  TP_CUDNN_FUNCTIONS(FIND)
#undef FIND
  TP_TRY(findFunction(names, handle, file, "cudnnGetVersion", library.GetVersion));
  TP_TRY(findFunction(names, handle, file, "cudnnGetErrorString", library.GetErrorString));
  library.GetLastErrorString =
      (decltype(library.GetLastErrorString))dlsym(handle, "cudnnGetLastErrorString");
  return {};
}

std::string Cudnn::version() const {
  size_t number = GetVersion();
  return format("%zu.%zu.%zu", number / 10000, number / 100 % 100, number % 100);
}

Status Cudnn::check(cudnn::Result result, std::string_view what) const {
  if (result == 0)
    return {};
  char reason[1024] = "";
  if (GetLastErrorString)
    GetLastErrorString(reason, sizeof reason);
  return errorf("cuDNN refuses %s: %s (%d)%s%s", std::string(callee(what)).c_str(),
                GetErrorString(result), result, *reason ? ": " : "", reason);
}

Status tplan::runtime::loadCudnn(const Cudnn *&library) { return loadOnce<Cudnn, load>(library); }
