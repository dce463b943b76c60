//===- Granules.h - rows that begin where libraries want them -------------===//
//
// NVIDIA's guides ask for rows of a GEMM's matrices that are multiples of 16 bytes, and so do
// 16-byte accesses: GPT-2's logits have 50257 columns. So blocks of such a dimension are rounded
// up, as those that axes do not divide are, and what masks their padding masks this.
//
// One decision: a granule belongs to a dimension, by name, so that a table and what is computed
// with it agree; it is asked for where a GEMM's rows need it and paid for by all who have the
// dimension. Small dimensions go without: their padding would weigh more than it saves.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SHARD_GRANULES_H
#define TPLAN_SHARD_GRANULES_H

#include "dialects/dist/Dist.h"

namespace tplan::shard {

/// Granules of a module with global sizes, by name of the dimension: of those along which rows of
/// a GEMM's operand or result lie, which no op needs whole or in equal blocks, and whose blocks on
/// so many ranks are not all multiples anyhow.
llvm::SmallVector<dist::GranuleAttr> findGranules(mlir::ModuleOp module, int64_t ranks);

} // namespace tplan::shard

#endif // TPLAN_SHARD_GRANULES_H
