//===- library.h - libraries that are there or not --------------------------===//
#ifndef TPLAN_RUNTIME_LIBRARIES_LIBRARY_H
#define TPLAN_RUNTIME_LIBRARIES_LIBRARY_H

#include "runtime/support/status.h"

#include <mutex>
#include <span>
#include <string>
#include <string_view>

namespace tplan::runtime {

/// Where one of NVIDIA's libraries may be.
struct LibraryNames {
  const char *title;                  // "cuBLASLt", for messages
  const char *variable;               // variable of the environment that names the file
  std::span<const char *const> files; // for the loader, the newest first
  const char *wheel; // folder below nvidia/ where Python packages bring it, or cu13
  int cuda = 0;      // 12080: only libNAME.so.N for CUDA 12 or older are tried; 0: all
};

/// The version with this number, as the driver and `cuda` above write it: 12080 is "12.8".
std::string cudaVersion(int number);

/// A file that an option of the command line names, and which has priority; or none.
struct NamedFile {
  const char *file = nullptr;
  const char *option = nullptr; // "--nccl-library", for messages
};

/// Opens it: as the option names it, as the variable does, as the loader finds it, or in a folder
/// <wheel>/lib or cu13/lib of TPLAN_NVIDIA. Errors: what was tried and what to install, and which
/// files were not tried because they are for a later CUDA than the driver's.
Status openLibrary(const LibraryNames &names, void *&handle, std::string &file,
                   NamedFile named = {});

/// The address of a function. Errors: the library in this file has none of this name.
Status findFunction(const LibraryNames &names, void *handle, const std::string &file,
                    const char *symbol, void *&address);

/// The same for a function of a known type.
template <typename Result, typename... Arguments>
Status findFunction(const LibraryNames &names, void *handle, const std::string &file,
                    const char *symbol, Result (*&function)(Arguments...)) {
  void *address = nullptr;
  TP_TRY(findFunction(names, handle, file, symbol, address));
  function = (Result (*)(Arguments...))address;
  return {};
}

/// The name of the function in the text of a call: cuMemAlloc in "cuMemAlloc(&arena, bytes)".
std::string_view callee(std::string_view call);

/// Loads a library at the first call; ranks that are threads of a process share it. If it could not
/// be loaded, the next call tries again.
template <typename Library, Status (*load)(Library &)> Status loadOnce(const Library *&library) {
  static std::mutex mutex;
  static Library loaded;
  static bool done = false;
  std::lock_guard lock(mutex);
  if (!done)
    TP_TRY(load(loaded));
  done = true;
  library = &loaded;
  return {};
}

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_LIBRARIES_LIBRARY_H
