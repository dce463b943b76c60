//===- HoistTables.cpp - tables of sizes alone leave the lists ------------===//
//
// Sines and cosines of positions (rotary, sinusoidal) are the same in every layer: they are
// computed once before the list and are invariant in it.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/tplan/Tplan.h"
#include "lib/Model/LayerBuilder.h"
#include "lib/Model/Model.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/RegionUtils.h"

namespace tplan::model {
#define GEN_PASS_DEF_HOISTTABLESPASS
#include "lib/Model/Passes.h.inc"
} // namespace tplan::model

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

/// Ops of `block` that depend on sizes alone.
DenseSet<Operation *> constantOps(Block &block) {
  DenseSet<Operation *> constant;
  for (Operation &op : block)
    if (isa<ConstantOp, IndexOp>(op) ||
        (isa<Elemental>(op) && op.getNumOperands() && llvm::all_of(op.getOperands(), [&](Value v) {
           return v.getDefiningOp() && constant.contains(v.getDefiningOp());
         })))
      constant.insert(&op);
  return constant;
}

/// Constant values worth a table: trigonometric, and not scalar.
bool isTable(Operation *op) {
  if (typeOf(op->getResult(0)).isScalar() || model::isRematerialized(op))
    return false;
  SmallVector<Operation *> work = {op};
  while (!work.empty()) {
    Operation *at = work.pop_back_val();
    if (isa<SinOp, CosOp>(at))
      return true;
    for (Value v : at->getOperands())
      work.push_back(v.getDefiningOp());
  }
  return false;
}

/// Moves tables (rotary cosines, say) before the list, as its invariants.
void hoistTables(lang::ForOp loop) {
  for (auto [kind, region] : llvm::enumerate(loop.getKinds())) {
    Block &block = region.front();
    DenseSet<Operation *> constant = constantOps(block);
    SmallVector<Operation *> tables;
    for (Operation &op : block)
      if (constant.contains(&op) && isTable(&op) &&
          llvm::any_of(op.getUsers(), [&](Operation *u) { return !constant.contains(u); }))
        tables.push_back(&op);
    IRMapping map;
    OpBuilder builder(loop);
    for (Operation &op : block)
      if (constant.contains(&op))
        builder.clone(op, map);
    for (Operation *table : tables) {
      loop.getInvariantsMutable().append(map.lookup(table->getResult(0)));
      for (auto [other, otherRegion] : llvm::enumerate(loop.getKinds())) {
        Value added = otherRegion.addArgument(table->getResult(0).getType(), table->getLoc());
        if (other == kind)
          table->getResult(0).replaceAllUsesWith(added);
      }
    }
  }
}

/// A value that a list is given twice is given once: equal layers then take equal arguments.
void mergeInvariants(lang::ForOp loop) {
  unsigned carried = loop.getCarried().size();
  for (unsigned i = loop.getInvariants().size(); i-- > 0;) {
    ValueRange before = loop.getInvariants().take_front(i);
    unsigned first = llvm::find(before, loop.getInvariants()[i]) - before.begin();
    if (first == i)
      continue;
    for (Region &kind : loop.getKinds()) {
      kind.getArgument(carried + i).replaceAllUsesWith(kind.getArgument(carried + first));
      kind.eraseArgument(carried + i);
    }
    loop.getInvariantsMutable().erase(i);
  }
}

struct HoistTablesPass : tplan::model::impl::HoistTablesPassBase<HoistTablesPass> {
  void runOnOperation() final {
    for (auto model : getOperation().getOps<lang::ModelOp>()) {
      auto loops = llvm::to_vector(model.getOps<lang::ForOp>());
      llvm::for_each(loops, hoistTables);
      // Kinds and lists share tables; what they computed themselves is dead.
      IRRewriter rewriter(&getContext());
      (void)runRegionDCE(rewriter, model->getRegions());
      DominanceInfo dominance(model);
      eliminateCommonSubExpressions(rewriter, dominance, model);
      llvm::for_each(loops, mergeInvariants);
    }
  }
};

} // namespace
