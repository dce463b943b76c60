//===- SplitMicrobatches.cpp - the batch dimension becomes a microbatch ---===//
//
// A microbatch is a layout over time: the batch, cut along its first dimension,
// step by step on one rank. Dimensions go by name, so the cut is a change of the
// size of one name. What sums over it is a loss, a metric or a gradient, and
// these add over microbatches.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/tplan/Tplan.h"
#include "lib/Shard/Shard.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

struct SplitMicrobatchesPass : PassWrapper<SplitMicrobatchesPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitMicrobatchesPass)
  StringRef getArgument() const final { return "split-microbatches"; }
  StringRef getDescription() const final { return "the batch dimension becomes a microbatch"; }

  void runOnOperation() final {
    for (auto plan : getOperation().getOps<lang::PlanOp>()) {
      auto microbatch = plan.getSettings().getAs<IntegerAttr>("microbatch");
      if (!microbatch || failed(split(plan, microbatch.getInt())))
        return microbatch ? signalPassFailure() : void();
    }
  }

  LogicalResult split(lang::PlanOp plan, int64_t microbatch) {
    DimAttr batch;
    for (auto chain : getOperation().getOps<ChainOp>())
      for (auto input : chain.getOps<InputOp>())
        if (typeOf(input.getValue()).getRank())
          batch = typeOf(input.getValue()).getDims().front();
    if (!batch || batch.getSize() == microbatch)
      return success();
    if (microbatch < 1 || batch.getSize() % microbatch)
      return plan.emitError("microbatch must divide the batch of ")
             << batch.getSize() << ", found " << microbatch;
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
