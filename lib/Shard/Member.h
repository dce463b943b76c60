//===- Member.h - a rank's number in a group, in a function ------------------===//
#ifndef TPLAN_SHARD_MEMBER_H
#define TPLAN_SHARD_MEMBER_H

#include "dialects/dist/Dist.h"

namespace tplan::shard {

/// The rank's member number along axes, an i32: an argument of the layer, which is added where it
/// is missing.
mlir::Value memberOf(nn::LayerOp layer, llvm::ArrayRef<mlir::StringAttr> axes);

} // namespace tplan::shard

#endif // TPLAN_SHARD_MEMBER_H
