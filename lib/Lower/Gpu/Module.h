//===- Gpu/Module.h - kernels for GPUs as functions -----------------------===//
//
// What code for GPUs needs of the gpu dialect, whatever the kernel computes.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LOWER_GPU_MODULE_H
#define TPLAN_LOWER_GPU_MODULE_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tplan::lower {

/// Memory spaces of PTX.
enum MemorySpace : unsigned { Global = 1, Shared = 3 };

/// Threads of a warp.
inline constexpr int64_t kWarp = 32;

/// The gpu.module of all kernels: the first pass that has one makes it.
mlir::gpu::GPUModuleOp kernelsOf(mlir::ModuleOp module);

/// A kernel on memory (flat memrefs) and numbers, launched as `grid` blocks of `block` threads. The
/// module keeps these numbers for the host (kLaunches), and whether the kernel takes a count. A
/// grid of 0 becomes known with each launch. Afterwards the builder stands before the kernel's
/// return.
mlir::gpu::GPUFuncOp makeKernel(mlir::ImplicitLocOpBuilder &b, mlir::gpu::GPUModuleOp kernels,
                                llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments,
                                int64_t block, int64_t grid, bool counts = false);

/// Keeps a fact of a kernel on the module, where no later pass drops it, in a dictionary by kernel
/// name.
void keepForHost(mlir::gpu::GPUModuleOp kernels, llvm::StringRef dictionary, llvm::StringRef kernel,
                 mlir::Attribute fact);

/// Memory of a block.
mlir::Value sharedMemory(mlir::gpu::GPUFuncOp func, mlir::Type element, int64_t size);

/// The value of the lane whose number differs in the bit `distance`.
mlir::Value exchange(mlir::ImplicitLocOpBuilder &b, mlir::Value x, int64_t distance);

} // namespace tplan::lower

#endif // TPLAN_LOWER_GPU_MODULE_H
