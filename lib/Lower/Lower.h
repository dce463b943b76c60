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

/// --record-calls: writes beside each call what the host and the profile must
/// know of it (tasks, FLOPs, bytes, category), before its kernel becomes code.
std::unique_ptr<mlir::Pass> createRecordCallsPass();

/// --repeat-updates: finds the updates that a device makes in one launch for all layers of a list.
std::unique_ptr<mlir::Pass> createRepeatUpdatesPass();

/// --order-streams: a stream for each call, and events where one waits for another; after `memory`.
std::unique_ptr<mlir::Pass> createOrderStreamsPass();

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

/// --lower-attention: turns every rt.tile into a func.func of the same name. Without a
/// block it takes what fits the module's target.
std::unique_ptr<mlir::Pass> createLowerAttentionPass(RegisterBlock block = {});

/// --lower-kernels: turns every rt.kernel into a func.func of the same name on flat
/// memrefs: (inputs..., outputs..., count of a bounded row loop..., task) with explicit
/// vector, arith, scf and memref ops.
std::unique_ptr<mlir::Pass> createLowerKernelsPass();

/// --expand-transcendentals: transcendental math ops become arith.
std::unique_ptr<mlir::Pass> createExpandTranscendentalsPass();

/// --expand-narrow: conversions from and to bf16 and f16 become arith of integers, or instructions
/// that the machine has for f16; both become i16.
std::unique_ptr<mlir::Pass> createExpandNarrowPass();

/// --vectors-to-llvm: from func, scf, vector, arith, math and memref to the LLVM dialect;
/// kernels get the form that the runtime calls (tp_kernel).
std::unique_ptr<mlir::Pass> createVectorsToLLVMPass();

/// --lower-kernels-gpu: turns every rt.kernel into a gpu.func of the same name in the
/// gpu.module `kGpuModule`, with explicit gpu, vector, arith, scf and memref ops. Its
/// arguments are memory in the order of the kernel's args; known_block_size and
/// known_grid_size say how it is launched.
std::unique_ptr<mlir::Pass> createLowerKernelsGpuPass();
inline constexpr llvm::StringLiteral kGpuModule = "kernels";
/// The name of a kernel in PTX, whose names have no dots.
std::string ptxName(llvm::StringRef kernel);

/// --sum-kernels-gpu: kernels that add up the parts of ranks, for the collectives of the module.
std::unique_ptr<mlir::Pass> createSumKernelsGpuPass();

/// --lower-attention-gpu: turns every rt.tile into such a gpu.func, one launch a pass.
std::unique_ptr<mlir::Pass> createLowerAttentionGpuPass();

/// --kernels-to-nvvm: what is in gpu.module to the NVVM and LLVM dialects.
std::unique_ptr<mlir::Pass> createKernelsToNVVMPass();

/// --lower-host: functions, the program and its tables become LLVM. Runs when
/// kernels are code; afterwards the module holds LLVM alone.
std::unique_ptr<mlir::Pass> createLowerHostPass();

/// lower-kernels, expand-transcendentals, expand-narrow, vectors-to-llvm. On failure the
/// diagnostics are out.
mlir::LogicalResult lowerKernelsToLLVM(mlir::ModuleOp module);

/// lower-attention-gpu, lower-kernels-gpu, expand-transcendentals, expand-narrow, kernels-to-nvvm.
mlir::LogicalResult lowerKernelsToNVVM(mlir::ModuleOp module);

/// Whether a call moves no byte and becomes no code: a view, or a block that is in its place. Valid
/// after `memory`.
bool isNothing(mlir::Operation *call);

/// Calls that the functions of a step make on each rank; an attention of the library counts once
/// for each chunk. By their number a GPU gets a step as one graph, or call by call.
int64_t callsOfStep(sched::ProgramOp program);

/// File and line of the .tplan source that a location comes from; ("", 0) where
/// it comes from none.
std::pair<llvm::StringRef, int64_t> sourceOf(mlir::Location loc);

} // namespace tplan::lower

#endif // TPLAN_LOWER_LOWER_H
