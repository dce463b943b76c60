//===- library.h - libraries that are there or not --------------------------===//
#ifndef TPLAN_RUNTIME_LIBRARY_H
#define TPLAN_RUNTIME_LIBRARY_H

#include "runtime/status.h"

#include <span>
#include <string>

namespace tplan::runtime {

/// Where one of NVIDIA's libraries may be.
struct LibraryNames {
  const char *title;                  // "cuBLASLt", for messages
  const char *variable;               // of the environment, that names the file
  std::span<const char *const> files; // for the loader, the newest first
  const char *wheel;                  // folder below nvidia/ where Python packages bring it
};

/// Opens it: as the variable names it, as the loader finds it, or in a folder
/// nvidia/<wheel>/lib of TPLAN_NVIDIA. Errors: what was tried, and what to install.
Status openLibrary(const LibraryNames &names, void *&handle, std::string &file);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_LIBRARY_H
