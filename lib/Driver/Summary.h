//===- Summary.h - what people ask first of a plan ------------------------===//
//
// Parameters, tokens, FLOPs, bytes against the budget: the first screen of --report. The numbers
// are those of the report; --report=json has unrounded what is rounded here.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DRIVER_SUMMARY_H
#define TPLAN_DRIVER_SUMMARY_H

#include "lib/Driver/StepReport.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace tplan {

/// Valid after `memory`.
Summary summaryOf(mlir::ModuleOp module);

/// FLOPs of all ranks for one token of a step, including what is recomputed.
double flopsOfToken(const StepReport &report);
/// Bytes that a rank sends in a step.
int64_t sentInStep(const StepReport &report);

void printSummary(const StepReport &report, llvm::raw_ostream &os);

/// "28.0 GiB": of bytes, in units of 1024.
std::string binaryBytes(int64_t bytes);
/// "0.83 s", "12.1 ms"
std::string shortTime(double seconds);

} // namespace tplan

#endif // TPLAN_DRIVER_SUMMARY_H
