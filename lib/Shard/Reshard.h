//===- Reshard.h - from one layout to another, at the least cost ----------===//
//
// The steps that lead from a layout to another, found by the cheapest path over the layouts
// in between: latency and bytes of each step over the slowest link that its group crosses.
// So a reduction over nodes goes in two hops where the links inside a node are faster: a
// reduce-scatter inside, an all-reduce of the blocks across, an all-gather inside. The plan's line
// `hops` asks for that, or for one hop, whatever it costs.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SHARD_RESHARD_H
#define TPLAN_SHARD_RESHARD_H

#include "lib/Cost/Links.h"
#include "lib/Shard/Placement.h"

namespace tplan::shard {

struct Step {
  enum Kind { Collective, Slice, Own, Place } kind;
  dist::CollectiveKind collective = dist::CollectiveKind::AllReduce;
  nn::ReduceKind reduction = nn::ReduceKind::sum;
  dist::Axes axes;
  mlir::StringAttr dim, to; // null: rows
  llvm::SmallVector<int32_t> sources;
  dist::LayoutAttr after;
};

/// The sources of a permutation: the member, counted along `now`, whose block each member wants by
/// `then`.
llvm::SmallVector<int32_t> sourcesOf(dist::MeshAttr mesh, llvm::ArrayRef<mlir::StringAttr> now,
                                     llvm::ArrayRef<mlir::StringAttr> then);

/// The cheapest steps; nothing where none lead there.
std::optional<llvm::SmallVector<Step>> findSteps(nn::Tensor type, dist::LayoutAttr from,
                                                 dist::LayoutAttr to, const Placement &placement,
                                                 const cost::Links &links);

} // namespace tplan::shard

#endif // TPLAN_SHARD_RESHARD_H
