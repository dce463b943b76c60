//===- Driver.h - the compiler as a function ------------------------------===//
//
// compile(source, options) -> result. Re-entrant: no global state, and each
// call has an MLIRContext of its own, because a context never frees what it
// uniques; so memory stays flat over hundreds of calls in one process.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DRIVER_DRIVER_H
#define TPLAN_DRIVER_DRIVER_H

#include "lib/Driver/Phases.h"
#include "lib/Driver/Target.h"
#include "lib/Parse/Edit.h"
#include "lib/Parse/Parse.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/SourceMgr.h"
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tplan {

/// What a run ends in; the values are exit codes (70 is EX_SOFTWARE of
/// sysexits.h).
enum class Outcome { ok = 0, sourceError = 1, usageError = 2, internalError = 70 };

/// The main file as text. Imports are read from disk: they do not change
/// between the calls of a search.
struct Source {
  std::string name; // as diagnostics show it; its folder is where imports begin
  std::string text;
};

struct Options {
  parse::ParseOptions parse;
  Phase last = Phase::memory;
  Target target;
  /// Where diagnostics go.
  llvm::raw_ostream *errors = &llvm::errs();
  /// Diagnostics stay in the result, whose caller prints them (Messages.h).
  bool keepDiagnostics = false;
  /// Called on the pass manager of each pass: command-line flags of MLIR.
  std::function<mlir::LogicalResult(mlir::PassManager &)> configure;
  /// Sizes of dimensions by which collectives are chosen, where they are not the plan's sizes.
  std::map<std::string, int64_t> costSizes;
  /// Flags of passes that run only where they are asked for.
  std::vector<llvm::StringRef> asked;
  /// Called on the module after each phase, before the next: tests break it there.
  std::function<void(Phase, mlir::ModuleOp)> after;
};

struct PhaseTime {
  Phase phase;
  double seconds;
};

/// Owns all that the module refers to; members are destroyed from the last up.
struct Result {
  Outcome outcome = Outcome::internalError;
  std::unique_ptr<llvm::SourceMgr> sources;
  std::unique_ptr<mlir::MLIRContext> context;
  std::vector<mlir::Diagnostic> diagnostics; // where Options::keepDiagnostics asks for them
  bool parsed = false;                       // no file has a syntax error
  mlir::OwningOpRef<mlir::ModuleOp> module;  // after the last phase that ran
  std::string listing;                       // what `parse.list` prints
  std::vector<std::string> files;            // real paths of the files that were read
  llvm::SmallVector<char, 0> object;         // made by `emit`
  std::string ptx;                           // made by `emit` for a GPU: its kernels as text
  std::vector<PhaseTime> times;

  bool ok() const { return outcome == Outcome::ok; }
};

/// Runs the phases up to `options.last`, with the verifier of each that has passes after it.
/// A crash inside becomes Outcome::internalError where the process has called
/// llvm::CrashRecoveryContext::Enable().
Result compile(const Source &source, const Options &options);

} // namespace tplan

#endif // TPLAN_DRIVER_DRIVER_H
