//===- Link.h - a binary from an object -----------------------------------===//
#ifndef TPLAN_EMIT_LINK_H
#define TPLAN_EMIT_LINK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace tplan::emit {

/// The runtime library that belongs to an executable of ours: ../lib beside it.
/// `executable` is argv[0]. An error names the path where it should be.
llvm::Expected<std::string> findRuntime(const char *executable);

/// What a linker of C programs needs after an object of -c --embed, in order.
std::vector<std::string> linkFlags(llvm::StringRef runtime);

/// Links objects with the runtime into `output`, whole or not at all, with the
/// C++ compiler found on PATH. The same objects give the same bytes. Errors: no
/// compiler found (and what to install), what the linker said.
llvm::Error linkBinary(const std::vector<llvm::ArrayRef<char>> &objects, llvm::StringRef output,
                       llvm::StringRef runtime);

} // namespace tplan::emit

#endif // TPLAN_EMIT_LINK_H
