//===- SplitStages.cpp - cuts the runs of @train at stage borders ---------===//
//
// The plan's `stages` gives the layers of lists in each stage. Where stages lie on several ranks
// and the plan gives no numbers, they are cut so that the slowest stage is as fast as it can be.
// Code before the first list goes to the first stage, code between or after lists to the stage of
// the layer before it. A schedule with two copies of the model gets its runs twice.
//
// One decision: the cost of a layer is what its joint function multiplies, forward and backward,
// and what it writes. That is known before layouts are, and depends on the model, the recipe and
// the plan alone: so all targets of a binary have one cut.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/nn/NNRuns.h"
#include "dialects/tplan/Settings.h"
#include "lib/Pipeline/PlanSchedule.h"
#include "lib/Shard/Rules.h"
#include "lib/Shard/Shard.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include <numeric>

namespace tplan::shard {
#define GEN_PASS_DEF_SPLITSTAGESPASS
#include "lib/Shard/Passes.h.inc"
} // namespace tplan::shard

using namespace mlir;
using namespace tplan;
using namespace tplan::shard;

namespace {

/// What the ops of a layer cost for one microbatch: a multiplication and an addition count as one
/// each, and an element that is written as kElement of them, by the usual ratio of a device's
/// arithmetic to its memory traffic.
double costOf(nn::LayerOp layer) {
  constexpr double kElement = 100;
  double cost = 0;
  layer.walk([&](Operation *op) {
    if (op->getNumResults() == 0)
      return;
    if (!isa<nn::ContractOp, nn::AttentionOp, nn::AttentionGradOp>(op)) {
      for (Value result : op->getResults())
        if (auto tensor = dyn_cast<nn::Tensor>(result.getType()))
          cost += kElement * static_cast<double>(tensor.getNumElements());
      return;
    }
    double products = 1;
    for (nn::DimAttr factor : factorsOf(op))
      products *= static_cast<double>(factor.getSize());
    cost += 2 * products * (isa<nn::ContractOp>(op) ? 1 : 2);
  });
  return cost;
}

/// The costs of the layers of all lists; what stands before the first list is added to the first
/// layer, all else to the layer before it.
SmallVector<double> costsOfLayers(nn::ChainOp chain) {
  SymbolTable symbols(chain->getParentOfType<ModuleOp>());
  llvm::DenseMap<Attribute, double> known;
  SmallVector<double> costs;
  double before = 0;
  for (auto run : chain.getOps<nn::RunOp>()) {
    SmallVector<double> period;
    for (auto callee : run.getCallees().getAsRange<FlatSymbolRefAttr>()) {
      auto [cost, isNew] = known.try_emplace(callee, 0);
      if (auto layer = symbols.lookup<nn::LayerOp>(callee.getValue()); isNew && layer)
        cost->second = costOf(layer);
      period.push_back(cost->second);
    }
    if (nn::isListRun(run)) {
      for (int64_t i = 0, e = nn::layersOf(run); i < e; ++i)
        costs.push_back(period[i % period.size()] + std::exchange(before, 0));
      continue;
    }
    double sum = std::accumulate(period.begin(), period.end(), 0.0) * nn::layersOf(run);
    (costs.empty() ? before : costs.back()) += sum;
  }
  return costs;
}

/// Numbers of layers in each of `stages` stages, such that the most expensive stage costs least; of
/// several such cuts the one with the longest first stages, because the last one also has the
/// losses.
SmallVector<int64_t> cutByCost(ArrayRef<double> costs, int64_t stages) {
  // least[k][i]: the cost of the most expensive stage when the first i layers are in k + 1 stages.
  size_t layers = costs.size();
  std::vector<double> sums(layers + 1, 0);
  std::partial_sum(costs.begin(), costs.end(), sums.begin() + 1);
  std::vector<std::vector<double>> least(stages, std::vector<double>(layers + 1, 0));
  std::vector<std::vector<size_t>> from(stages, std::vector<size_t>(layers + 1, 0));
  least[0] = sums;
  for (int64_t k = 1; k < stages; ++k)
    for (size_t i = k + 1; i <= layers; ++i) {
      least[k][i] = std::numeric_limits<double>::infinity();
      for (size_t begin = k; begin < i; ++begin)
        if (double most = std::max(least[k - 1][begin], sums[i] - sums[begin]);
            most <= least[k][i]) {
          least[k][i] = most;
          from[k][i] = begin;
        }
    }
  SmallVector<int64_t> cut(stages, 0);
  size_t end = layers;
  for (int64_t k = stages; k-- > 0; end = from[k][end])
    cut[k] = end - (k ? from[k][end] : 0);
  return cut;
}

/// A second copy of each run, for microbatches that go the other way: its stages follow the others.
void copyRuns(nn::ChainOp chain, int64_t stages) {
  OpBuilder b = OpBuilder::atBlockEnd(&chain.getBody().front());
  IRMapping copies;
  SmallVector<Operation *> ops = llvm::to_vector(llvm::make_pointer_range(chain.getBody().front()));
  for (Operation *op : ops) {
    Operation *copy = b.clone(*op, copies);
    if (auto run = dyn_cast<nn::RunOp>(copy))
      run.setStage(run.getStage().value_or(0) + stages);
    else
      copy->setAttr(nn::kCopy, b.getUnitAttr());
  }
}

struct SplitStagesPass : tplan::shard::impl::SplitStagesPassBase<SplitStagesPass> {
  /// The number of layers of lists in each stage; one stage with all of them by default. What the
  /// schedule cannot have, `order-tasks` refuses.
  FailureOr<SmallVector<int64_t>> readStages(nn::ChainOp chain, const lang::Settings &settings,
                                             const pipeline::PlanSchedule &schedule) {
    int64_t layers = 0;
    for (auto run : chain.getOps<nn::RunOp>())
      layers += nn::isListRun(run) ? nn::layersOf(run) : 0;
    auto stages = llvm::to_vector(settings.plan.stages);
    int64_t ranks = settings.ranksAlong({settings.plan.stageAxis});
    int64_t wanted =
        schedule.stagesOn(ranks, pipeline::Options::of(settings.plan.chunks, {}, {}, {}));
    if (stages.empty() && ranks > 1) {
      if (wanted > layers)
        return emitError(settings.planLine("mesh"),
                         "each stage needs a layer of a list, and ranks along ")
               << settings.plan.stageAxis << " hold " << wanted
               << " stages, found layers: " << layers;
      stages = cutByCost(costsOfLayers(chain), wanted);
      writeStages(stages);
      return stages;
    }
    if (ranks > 1 && static_cast<int64_t>(stages.size()) != wanted)
      return emitError(settings.planLine("stages"), "with ")
             << settings.plan.pipeline << " ranks along " << settings.plan.stageAxis << " hold "
             << wanted << " stages, found " << stages.size();
    // One stage holds everything, also of a model without lists.
    if (stages.empty() || (stages.size() == 1 && stages[0] == layers))
      return SmallVector<int64_t>{layers};
    for (int64_t count : stages)
      if (count < 1 && stages.size() > 1)
        return emitError(settings.planLine("stages"), "each stage needs at least one layer, found ")
               << count;
    int64_t sum = std::accumulate(stages.begin(), stages.end(), int64_t(0));
    if (sum != layers) {
      InFlightDiagnostic diag = emitError(settings.planLine("stages"), "the stages hold ")
                                << sum << " layers, the lists of the model " << layers;
      for (auto run : chain.getOps<nn::RunOp>())
        if (nn::isListRun(run))
          diag.attachNote(run.getLoc()) << nn::layersOf(run) << " layers of it are here";
      return diag;
    }
    return stages;
  }

