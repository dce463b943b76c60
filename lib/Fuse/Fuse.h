//===- Fuse.h - the fuse phase: functions become calls with known bytes ---===//
#ifndef TPLAN_LIB_FUSE_H
#define TPLAN_LIB_FUSE_H

#include "mlir/Pass/Pass.h"

namespace tplan::fuse {
/// Beside attention on a GPU: that the library computes it, or why it does not.
inline constexpr llvm::StringLiteral kLibrary = "fuse.library",
                                     kGeneratedFor = "fuse.generated_for";

/// Which attention the library of a GPU computes.
std::unique_ptr<mlir::Pass> createChooseAttentionPass();
/// Contractions that are GEMMs, reductions along rows or columns.
std::unique_ptr<mlir::Pass> createPrepareFusionPass();
/// Biases that GEMMs add before they write.
std::unique_ptr<mlir::Pass> createFoldBiasesPass();
/// nn.layer -> rt.func over kernels and library calls.
std::unique_ptr<mlir::Pass> createFormKernelsPass();
/// Parts E compute the rows in use of a microbatch.
std::unique_ptr<mlir::Pass> createBoundEvaluationPass();
} // namespace tplan::fuse

#endif // TPLAN_LIB_FUSE_H
