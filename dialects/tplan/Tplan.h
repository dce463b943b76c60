//===- Tplan.h - the tplan dialect ----------------------------------------===//
#ifndef TPLAN_DIALECTS_TPLAN_H
#define TPLAN_DIALECTS_TPLAN_H

#include "dialects/nn/NN.h"
#include "dialects/tplan/Plan.h"
#include "dialects/tplan/Recipe.h"
#include "dialects/tplan/Target.h"

#include "dialects/tplan/TplanDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/tplan/TplanAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/tplan/TplanOps.h.inc"

namespace tplan::lang {
/// Where the line of setting `key` stands in the source; the op's own place where the
/// setting has none (a default). For recipes, clusters and plans.
mlir::Location settingLoc(mlir::Operation *op, llvm::StringRef key);

/// The key of the place of item `i` of a plan's `shard`.
std::string shardKey(size_t i);

/// Ranks of one mesh, at most.
inline constexpr int64_t kMostRanks = 1 << 16;
} // namespace tplan::lang

#endif // TPLAN_DIALECTS_TPLAN_H
