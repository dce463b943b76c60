//===- Link.cpp - a binary from an object ---------------------------------===//
//
// The machine's own C++ compiler links: it alone knows where its libraries are.
// One decision: the binary is written beside its place and renamed, so that a
// failure leaves what was there.
//
//===----------------------------------------------------------------------===//
#include "lib/Emit/Link.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

using namespace llvm;
using namespace tplan;

/// In order of preference: the machine's choice first.
static constexpr StringLiteral kCompilers[] = {"c++", "g++", "clang++", "clang++-22"};

/// What the runtime needs beside itself.
static constexpr StringLiteral kLibraries[] = {"-ldnnl", "-lpthread", "-ldl", "-lm"};

namespace {
/// A file that goes when its scope ends.
struct Temporary {
  SmallString<128> path;
  ~Temporary() {
    if (!path.empty())
      sys::fs::remove(path);
  }
  Error create(const Twine &model) {
    if (std::error_code error = sys::fs::createUniqueFile(model, path)) {
      path.clear();
      return createStringError(error, "cannot write " + model.str() + ": " + error.message());
    }
    return Error::success();
  }
};
} // namespace

Expected<std::string> emit::findRuntime(const char *executable) {
  std::string self = sys::fs::getMainExecutable(executable, reinterpret_cast<void *>(&findRuntime));
  SmallString<128> path(sys::path::parent_path(sys::path::parent_path(self)));
  sys::path::append(path, "lib", "libtplan_runtime.a");
  if (!sys::fs::exists(path))
    return createStringError("the runtime library is not beside the compiler; build the target "
                             "tplan_runtime, or install it as " +
                             path);
  return path.str().str();
}

static Expected<std::string> findCompiler() {
  for (StringRef name : kCompilers)
    if (auto path = sys::findProgramByName(name))
      return *path;
  return createStringError("no C++ compiler to link with on PATH: install g++ (Debian: apt-get "
                           "install g++), or use -c for an object");
}

static Error writeObject(ArrayRef<char> object, StringRef path) {
  std::error_code error;
  raw_fd_ostream os(path, error);
  if (!error) {
    os.write(object.data(), object.size());
    os.close();
    error = os.error();
  }
  os.clear_error();
  return error ? createStringError(error, "cannot write " + path + ": " + error.message())
               : Error::success();
}

/// What the linker printed, without the end of line.
static std::string messageIn(StringRef path) {
  auto text = MemoryBuffer::getFile(path);
  return text ? (*text)->getBuffer().rtrim().str() : "";
}

Error emit::linkBinary(const std::vector<ArrayRef<char>> &objects, StringRef output,
                       StringRef runtime) {
  Expected<std::string> compiler = findCompiler();
  if (!compiler)
    return compiler.takeError();
  std::vector<Temporary> inputs(objects.size());
  Temporary binary, messages;
  for (auto [input, object] : zip(inputs, objects)) {
    if (Error error = input.create(output + ".%%%%%%.o"))
      return error;
    if (Error error = writeObject(object, input.path))
      return error;
  }
  if (Error error = binary.create(output + ".%%%%%%"))
    return error;
  if (Error error = messages.create(output + ".%%%%%%.log"))
    return error;

  // No build id, for it would hash what is the same anyway.
  SmallVector<StringRef> arguments = {*compiler, "-o", binary.path};
  for (const Temporary &input : inputs)
    arguments.push_back(input.path);
  arguments.append(
      {runtime, "-pie", "-Wl,--gc-sections", "-Wl,--build-id=none", "-Wl,--as-needed"});
  arguments.append(std::begin(kLibraries), std::end(kLibraries));
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(messages.path),
                                          StringRef(messages.path)};
  std::string failure;
  int status = sys::ExecuteAndWait(*compiler, arguments, std::nullopt, redirects,
                                   /*SecondsToWait=*/0, /*MemoryLimit=*/0, &failure);
  if (status != 0) {
    std::string said = messageIn(messages.path);
    return createStringError("cannot link " + output + " with " + *compiler + ": " +
                             (said.empty() ? failure : said));
  }
  if (std::error_code error = sys::fs::rename(binary.path, output))
    return createStringError(error, "cannot write " + output + ": " + error.message());
  binary.path.clear();
  return Error::success();
}
