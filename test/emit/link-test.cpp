//===- link-test.cpp - what can go wrong when a binary is linked ----------===//
#include "lib/Emit/Link.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cstdlib>
#include <gtest/gtest.h>

using namespace tplan;

namespace {

struct Link : testing::Test {
  llvm::SmallString<128> folder;
  std::string path = getenv("PATH") ? getenv("PATH") : "";

  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tplan-link", folder));
  }
  void TearDown() override {
    setenv("PATH", path.c_str(), 1);
    llvm::sys::fs::remove_directories(folder);
  }
  std::string in(llvm::StringRef name) const { return (folder + "/" + name).str(); }
  std::string link(llvm::StringRef object, llvm::StringRef output) {
    return llvm::toString(emit::linkBinary({llvm::ArrayRef(object.data(), object.size())}, output,
                                           in("libtplan_runtime.a")));
  }
  int files() const {
    std::error_code error;
    int n = 0;
    for (llvm::sys::fs::directory_iterator i(folder, error), e; i != e && !error;
         i.increment(error))
      ++n;
    return n;
  }
};

TEST_F(Link, NamesWhatToInstallWithoutACompiler) {
  setenv("PATH", folder.c_str(), 1);
  std::string error = link("", in("train"));
  EXPECT_NE(error.find("no C++ compiler to link with on PATH: install g++"), std::string::npos)
      << error;
  EXPECT_EQ(files(), 0);
}

TEST_F(Link, SaysWhatTheLinkerSaidAndLeavesNothing) {
  std::string error = link("no object", in("train"));
  EXPECT_NE(error.find("cannot link " + in("train")), std::string::npos) << error;
  EXPECT_NE(error.find("ld"), std::string::npos) << error;
  EXPECT_EQ(files(), 0);
}

TEST_F(Link, ALinkerThatFailsIsNotTheLast) {
  // One that is found first, and another error than that of the usual linker.
  std::error_code error;
  llvm::raw_fd_ostream script(in("ld.lld"), error);
  script << "#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9; do echo this one is broken, and says so at "
            "length >&2; done\nexit 1\n";
  script.close();
  llvm::sys::fs::setPermissions(in("ld.lld"), llvm::sys::fs::all_all);
  setenv("PATH", (folder + ":" + path).str().c_str(), 1);
  std::string said = link("no object", in("train"));
  EXPECT_EQ(said.find("this one is broken"), std::string::npos) << said;
  EXPECT_NE(said.find("cannot link " + in("train")), std::string::npos) << said;
  EXPECT_EQ(files(), 1);
}

TEST_F(Link, RefusesAPlaceThatCannotBeWritten) {
  std::string error = link("", in("nowhere/train"));
  EXPECT_NE(error.find("cannot write"), std::string::npos) << error;
}

TEST(Runtime, LiesBesideTheCompiler) {
  llvm::Expected<std::string> runtime = emit::findRuntime("link-test");
  ASSERT_TRUE(static_cast<bool>(runtime)) << llvm::toString(runtime.takeError());
  EXPECT_TRUE(llvm::StringRef(*runtime).ends_with("lib/libtplan_runtime.a")) << *runtime;
}

} // namespace
