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

/// The file, line and column where a location is shown to a user; no file: nowhere.
struct Place {
  std::string file;
  unsigned line = 0, column = 0;
};
Place placeOf(mlir::Location location);

/// An error of a later phase that lies in an installed model is told at the user's line: of a note,
/// else of the call that led there, else the one that names the model.
void tellAtUsersLine(mlir::Diagnostic &diagnostic, const parse::Origin &origin);

/// Prints the messages of `result` with the fix of each, which may be empty.
void printMessages(Result &result, llvm::ArrayRef<Fix> fixes, llvm::raw_ostream &os);

/// The same for programs: {"severity", "message", "file", "line", "column", "notes", "edits"},
/// lines and columns from 1, and of an edit the place of the first byte and of the one after the
/// last.
void printMessagesAsJson(Result &result, llvm::ArrayRef<Fix> fixes, llvm::raw_ostream &os);

} // namespace tplan

#endif // TPLAN_DRIVER_MESSAGES_H
