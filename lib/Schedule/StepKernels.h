//===- StepKernels.h - kernels between the functions of a step --------------===//
//
// `form-program` launches them, step-kernels makes them.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SCHEDULE_STEPKERNELS_H
#define TPLAN_SCHEDULE_STEPKERNELS_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace tplan::schedule {

/// (count where the loss has one, its scale where that moves; f64) -> the cotangent of a loss.
inline std::string cotangentKernel(llvm::StringRef loss) { return "tplan.cot_loss." + loss.str(); }
/// (squared norm of each stage) -> squared norm, norm; with a scaled loss as step-kernels
/// describes.
inline constexpr llvm::StringLiteral kNormKernel = "tplan.norm";

} // namespace tplan::schedule

#endif // TPLAN_SCHEDULE_STEPKERNELS_H
