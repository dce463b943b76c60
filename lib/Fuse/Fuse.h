//===- Fuse.h - the fuse phase: functions become calls with known bytes ---===//
#ifndef TPLAN_LIB_FUSE_H
#define TPLAN_LIB_FUSE_H

#include "mlir/Pass/Pass.h"

namespace tplan::fuse {
/// Attribute of attention on a GPU: that the library computes it, or why it does not.
inline constexpr llvm::StringLiteral kLibrary = "fuse.library",
                                     kGeneratedFor = "fuse.generated_for";

/// --choose-attention: which attention the library of a GPU computes.
std::unique_ptr<mlir::Pass> createChooseAttentionPass();
/// --prepare-fusion: contractions become GEMMs, reductions run along rows or columns.
std::unique_ptr<mlir::Pass> createPrepareFusionPass();
/// --fold-biases: GEMMs add biases before they write.
std::unique_ptr<mlir::Pass> createFoldBiasesPass();
/// --form-kernels: nn.layer becomes rt.func over kernels and library calls.
std::unique_ptr<mlir::Pass> createFormKernelsPass();
/// --bound-evaluation: parts `evaluate` compute only the rows in use of a microbatch.
std::unique_ptr<mlir::Pass> createBoundEvaluationPass();
} // namespace tplan::fuse

#endif // TPLAN_LIB_FUSE_H
