//===- Member.h - scalars and weights that a function takes ------------------===//
#ifndef TPLAN_SHARD_MEMBER_H
#define TPLAN_SHARD_MEMBER_H

#include "dialects/dist/Dist.h"

namespace tplan::shard {

/// The rank's member number along axes.
mlir::Value memberOf(nn::LayerOp layer, llvm::ArrayRef<mlir::StringAttr> axes);

/// The weight, or its copy, that a layer or a part of one calls so; null where it has none.
nn::ParamOp paramOf(mlir::SymbolTable &symbols, nn::LayerOp layer, llvm::StringRef name);

} // namespace tplan::shard

#endif // TPLAN_SHARD_MEMBER_H
