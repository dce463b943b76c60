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

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

/// Whether every use of v ends in a loss, a contribution or a gradient, by steps that add over
/// microbatches.
bool endsInSums(Value v) {
  llvm::SetVector<Value> reached;
  reached.insert(v);
  for (unsigned i = 0; i < reached.size(); ++i)
    for (OpOperand &use : reached[i].getUses()) {
      Operation *user = use.getOwner();
      bool scales = isa<MulOp>(user) && (user->getOperand(0).getDefiningOp<ConstantOp>() ||
                                         user->getOperand(1).getDefiningOp<ConstantOp>());
      if (scales || isa<ReduceOp, CastOp, AddOp, BroadcastOp>(user)) {
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

/// A forward value that sums over the batch would be another one in a microbatch.
LogicalResult refuseBatchStatistics(LayerOp layer, StringRef batch) {
  llvm::DenseSet<Value> backward = backwardOf(layer);
  for (auto reduce : layer.getBlock().getOps<ReduceOp>())
    if (!backward.contains(reduce.getResult()) && typeOf(reduce.getX()).has(batch) &&
        !typeOf(reduce.getResult()).has(batch) && !endsInSums(reduce.getResult()))
      return reduce.emitError("microbatches would change a sum over the batch that is no loss; "
                              "train the batch as one microbatch, found a sum over ")
             << batch;
  return success();
}

struct SplitMicrobatchesPass : PassWrapper<SplitMicrobatchesPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitMicrobatchesPass)
  StringRef getArgument() const final { return "split-microbatches"; }

  void runOnOperation() final {
    lang::Settings settings(getOperation());
    auto microbatch = settings.plan.getAs<IntegerAttr>("microbatch");
    // Of all ranks together: assign-layouts gives each its part.
    if (microbatch &&
        failed(split(microbatch.getInt() * settings.dataRanks(), settings.planLine("microbatch"))))
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

std::unique_ptr<Pass> tplan::shard::createSplitMicrobatchesPass() {
  return std::make_unique<SplitMicrobatchesPass>();
}
