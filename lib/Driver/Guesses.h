//===- Guesses.h - what a slip of the fingers may have been ----------------===//
#ifndef TPLAN_DRIVER_GUESSES_H
#define TPLAN_DRIVER_GUESSES_H

#include "lib/Parse/Edit.h"
#include "llvm/ADT/StringRef.h"

namespace tplan {

/// Edits of `text` near the offset `at`, the likeliest first: a token left out, there twice or in
/// its neighbour's place, and the line as a whole. None is tried.
std::vector<Edit> guessEdits(llvm::StringRef file, llvm::StringRef text, size_t at);

} // namespace tplan

#endif // TPLAN_DRIVER_GUESSES_H
