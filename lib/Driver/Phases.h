//===- Phases.h - the table of phases, as data ----------------------------===//
//
// What Phases.def says, for code: names, passes in order, and the check that
// runs after each phase.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DRIVER_PHASES_H
#define TPLAN_DRIVER_PHASES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/Pass.h"
#include <optional>

namespace tplan {

enum class Phase {
#define PHASE(NAME, IR, HAPPENS, AFTERWARDS) NAME,
#include "lib/Driver/Phases.def"
};

struct PhaseInfo {
  Phase phase;
  llvm::StringRef name, ir, happens, afterwards;
};

struct PassInfo {
  Phase phase;
  std::unique_ptr<mlir::Pass> (*create)();
  llvm::StringRef flag, summary;
  enum When { always, cpu, gpu, asked } when = always; // cpu, gpu: for such a target
};

llvm::ArrayRef<PhaseInfo> phases();
llvm::ArrayRef<PassInfo> passes();

const PhaseInfo &info(Phase phase);
std::optional<Phase> findPhase(llvm::StringRef name);

/// "parse, model, ...", for errors and help.
std::string phaseNames();

/// The table as text: each phase with its passes. For --print-phases.
void printPhases(llvm::raw_ostream &os);

/// Every dialect that a module may hold in any phase, with what LLVM needs to
/// translate it.
const mlir::DialectRegistry &dialects();

/// All passes of the table, for command lines that name passes.
void registerPasses();

/// The verifier of a phase: the module is valid and holds nothing that this or
/// an earlier phase must have removed. Emits an error at the first offence.
mlir::LogicalResult verifyAfter(Phase phase, mlir::ModuleOp module);

} // namespace tplan

#endif // TPLAN_DRIVER_PHASES_H
