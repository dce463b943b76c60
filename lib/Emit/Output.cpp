//===- Output.cpp - where a result is written --------------------------------===//
#include "lib/Emit/Output.h"
#include "lib/Emit/Temporary.h"
#include <filesystem>

using namespace llvm;
using namespace tplan;

Expected<emit::Destination> emit::findDestination(StringRef output) {
  if (output.empty() || output == "-")
    return Destination{"-", true};
  sys::fs::file_status status;
  std::error_code error = sys::fs::status(output, status);
  if (error && error != std::errc::no_such_file_or_directory)
    return createStringError(error, error.message());
  if (status.type() == sys::fs::file_type::directory_file)
    return createStringError("it is a folder: name a file in it");
  if (!sys::fs::exists(status)) {
    // A link may lead to a file that is yet to be; one that leads in a circle had another error.
    std::filesystem::path link(output.str());
    std::error_code none;
    std::filesystem::path target = std::filesystem::read_symlink(link, none);
    return none ? Destination{output.str(), false}
                : findDestination((link.parent_path() / target).string());
  }
  if (status.type() != sys::fs::file_type::regular_file)
    return Destination{output.str(), true};
  SmallString<128> real;
  if (std::error_code error = sys::fs::real_path(output, real))
    return createStringError(error, error.message());
  return Destination{real.str().str(), false};
}

Error emit::checkOutput(StringRef output, ArrayRef<std::string> inputs) {
  if (output.empty() || output == "-" || !sys::fs::is_regular_file(output))
    return Error::success();
  for (const std::string &input : inputs) {
    bool same = false;
    if (!sys::fs::equivalent(input == "-" ? "/dev/stdin" : input, output, same) && same)
      return createStringError("it is an input, which it would replace: name another file with -o");
  }
  return Error::success();
}

Error emit::writeInPlace(StringRef path, StringRef bytes) {
  auto put = [&](raw_fd_ostream &os) {
    os << bytes;
    os.flush();
    std::error_code error = os.error();
    os.clear_error();
    return error ? createStringError(error, error.message()) : Error::success();
  };
  if (path == "-")
    return put(outs());
  std::error_code error;
  raw_fd_ostream os(path, error);
  return error ? createStringError(error, error.message()) : put(os);
}

Error emit::writeOutput(StringRef output, StringRef bytes) {
  Expected<Destination> destination = findDestination(output);
  if (!destination)
    return destination.takeError();
  if (destination->inPlace)
    return writeInPlace(destination->path, bytes);
  Temporary file;
  if (Error error = file.create(destination->path + ".%%%%%%"))
    return error;
  if (Error error = file.write(bytes))
    return error;
  if (std::error_code error = file.renameTo(destination->path))
    return createStringError(error, error.message());
  return Error::success();
}
