//===- Edit.h - changes of the source that a diagnostic proposes -----------===//
//
// A diagnostic carries them as metadata, so that any phase can add some and whoever prints it
// decides. They are proposals: lib/Driver/Repair.cpp tries them before a user sees one.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PARSE_EDIT_H
#define TPLAN_PARSE_EDIT_H

#include <cstddef>
#include <string>
#include <vector>

namespace mlir {
class Diagnostic;
class MLIRContext;
} // namespace mlir

namespace tplan {

/// The bytes [begin, end) of a source file become `text`.
struct Edit {
  std::string file;
  size_t begin, end;
  std::string text;
};
/// Edits that belong together and do not overlap.
struct Fix {
  std::vector<Edit> edits;
  /// One of many that might be meant: of use only if the plan then compiles.
  bool guess = false;
};

/// Adds one way out; several are alternatives, the likeliest first.
void addFix(mlir::MLIRContext &context, mlir::Diagnostic &diagnostic, const Fix &fix);
std::vector<Fix> fixesOf(mlir::Diagnostic &diagnostic);

} // namespace tplan

#endif // TPLAN_PARSE_EDIT_H
