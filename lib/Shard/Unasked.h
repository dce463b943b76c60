//===- Unasked.h - changes of layout that no line of the plan asks for ----===//
//
// A line that cuts a dimension asks for the collectives that its cut needs: sums over the
// dimension, the gather of a cut sequence before work that lines cut over the same axes, and what
// ZeRO and data parallelism move of weights and gradients. Two changes of activations serve no
// line:
//
//   gathers   a dimension becomes whole for work that no line cuts over the axes, so that all
//             ranks along them do the same
//   sums      a sum is larger than what layers hand on, and has a dimension of its own that could
//             be cut over the axes instead: then only what layers hand on would be summed
//
// They are marked, not refused. `warn-waits`, which knows how often each of them runs, reports what
// they cost.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SHARD_UNASKED_H
#define TPLAN_SHARD_UNASKED_H

#include "lib/Shard/Placement.h"

namespace tplan::shard {

class Unasked {
public:
  Unasked(mlir::ModuleOp module, const Placement &placement);

  /// Whether a change is of activations or their cotangents, between the parts of a layer's work.
  static bool isOfActivations(dist::ReshardOp reshard);
  /// What a change undoes, as `dist.unasked` says it; null where a line asks for it.
  dist::UnaskedAttr of(dist::ReshardOp reshard) const;

private:
  dist::UnaskedAttr ofGather(dist::ReshardOp reshard) const;
  dist::UnaskedAttr ofSum(dist::ReshardOp reshard) const;
  bool mayBeCut(nn::DimAttr dim, dist::LayoutAttr layout,
                llvm::ArrayRef<mlir::StringAttr> axes) const;
  dist::UnaskedAttr describe(dist::Undone how, mlir::StringAttr dim,
                             llvm::ArrayRef<mlir::StringAttr> axes, nn::LayerOp layer,
                             llvm::SmallVector<mlir::StringAttr> instead) const;

  const Placement &placement;
  nn::Tensor stream; // the largest value that the layers of a list hand on, or null
};

} // namespace tplan::shard

#endif // TPLAN_SHARD_UNASKED_H
