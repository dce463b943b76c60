//===- library.cpp - libraries that are there or not ------------------------===//
//
// One decision: a machine that trains with PyTorch has NVIDIA's libraries in the folders of its
// Python packages, where no loader looks; TPLAN_NVIDIA names the folder that holds them.
//
//===----------------------------------------------------------------------===//

#include "runtime/libraries/library.h"

#include "runtime/support/environment.h"

#include <cstdlib>
#include <cstring>
#include <vector>

#include <dlfcn.h>

using namespace tplan::runtime;

/// The folder of CUDA 13, whose packages no longer have a folder each.
static constexpr const char *sharedWheel = "cu13";

std::string tplan::runtime::cudaVersion(int number) {
  return format("%d.%d", number / 1000, number % 1000 / 10);
}

/// Whether a driver for CUDA `cuda` runs a file libNAME.so.N, which is for CUDA N: a driver runs
/// files for its own CUDA and for older ones. A file without a number may be for any.
static bool isForCuda(const char *file, int cuda) {
  const char *number = strstr(file, ".so.");
  return !cuda || !number || atoi(number + strlen(".so.")) <= cuda / 1000;
}

Status tplan::runtime::openLibrary(const LibraryNames &names, void *&handle, std::string &file,
                                   NamedFile named) {
  std::string tried, later;
  auto open = [&](std::string name) {
    file = std::move(name);
    handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      tried += std::string(tried.empty() ? "" : "; ") + dlerror();
    return handle != nullptr;
  };
  if (const char *given = readVariable(names.variable); !named.file && given && *given)
    named = {given, names.variable};
  if (named.file) {
    if (open(named.file))
      return {};
    return errorf("cannot load %s as %s names it: %s", names.title, named.option, tried.c_str());
  }
  std::vector<const char *> files;
  for (const char *name : names.files) {
    if (!isForCuda(name, names.cuda))
      later += std::string(later.empty() ? "" : ", ") + name;
    else if (open(name))
      return {};
    else
      files.push_back(name);
  }
  if (const char *packages = readVariable("TPLAN_NVIDIA"); packages && *packages)
    for (const char *folder : {names.wheel, sharedWheel})
      for (const char *name : files)
        if (open(format("%s/%s/lib/%s", packages, folder, name)))
          return {};
  if (!later.empty())
    later = "; not tried, for the driver is for CUDA " + cudaVersion(names.cuda) + ": " + later;
  return errorf("cannot load %s: install it, name its file in %s, or the folder nvidia/ of a "
                "Python's packages in TPLAN_NVIDIA: %s%s",
                names.title, names.variable, tried.c_str(), later.c_str());
}

Status tplan::runtime::findFunction(const LibraryNames &names, void *handle,
                                    const std::string &file, const char *symbol, void *&address) {
  address = dlsym(handle, symbol);
  return address ? Status()
                 : errorf("the %s in '%s' has no %s: it is another library, or too old; name one "
                          "that has it",
                          names.title, file.c_str(), symbol);
}

std::string_view tplan::runtime::callee(std::string_view call) {
  return call.substr(0, call.find('('));
}
