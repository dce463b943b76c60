//===- KernelBuilder.h - one unit as an rt.kernel -------------------------===//
#ifndef TPLAN_LIB_FUSE_KERNELBUILDER_H
#define TPLAN_LIB_FUSE_KERNELBUILDER_H

#include "dialects/rt/RT.h"
#include "lib/Fuse/Units.h"
#include "mlir/IR/BuiltinOps.h"

namespace tplan::fuse {

/// A kernel and the nn values at its ends, in the kernel's order.
struct BuiltKernel {
  rt::KernelOp kernel;
  llvm::SmallVector<mlir::Value> inputs, outputs;
  llvm::SmallVector<int64_t> inPlace; // pairs (input, output) that may share memory
};

/// Builds the kernel of a fusible or column unit at the end of `module`.
BuiltKernel buildKernel(mlir::ModuleOp module, const Unit &unit, llvm::StringRef name);

/// The kernel of a scattered sum: inputs cotangent and ids, output the table.
BuiltKernel buildScatter(mlir::ModuleOp module, nn::LookupGradOp op, llvm::StringRef name);

} // namespace tplan::fuse

#endif // TPLAN_LIB_FUSE_KERNELBUILDER_H
