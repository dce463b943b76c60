//===- Output.h - where a result is written --------------------------------===//
//
// A regular file is written beside its place and renamed, so that a failure leaves what was there;
// a link stays, and what it leads to is replaced. Anything else (a device, a pipe) is written in
// place, because renaming would put a file there.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_EMIT_OUTPUT_H
#define TPLAN_EMIT_OUTPUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace tplan::emit {

struct Destination {
  std::string path; // "-": standard output
  bool inPlace;
};

/// Where `output` leads. Errors: a folder, a link that leads in a circle.
llvm::Expected<Destination> findDestination(llvm::StringRef output);

/// An error where writing `output` would replace one of the files `inputs`, however it is
/// spelt and through whatever links; "-" among them is standard input.
llvm::Error checkOutput(llvm::StringRef output, llvm::ArrayRef<std::string> inputs);

/// Writes `bytes` to `output`, or to standard output where it is "" or "-". Errors: those of
/// the system, a full disk included.
llvm::Error writeOutput(llvm::StringRef output, llvm::StringRef bytes);

/// The same for the path of a destination in place.
llvm::Error writeInPlace(llvm::StringRef path, llvm::StringRef bytes);

} // namespace tplan::emit

#endif // TPLAN_EMIT_OUTPUT_H
