//===- CheckOp.h - whether one op's layouts are right ---------------------===//
//
// From the layouts of an op's operands and its rule follows what its results have. Nothing here
// knows the plan, or how layouts were chosen.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SHARD_CHECKOP_H
#define TPLAN_SHARD_CHECKOP_H

#include "dialects/dist/Dist.h"

namespace tplan::shard {

/// Whether a value of this type can be shared so; `what` names it: "argument x".
mlir::LogicalResult checkLayout(mlir::Location loc, const llvm::Twine &what, nn::Tensor type,
                                dist::LayoutAttr layout, dist::MeshAttr mesh);

/// An op of nn against its rule, one of dist against what its kind does. Sizes are global.
mlir::LogicalResult checkOp(mlir::Operation *op, dist::MeshAttr mesh);

} // namespace tplan::shard

#endif // TPLAN_SHARD_CHECKOP_H
