//===- Link.cpp - a binary from an object ---------------------------------===//
//
// The machine's own C++ compiler links: it alone knows where its libraries are.
// One decision: the binary is written beside its place and renamed, so that a
// failure leaves what was there.
//
//===----------------------------------------------------------------------===//
#include "lib/Emit/Link.h"
#include "lib/Emit/Output.h"
#include "lib/Emit/Temporary.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <optional>

using namespace llvm;
using namespace tplan;

/// In order of preference: the machine's choice first.
static constexpr StringLiteral kCompilers[] = {"c++", "g++", "clang++", "clang++-22"};

/// What the runtime needs beside itself, by spaces: CMakeLists.txt has the list.
static SmallVector<StringRef> libraries() {
  SmallVector<StringRef> flags;
  StringRef(TPLAN_LIBRARIES).split(flags, ' ');
  return flags;
}

std::vector<std::string> emit::linkFlags(StringRef runtime) {
  std::vector<std::string> flags = {runtime.str()};
  for (StringRef library : libraries())
    flags.push_back(library.str());
  flags.push_back("-lstdc++"); // which a C++ compiler adds by itself
  return flags;
}

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

/// The exit code of the compiler as a linker; what it says goes to `messages`. LLVM's linker takes
/// a third of the time of the usual one, which has the last word.
static int runLinker(SmallVector<StringRef> arguments, emit::Temporary &messages,
                     std::string &failure) {
  std::optional<StringRef> redirects[] = {StringRef(), messages.getPath(), messages.getPath()};
  auto run = [&] {
    return sys::ExecuteAndWait(arguments[0], arguments, std::nullopt, redirects,
                               /*SecondsToWait=*/0, /*MemoryLimit=*/0, &failure);
  };
  if (!sys::findProgramByName("ld.lld"))
    return run();
  arguments.push_back("-fuse-ld=lld");
  if (run() == 0)
    return 0;
  arguments.pop_back();
  if (Error error = messages.write("")) { // a program does not shorten what stands there
    failure = toString(std::move(error));
    return -1;
  }
  return run();
}

Error emit::linkBinary(const std::vector<ArrayRef<char>> &objects, StringRef output,
                       StringRef runtime) {
  Expected<std::string> compiler = findCompiler();
  if (!compiler)
    return compiler.takeError();
  Expected<Destination> destination = findDestination(output);
  if (!destination)
    return destination.takeError();
  // Nothing can be written beside a device.
  SmallString<128> beside(destination->path);
  if (destination->inPlace) {
    sys::path::system_temp_directory(/*erasedOnReboot=*/true, beside);
    sys::path::append(beside, "tplan");
  }
  std::vector<Temporary> inputs(objects.size());
  Temporary binary, messages;
  for (auto [input, object] : zip(inputs, objects)) {
    if (Error error = input.create(beside + ".%%%%%%.o"))
      return error;
    if (Error error = input.write(StringRef(object.data(), object.size())))
      return error;
  }
  if (Error error = binary.create(beside + ".%%%%%%"))
    return error;
  if (Error error = messages.create(beside + ".%%%%%%.log"))
    return error;

  // No build id: it would hash bytes that are the same in every link anyway.
  SmallVector<StringRef> arguments = {*compiler, "-o", binary.getPath()};
  for (const Temporary &input : inputs)
    arguments.push_back(input.getPath());
  arguments.append(
      {runtime, "-pie", "-Wl,--gc-sections", "-Wl,--build-id=none", "-Wl,--as-needed"});
  arguments.append(libraries());
  std::string failure;
  if (runLinker(arguments, messages, failure) != 0) {
    std::string said = messages.getText();
    return createStringError("cannot link " + output + " with " + *compiler + ": " +
                             (said.empty() ? failure : said));
  }
  if (destination->inPlace) {
    auto linked = MemoryBuffer::getFile(binary.getPath());
    return linked ? writeInPlace(destination->path, (*linked)->getBuffer())
                  : createStringError(linked.getError(), linked.getError().message());
  }
  if (std::error_code error = binary.renameTo(destination->path))
    return createStringError(error, "cannot write " + output + ": " + error.message());
  return Error::success();
}
