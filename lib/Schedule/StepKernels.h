//===- StepKernels.h - kernels between the functions of a step --------------===//
//
// `form-program` launches them, step-kernels makes them. What the norm computes for the next step,
// and for the metrics, stands here as a list: nothing else in this phase knows what it is.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SCHEDULE_STEPKERNELS_H
#define TPLAN_SCHEDULE_STEPKERNELS_H

#include "dialects/sched/Sched.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace tplan::schedule {

class ProgramValues;

/// Values of f64, beside norm and losses, with which these kernels compute.
struct StepValues {
  /// States of the step, which no layer has: the norm reads them, and writes them for the next
  /// step.
  llvm::SmallVector<sched::KeyAttr, 2> states;
  /// What the norm also makes, for other functions and for the metrics.
  llvm::SmallVector<sched::KeyAttr, 3> numbers;
  /// The state that cotangents are multiplied by; null where that is a constant.
  sched::KeyAttr factor;
};
/// Only a plan with a scaled loss has any.
StepValues stepValues(mlir::ModuleOp module);
/// Declares them in a program that computes a norm.
void declareStepValues(ProgramValues &values, const StepValues &step);

/// (count where the loss has one, the factor where there is one; f64) -> the cotangent of a loss.
inline std::string cotangentKernel(llvm::StringRef loss) { return "tplan.cot_loss." + loss.str(); }
/// (squared norm of each stage, states) -> squared norm, norm, numbers, states.
inline constexpr llvm::StringLiteral kNormKernel = "tplan.norm";

} // namespace tplan::schedule

#endif // TPLAN_SCHEDULE_STEPKERNELS_H
