//===- Kernels.h - code for fused kernels ---------------------------------===//
#ifndef TPLAN_LOWER_KERNELS_H
#define TPLAN_LOWER_KERNELS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tplan::lower {

/// Marks functions of the form (memory of inputs, outputs..., task) whose
/// arguments `vectors-to-llvm` turns into the runtime's (args, task).
inline constexpr llvm::StringLiteral kKernelAttr = "tplan.kernel";

/// Turns every rt.kernel into a func.func of the same name on flat memrefs:
/// (inputs..., outputs..., count of a bounded row loop..., task) with explicit
/// vector, arith, scf and memref ops.
std::unique_ptr<mlir::Pass> createLowerKernelsPass();

/// Replaces transcendental math ops, and conversions from and to bf16, by
/// arith.
std::unique_ptr<mlir::Pass> createExpandTranscendentalsPass();

/// From func, scf, vector, arith, math and memref to the LLVM dialect; kernels get
/// the form that the runtime calls (tp_kernel).
std::unique_ptr<mlir::Pass> createVectorsToLLVMPass();

/// Turns every rt.kernel into a gpu.func of the same name in the gpu.module
/// `kGpuModule`, with explicit gpu, vector, arith, scf and memref ops. Its arguments are
/// memory in the order of the kernel's args; known_block_size and known_grid_size say
/// how it is launched.
std::unique_ptr<mlir::Pass> createLowerKernelsGpuPass();
inline constexpr llvm::StringLiteral kGpuModule = "kernels";

/// What is in gpu.module to the NVVM and LLVM dialects.
std::unique_ptr<mlir::Pass> createKernelsToNVVMPass();

/// lower-kernels-gpu, expand-transcendentals, kernels-to-nvvm.
mlir::LogicalResult lowerKernelsToNVVM(mlir::ModuleOp module);

/// lower-kernels, expand-transcendentals, vectors-to-llvm. On failure the diagnostics are out.
mlir::LogicalResult lowerKernelsToLLVM(mlir::ModuleOp module);

} // namespace tplan::lower

#endif // TPLAN_LOWER_KERNELS_H
