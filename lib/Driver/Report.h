//===- Report.h - what a plan costs, read off the IR ----------------------===//
//
// Valid after `memory`: bytes by owner, work by category, tasks in order. Nothing here is
// estimated: the numbers are those of the ops that are lowered. Only for what libraries hold beside
// the arena are there measured bounds.
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DRIVER_REPORT_H
#define TPLAN_DRIVER_REPORT_H

#include "lib/Driver/StepReport.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace tplan {

/// Valid after `memory`. Errors, at the program: a chain that does not bind.
mlir::FailureOr<StepReport> getStepReport(mlir::ModuleOp module);

/// For people: the summary, and every table in plain text.
void printReport(const StepReport &report, llvm::raw_ostream &os);
/// For programs: the same numbers, whole (bytes, operations).
void printReportAsJson(const StepReport &report, llvm::raw_ostream &os);

} // namespace tplan

#endif // TPLAN_DRIVER_REPORT_H