  /// The cut becomes a line of the plan, as if people had written it.
  void writeStages(ArrayRef<int64_t> stages) {
    for (auto op : getOperation().getOps<lang::PlanOp>()) {
      lang::Plan plan = op.getSettings().getFields();
      plan.stages.assign(stages.begin(), stages.end());
      op.setSettingsAttr(lang::PlanAttr::get(&getContext(), plan));
    }
  }

  void runOnOperation() final {
    auto chain = getOperation().lookupSymbol<nn::ChainOp>(nn::kTrainChain);
    if (!chain) {
      getOperation().emitError("there is no chain @train to cut into stages");
      return signalPassFailure();
    }
    lang::Settings settings(getOperation());
    pipeline::PlanSchedule schedule =
        pipeline::findSchedule(settings.plan.pipeline, settings.plan.orders);
    FailureOr<SmallVector<int64_t>> stages = readStages(chain, settings, schedule);
    if (failed(stages))
      return signalPassFailure();
    // `done` layers are in stages up to the current one.
    int64_t stage = 0, done = 0, border = (*stages)[0];
    for (auto run : llvm::make_early_inc_range(chain.getOps<nn::RunOp>())) {
      if (!nn::isListRun(run)) {
        run.setStage(stage);
        continue;
      }
      SmallVector<int64_t> borders, stageOf;
      for (int64_t begin = 0, layers = nn::layersOf(run); begin < layers;) {
        if (done == border)
          border += (*stages)[++stage];
        int64_t end = std::min(layers, begin + border - done);
        stageOf.push_back(stage);
        if (end < layers)
          borders.push_back(end);
        done += end - begin;
        begin = end;
      }
      for (auto [stage, pieces] : llvm::zip(stageOf, nn::cutRun(run, borders)))
        for (nn::RunOp piece : pieces)
          piece.setStage(stage);
    }
    if (schedule.isDual())
      copyRuns(chain, stages->size());
  }
};

} // namespace
