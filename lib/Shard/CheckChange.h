//===- CheckChange.h - whether a change of layout is what its op does -----===//
#ifndef TPLAN_SHARD_CHECKCHANGE_H
#define TPLAN_SHARD_CHECKCHANGE_H

#include "dialects/dist/Dist.h"

namespace tplan::shard {

/// An op of dist: its result has the layout that its kind makes of its operand's ((C4) of
/// dist.collective).
mlir::LogicalResult checkChange(mlir::Operation *op, dist::MeshAttr mesh);

} // namespace tplan::shard

#endif // TPLAN_SHARD_CHECKCHANGE_H
