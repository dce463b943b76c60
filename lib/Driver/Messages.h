//===- Messages.h - diagnostics as users read them -------------------------===//
//
// As text, like clang's, or one JSON object a diagnostic and line. Both show the edits that lead
// out, where Repair.cpp found some.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DRIVER_MESSAGES_H
#define TPLAN_DRIVER_MESSAGES_H

#include "lib/Driver/Driver.h"

namespace tplan {

/// Prints the messages of `result` with the fix of each, which may be empty.
void printMessages(Result &result, llvm::ArrayRef<Fix> fixes, llvm::raw_ostream &os);

/// The same for programs: {"severity", "message", "file", "line", "column", "notes", "edits"},
/// lines and columns from 1, and of an edit the place of the first byte and of the one after the
/// last.
void printMessagesAsJson(Result &result, llvm::ArrayRef<Fix> fixes, llvm::raw_ostream &os);

} // namespace tplan

#endif // TPLAN_DRIVER_MESSAGES_H
