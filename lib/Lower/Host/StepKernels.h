//===- Host/StepKernels.h - kernels between the functions of a step --------===//
//
// The pass step-kernels makes them, the host program launches them.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LOWER_HOST_STEPKERNELS_H
#define TPLAN_LOWER_HOST_STEPKERNELS_H

#include "dialects/nn/NN.h"
#include <string>

namespace tplan::lower {

/// (count where the loss has one, its scale where that moves; f64) -> the cotangent of a loss.
inline std::string cotangentKernel(llvm::StringRef loss) { return "tplan.cot_loss." + loss.str(); }
/// (squared norm) -> squared norm, norm; of a scaled loss step-kernels says more.
inline constexpr llvm::StringLiteral kNormKernel = "tplan.norm";

/// Losses of the chain with their weights.
void forEachLoss(nn::ChainOp train, llvm::function_ref<void(llvm::StringRef, double)> body);

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_STEPKERNELS_H
