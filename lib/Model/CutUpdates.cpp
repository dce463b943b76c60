//===- CutUpdates.cpp - updates and metrics, cut at their sums ------------===//
//
// An update or a metric is a function of states and of sums over the global batch. The
// sums stay in the layer, where microbatches add to them; what reads them moves into a
// `tplan.once`, which runs when the step is through.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/tplan/Tplan.h"
#include "lib/Model/Model.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"

namespace tplan::model {
#define GEN_PASS_DEF_CUTUPDATESPASS
#include "lib/Model/Passes.h.inc"
} // namespace tplan::model

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

/// Whether an op sums over the batch dimension.
bool sumsOver(Operation *op, StringRef batch) {
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce && reduce.getKind() == ReduceKind::sum && typeOf(reduce.getX()).has(batch) &&
         !typeOf(reduce.getResult()).has(batch);
}

/// Cuts what stands in one body: the model's, or that of a list's element.
class Cutter {
public:
  Cutter(Block &block, StringRef batch) : block(block), batch(batch) {}

  LogicalResult run() {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (isa<lang::ForOp>(op))
        names.clear(); // the layers around a list are two functions
      if (!isa<lang::UpdateOp, lang::MetricOp>(op))
        continue;
      if (failed(checkOnce(&op)) || failed(cut(&op)))
        return failure();
      op.erase();
    }
    return success();
  }

private:
  LogicalResult checkOnce(Operation *op) {
    auto update = dyn_cast<lang::UpdateOp>(op);
    if (!update)
      return success();
    auto [at, isNew] = updates.try_emplace(update.getStateName(), update.getLoc());
    if (isNew)
      return success();
    InFlightDiagnostic diag =
        update.emitError("a state is updated twice in a step; call its layer once: ")
        << update.getStateName();
    diag.attachNote(at->second) << "updated here before";
    return diag;
  }

  LogicalResult cut(Operation *op) {
    OpBuilder builder(op);
    auto once = lang::OnceOp::create(builder, op->getLoc());
    inside = OpBuilder::atBlockBegin(builder.createBlock(&once.getBody()));
    contribute.setInsertionPoint(once);
    map.clear();
    for (Value v : op->getOperands())
      if (failed(move(v, op)))
        return failure();
    inside.clone(*op, map);
    return success();
  }

  /// Makes `v` a value of the `tplan.once`.
  LogicalResult move(Value v, Operation *reader) {
    if (map.contains(v))
      return success();
    Operation *op = v.getDefiningOp();
    if (op && sumsOver(op, batch)) {
      map.map(v, contributed(v));
      return success();
    }
    auto weight = dyn_cast_or_null<lang::WeightOp>(op);
    bool isState = weight && weight.isState();
    if (!op || op->getNumRegions() || typeOf(v).has(batch) ||
        !(isState || isa<ConstantOp, IndexOp>(op) || op->getNumOperands()))
      return refuse(v, reader);
    for (Value operand : op->getOperands())
      if (failed(move(operand, reader)))
        return failure();
    inside.clone(*op, map);
    return success();
  }

  LogicalResult refuse(Value v, Operation *reader) {
    auto update = dyn_cast<lang::UpdateOp>(reader);
    InFlightDiagnostic diag = reader->emitError("reads more than states and sums over the batch: ")
                              << (update ? "update of " + update.getStateName()
                                         : "metric " + cast<lang::MetricOp>(reader).getName());
    diag.attachNote(v.getLoc()) << "it reads this value, which is neither; sum it over " << batch;
    return diag;
  }

  /// The sum as all microbatches give it. Several readers share a name.
  Value contributed(Value sum) {
    std::string &name = names[sum];
    if (name.empty()) {
      name = "s" + std::to_string(count++);
      lang::ContributeOp::create(contribute, sum.getLoc(), name, sum);
    }
    return lang::ContributedOp::create(inside, sum.getLoc(), sum.getType(), name);
  }

  Block &block;
  StringRef batch;
  OpBuilder inside{block.getParentOp()->getContext()},
      contribute{block.getParentOp()->getContext()};
  IRMapping map;
  DenseMap<Value, std::string> names; // of contributions, since the last list
  llvm::StringMap<Location> updates;
  int64_t count = 0;
};

struct CutUpdatesPass : tplan::model::impl::CutUpdatesPassBase<CutUpdatesPass> {
  void runOnOperation() final {
    for (auto model : getOperation().getOps<lang::ModelOp>()) {
      DimAttr batch = model.getBatch();
      SmallVector<Block *> blocks = {&model.getBody().front()};
      for (auto loop : model.getOps<lang::ForOp>())
        for (Region &kind : loop.getKinds())
          blocks.push_back(&kind.front());
      for (Block *block : blocks)
        if (failed(Cutter(*block, batch.getName()).run()))
          return signalPassFailure();
    }
  }
};

} // namespace
