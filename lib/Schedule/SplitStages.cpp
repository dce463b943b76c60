//===- SplitStages.cpp - cuts the runs of @train at stage borders ---------===//
//
// The plan's `stages` gives the layers of lists in each stage. Code before the
// first list goes to the first stage, code between or behind lists to the stage
// of the layer before it.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNRuns.h"
#include "dialects/tplan/Settings.h"
#include "lib/Schedule/Chain.h"
#include "lib/Schedule/Schedule.h"
#include "mlir/IR/Builders.h"
#include <numeric>

using namespace mlir;
using namespace tplan;

namespace {

struct SplitStages : PassWrapper<SplitStages, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitStages)
  StringRef getArgument() const final { return "split-stages"; }

  /// Layers of lists in each stage; one stage with all of them by default.
  FailureOr<SmallVector<int64_t>> readStages(nn::ChainOp chain) {
    lang::Settings settings(getOperation());
    int64_t layers = 0;
    for (auto run : chain.getOps<nn::RunOp>())
      layers += nn::isListRun(run) ? nn::layersOf(run) : 0;
    auto stages = llvm::to_vector(settings.plan.stages);
    // One stage holds whatever there is, also a model without lists.
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

  void runOnOperation() final {
    auto chain = getOperation().lookupSymbol<nn::ChainOp>("train");
    if (!chain) {
      getOperation().emitError("there is no chain @train to cut into stages");
      return signalPassFailure();
    }
    FailureOr<SmallVector<int64_t>> stages = readStages(chain);
    if (failed(stages))
      return signalPassFailure();
    // `done` layers lie in stages before the current one or in it.
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
  }
};

} // namespace

std::unique_ptr<Pass> tplan::schedule::createSplitStagesPass() {
  return std::make_unique<SplitStages>();
}
