//===- Parse.h - .tplan source to a module in the tplan dialect ------------===//
//
// The first phase: text -> syntax tree -> names, sizes and selectors resolved
// -> `tplan` ops with the source location of each.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PARSE_PARSE_H
#define TPLAN_PARSE_PARSE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"
#include <optional>
#include <string>
#include <vector>

namespace tplan::parse {

/// Distinguishes a user's lines from those of installed models.
struct Origin {
  std::vector<std::string> libraries; // files, as locations name them
  std::optional<mlir::Location> line; // the user's line that names the model
};

struct ParseOptions {
  /// The plan to compile. Empty: the only plan, or where there is none a default
  /// (serial) plan of the only recipe.
  std::string plan;
  /// PATH=VALUE, each replacing one setting: "plan.microbatch=2", "model.L=4",
  /// "recipe.lr=1e-4", "data.S=128".
  std::vector<std::string> overrides;
  /// The same, from a program that tries settings: each takes the place of an earlier one of its
  /// path.
  std::vector<std::string> replacements{};
  /// Where imports are looked up after the importing file's own folder; one of
  /// them holds prelude.tplan.
  std::vector<std::string> modelDirs;
  /// The serial meaning: only microbatch and precision of the plan's lines count.
  bool serial = false;
  /// A selector whose weights are printed to `listOutput`, with shapes and bytes, one line for each
  /// group of equal weights. A selector that matches nothing is an error.
  std::string list;
  llvm::raw_ostream *listOutput = nullptr;
  /// Gets the real paths of all files that were read, the main one included.
  std::vector<std::string> *files = nullptr;
  /// For errors of later phases.
  Origin *origin = nullptr;
  /// Set where no file has a syntax error.
  bool *parsed = nullptr;
};

/// Parses the main buffer of `sources`; imported files become further buffers of
/// it, so that diagnostics can show them. Errors (several in one run) go to the
/// context's diagnostic engine; then the result is null. Loads its dialects.
mlir::OwningOpRef<mlir::ModuleOp> parseSource(mlir::MLIRContext &context, llvm::SourceMgr &sources,
                                              const ParseOptions &options);

/// The installed models beside the executable `program`, then those of the
/// source tree it was built in.
std::vector<std::string> defaultModelDirs(const char *program);

} // namespace tplan::parse

#endif // TPLAN_PARSE_PARSE_H
