//===- Lower.h - the passes of `lower`, in their order --------------------===//
#ifndef TPLAN_LOWER_LOWER_H
#define TPLAN_LOWER_LOWER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace tplan::sched {
class ProgramOp;
}

namespace tplan::lower {

#define GEN_PASS_DECL
#include "lib/Lower/Passes.h.inc"

/// Marks functions of the form (memory of inputs, outputs..., task) whose
/// arguments `vectors-to-llvm` turns into the runtime's (args, task).
inline constexpr llvm::StringLiteral kKernelAttr = "tplan.kernel";

/// Sums of a product that are kept in registers at once: rows x vectors of 64
/// bytes. A choice of speed alone: it changes no bit of a result.
struct RegisterBlock {
  int64_t rows = 0, vectors = 0;

  /// `registers`: vector registers of the machine, `bytes`: the size of each.
  static RegisterBlock of(int64_t registers, int64_t bytes);
};

/// The gpu.module of all kernels.
inline constexpr llvm::StringLiteral kGpuModule = "kernels";
/// The name of a kernel in PTX, whose names have no dots.
std::string ptxName(llvm::StringRef kernel);

/// lower-kernels, expand-random, expand-transcendentals, expand-narrow, vectors-to-llvm. On failure
/// the diagnostics are out.
mlir::LogicalResult lowerKernelsToLLVM(mlir::ModuleOp module);

/// form-sums, lower-attention-gpu, lower-kernels-gpu, sum-kernels-gpu, expand-random,
/// expand-transcendentals, expand-narrow, kernels-to-nvvm.
mlir::LogicalResult lowerKernelsToNVVM(mlir::ModuleOp module);

/// File and line of the .tplan source that a location comes from; ("", 0) where
/// it comes from none.
std::pair<llvm::StringRef, int64_t> sourceOf(mlir::Location loc);

} // namespace tplan::lower

#endif // TPLAN_LOWER_LOWER_H
