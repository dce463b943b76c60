//===- Attention.h - code for attention kernels ---------------------------===//
#ifndef TPLAN_LIB_LOWER_ATTENTION_H
#define TPLAN_LIB_LOWER_ATTENTION_H

#include "dialects/rt/RT.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace tplan::lower {

/// Sums of a product that are kept in registers at once: rows x vectors of 64
/// bytes. A choice of speed alone: it changes no bit of a result.
struct RegisterBlock {
  int64_t rows, vectors;

  /// `registers`: vector registers of the machine, `bytes`: the size of each.
  static RegisterBlock of(int64_t registers, int64_t bytes);
};

/// Makes a function of a tile at the builder's place: (memory of inputs, of
/// outputs, task), with the attribute `tplan.kernel`. It holds arith, math, memref,
/// scf and vector ops; the tile stays.
mlir::func::FuncOp emitAttention(mlir::OpBuilder &builder, rt::TileOp tile, RegisterBlock block);

/// Replaces every rt.tile of a module by its function. The default block fits
/// machines with 16 registers of 32 bytes.
std::unique_ptr<mlir::Pass> createLowerAttentionPass(RegisterBlock block = RegisterBlock::of(16,
                                                                                             32));

} // namespace tplan::lower

#endif // TPLAN_LIB_LOWER_ATTENTION_H
