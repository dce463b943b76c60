//===- DeriveCollectives.cpp - changes of layouts as collectives ----------===//
//
// Each `dist.reshard` becomes the cheapest steps that make the change. Collectives of activations
// are marked, and those that no line of the plan asks for.
//
//===----------------------------------------------------------------------===//
#include "lib/Shard/Reshard.h"
#include "lib/Shard/Shard.h"
#include "lib/Shard/Unasked.h"
#include "mlir/IR/BuiltinOps.h"

namespace tplan::shard {
#define GEN_PASS_DEF_DERIVECOLLECTIVESPASS
#include "lib/Shard/Passes.h.inc"
} // namespace tplan::shard

using namespace mlir;
using namespace tplan;
using namespace tplan::shard;
using dist::LayoutAttr;

/// `marks` are those of a collective.
static Value emitStep(OpBuilder &b, Location loc, const Step &step, Value v, Value memory,
                      ArrayRef<NamedAttribute> marks) {
  Type type = v.getType();
  ArrayAttr axes = dist::arrayOf(b.getContext(), step.axes);
  Operation *op;
  switch (step.kind) {
  case Step::Collective:
    op = dist::CollectiveOp::create(
        b, loc, type, step.collective, v, axes, step.reduction, step.dim, step.to,
        step.sources.empty() ? DenseI32ArrayAttr() : b.getDenseI32ArrayAttr(step.sources));
    op->setDiscardableAttrs(marks);
    break;
  case Step::Slice:
    op = dist::SliceOp::create(b, loc, type, v, axes, step.dim);
    break;
  case Step::Own:
    op = dist::OwnOp::create(b, loc, type, v, axes);
    break;
  case Step::Place:
    op = dist::PlaceOp::create(b, loc, type, v, memory, axes);
    break;
  }
  op->setAttr(dist::kLayouts, b.getArrayAttr({step.after}));
  return op->getResult(0);
}

namespace {
struct DeriveCollectivesPass
    : tplan::shard::impl::DeriveCollectivesPassBase<DeriveCollectivesPass> {
  void runOnOperation() final {
    FailureOr<Placement> placement = Placement::read(getOperation());
    if (failed(placement))
      return signalPassFailure();
    cost::Links links(lang::Settings(getOperation()), placement->mesh,
                      getOperation()->getAttrOfType<DictionaryAttr>(lang::kCostSizes));
    Unasked unasked(getOperation(), *placement);
    // Readers are looked at before any change is made.
    SmallVector<std::pair<dist::ReshardOp, SmallVector<NamedAttribute>>> reshards;
    getOperation().walk([&](dist::ReshardOp op) {
      auto &marks = reshards.emplace_back(op, SmallVector<NamedAttribute>()).second;
      if (!Unasked::isOfActivations(op))
        return;
      marks.push_back(
          {StringAttr::get(&getContext(), dist::kActivation), UnitAttr::get(&getContext())});
      if (dist::UnaskedAttr why = unasked.of(op))
        marks.push_back({StringAttr::get(&getContext(), dist::kUnasked), why});
    });
    for (auto &[op, marks] : reshards) {
      LayoutAttr from = dist::layoutOf(op.getX()), to = dist::layoutOf(op.getResult());
      auto steps = findSteps(cast<nn::Tensor>(op.getType()), from, to, *placement, links);
      if (!steps) {
        op.emitError("no collectives lead from one layout to the other: from ")
            << from << " to " << to;
        return signalPassFailure();
      }
      OpBuilder b(op);
      Value v = op.getX();
      for (const Step &step : *steps)
        v = emitStep(b, op.getLoc(), step, v, op.getX(), marks);
      op.replaceAllUsesWith(v);
      op.erase();
    }
  }
};
} // namespace
