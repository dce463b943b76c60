//===- SplitMicrobatches.cpp - the batch dimension becomes a microbatch ---===//
//
// A microbatch is a layout over time: the batch, cut along its first dimension,
// step by step on one rank. Dimensions go by name, so the cut is a change of the
// size of one name. What sums over it is a loss, a metric or a gradient, and
// these add over microbatches.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/nn/NNRuns.h"
#include "dialects/tplan/Settings.h"
#include "lib/Shard/Shard.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tplan::shard {
#define GEN_PASS_DEF_SPLITMICROBATCHESPASS
#include "lib/Shard/Passes.h.inc"
} // namespace tplan::shard

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

/// Whether every use of v ends in a loss, a contribution or a gradient, through ops whose results
/// may be added over microbatches.
bool endsInSums(Value v) {
  llvm::SetVector<Value> reached;
  reached.insert(v);
  for (unsigned i = 0; i < reached.size(); ++i)
    for (OpOperand &use : reached[i].getUses()) {
      Operation *user = use.getOwner();
      bool scales = isa<MulOp>(user) && (user->getOperand(0).getDefiningOp<ConstantOp>() ||
                                         user->getOperand(1).getDefiningOp<ConstantOp>());
      auto reduce = dyn_cast<ReduceOp>(user);
      bool adds = reduce && reduce.getKind() == ReduceKind::sum;
      if (adds || scales || isa<CastOp, AddOp, BroadcastOp>(user)) {
        reached.insert(user->getResult(0));
      } else {
        auto layer = cast<LayerOp>(user->getParentOp());
        if (!isa<ReturnOp>(user) ||
            !llvm::is_contained({Role::Loss, Role::Contribution, Role::CotParam},
                                layer.getResultRole(use.getOperandNumber())))
          return false;
      }
    }
  return true;
}

/// Whether a maximum is read by a contribution alone, which is that of all microbatches.
bool endsInMaximum(Value v) {
  auto larger = v.hasOneUse() ? dyn_cast<MaxOp>(*v.user_begin()) : MaxOp();
  if (!larger || !larger->hasOneUse())
    return false;
  auto before = dyn_cast<BlockArgument>(larger.getLhs());
  auto layer = cast<LayerOp>(larger->getParentOp());
  return before && layer.getArgRole(before.getArgNumber()) == Role::Contribution &&
         isa<ReturnOp>(*larger->user_begin());
}

/// The statistic that an op computes over several sequences of the batch, for an error; empty where
/// it treats each sequence by itself, or adds what microbatches may add.
StringRef batchStatistic(Operation *op, StringRef batch) {
  auto sumsAway = [&](Value x) {
    return typeOf(x).has(batch) && !typeOf(op->getResult(0)).has(batch);
  };
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([&](ReduceOp reduce) -> StringRef {
        if (!sumsAway(reduce.getX()))
          return "";
        bool isSum = reduce.getKind() == ReduceKind::sum;
        bool isOfAll = isSum ? endsInSums(reduce.getResult()) : endsInMaximum(reduce.getResult());
        return isOfAll ? "" : isSum ? "a sum" : "a maximum";
      })
      .Case([&](ContractOp contract) { return sumsAway(contract.getLhs()) ? "a contraction" : ""; })
      .Case([&](AttentionOp attention) {
        AttentionAttr spec = attention.getSpec();
        return spec.getQuery() == batch || spec.getKey() == batch ? "attention" : "";
      })
      .Case([&](IndexOp index) { return typeOf(index.getResult()).has(batch) ? "positions" : ""; })
      .Case([&](LookupOp lookup) { return lookup.getDim() == batch ? "a lookup" : ""; })
      .Default([](Operation *) { return ""; });
}

/// A forward value that depends on other sequences would be different in a microbatch.
LogicalResult refuseBatchStatistics(LayerOp layer, StringRef batch) {
  llvm::DenseSet<Value> backward = backwardOf(layer);
  for (Operation &op : layer.getBlock().without_terminator()) {
    StringRef what = backward.contains(op.getResult(0)) ? "" : batchStatistic(&op, batch);
    if (!what.empty())
      return op.emitError(
                 "microbatches would change what depends on several sequences of the batch, "
                 "and is no loss; train the batch as one microbatch, found ")
             << what << " over " << batch;
  }
  return success();
}

struct SplitMicrobatchesPass
    : tplan::shard::impl::SplitMicrobatchesPassBase<SplitMicrobatchesPass> {
  void runOnOperation() final {
    lang::Settings settings(getOperation());
    std::optional<int64_t> microbatch = settings.plan.microbatch;
    // The microbatch of all ranks together: assign-layouts gives each its part.
    if (microbatch &&
        failed(split(*microbatch * settings.dataRanks(), settings.planLine("microbatch"))))
      signalPassFailure();
  }

  LogicalResult split(int64_t microbatch, Location plan) {
    DimAttr batch;
    for (auto chain : getOperation().getOps<ChainOp>())
      if (DimAttr first = chain.getBatch())
        batch = first;
    if (!batch || batch.getSize() == microbatch)
      return success();
    if (microbatch < 1 || batch.getSize() % microbatch)
      return emitError(plan, "microbatch must divide the batch of ")
             << batch.getSize() << ", found " << microbatch;
    for (auto layer : getOperation().getOps<LayerOp>())
      if (!layer.getPart() && failed(refuseBatchStatistics(layer, batch.getName())))
        return failure();
    DimAttr cut = DimAttr::get(&getContext(), batch.getName(), microbatch, false);
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](DimAttr dim) -> std::optional<Attribute> {
      return dim == batch ? std::optional<Attribute>(cut) : std::nullopt;
    });
    replacer.recursivelyReplaceElementsIn(getOperation(), /*replaceAttrs=*/true,
                                          /*replaceLocs=*/false, /*replaceTypes=*/true);
    return success();
  }
};

} // namespace
