//===- Granules.h - rows that begin where libraries want them -------------===//
//
// NVIDIA's guides ask for rows of a GEMM's matrices that are multiples of 16 bytes, and so do
// 16-byte accesses; GPT-2's logits have 50257 columns. So blocks of such a dimension are rounded
// up, as blocks are that axes do not divide, and are masked in the same way.
//
// One decision: a granule belongs to a dimension, by name, so that a table and what is computed
// with it agree. It is introduced where a GEMM's rows need it, and all values with the dimension
// pay for it. Small dimensions have none: their padding would cost more than it saves.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SHARD_GRANULES_H
#define TPLAN_SHARD_GRANULES_H

#include "dialects/dist/Dist.h"

namespace tplan::shard {

/// Granules of a module with global sizes, by name of the dimension. A dimension gets one if rows
/// of a GEMM's operand or result lie along it, no op needs it whole or in equal blocks, and its
/// blocks, cut over that many ranks, are not multiples of 16 bytes already.
llvm::SmallVector<dist::GranuleAttr> findGranules(mlir::ModuleOp module, int64_t ranks);

} // namespace tplan::shard

#endif // TPLAN_SHARD_GRANULES_H
