//===- packages-test.cpp - libraries in the folders of a Python's packages ---===//

#include "helpers.h"
#include "runtime/libraries/library.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include <dlfcn.h>
#include <unistd.h>

using namespace tplan::runtime;

namespace {

/// Packages in which one library lies in one folder.
class Packages : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    Dl_info info;
    ASSERT_NE(dladdr((void *)(double (*)(double))std::cos, &info), 0);
    // Each test has names of its own, because the loader remembers the paths of what is loaded.
    std::string name = format("packages-%d-%s", (int)getpid(), GetParam());
    lib = std::filesystem::temp_directory_path() / name;
    std::filesystem::create_directories(lib / GetParam() / "lib");
    std::filesystem::create_symlink(info.dli_fname, lib / GetParam() / "lib" / files[0]);
    setenv("TPLAN_NVIDIA", lib.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("TPLAN_NVIDIA");
    std::filesystem::remove_all(lib);
  }
  static constexpr const char *files[] = {"libtplan-of-a-package.so.13"};
  const LibraryNames names = {"a library", "TPLAN_OF_A_PACKAGE", files, "own"};
  std::filesystem::path lib;
};

TEST_P(Packages, AreLookedThrough) {
  void *handle = nullptr;
  std::string file;
  bool known = std::string(GetParam()) != "other";
  Status status = openLibrary(names, handle, file);
  ASSERT_EQ(status.ok(), known) << status.message();
  if (known)
    EXPECT_EQ(file, lib / GetParam() / "lib" / files[0]);
  else
    EXPECT_NE(status.message().find("or the folder nvidia/ of a Python's packages in TPLAN_NVIDIA"),
              std::string::npos);
  if (handle)
    dlclose(handle);
}

TEST_P(Packages, AreOfACudaThatTheDriverRuns) {
  constexpr const char *ofSeveral[] = {files[0], "libtplan-of-a-package.so.12",
                                       "libtplan-of-a-package.so"};
  LibraryNames found = names;
  void *handle = nullptr;
  std::string file;
  found.files = ofSeveral;
  found.cuda = 12080;
  EXPECT_TRUE(helpers::failsWith(openLibrary(found, handle, file),
                                 {"package.so.12: cannot open", "package.so: cannot open",
                                  "; not tried, for the driver is for CUDA 12.8: "
                                  "libtplan-of-a-package.so.13"}));
  found.cuda = 13000;
  Status status = openLibrary(found, handle, file);
  EXPECT_EQ(status.ok(), std::string(GetParam()) != "other") << status.message();
  if (handle)
    dlclose(handle);
}

// A folder of its own; the one that packages of CUDA 13 share; one that is nobody's.
INSTANTIATE_TEST_SUITE_P(Folders, Packages, testing::Values("own", "cu13", "other"));

} // namespace
