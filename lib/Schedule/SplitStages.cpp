//===- SplitStages.cpp - cuts the runs of @train at stage borders ---------===//
//
// The plan's `stages` gives the layers of lists in each stage. Code before the
// first list goes to the first stage, code between or behind lists to the stage
// of the layer before it. A cut inside one period of a run with several kinds
// of layers leaves up to three runs a stage: the rest of a period, whole
// periods, the beginning of one.
//
//===----------------------------------------------------------------------===//
#include "lib/Schedule/Chain.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Schedule/Settings.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include <numeric>

using namespace mlir;
using namespace tplan;

namespace {

int64_t layersOf(nn::RunOp run) { return run.getTimes() * run.getCallees().size(); }

/// A run of a list: several layers, or parameters that are numbered.
bool isListRun(nn::RunOp run) {
  if (layersOf(run) > 1)
    return true;
  auto module = run->getParentOfType<ModuleOp>();
  bool numbered = false;
  run.getParams().walk([&](FlatSymbolRefAttr ref) {
    if (auto param = module.lookupSymbol<nn::ParamOp>(ref.getValue()))
      numbered |= param.getPath().contains("{i}");
  });
  return numbered;
}

/// Appends layers [begin, end) of `run` as one run of whole periods or of one
/// piece of a period. Both lie inside one period or on period borders.
nn::RunOp cut(OpBuilder &b, nn::RunOp run, int64_t begin, int64_t end, int64_t stage,
              ValueRange carried) {
  int64_t period = run.getCallees().size(), from = begin % period;
  int64_t width = std::min(period - from, end - begin);
  auto slice = [&](ArrayAttr attr) { return b.getArrayAttr(attr.getValue().slice(from, width)); };
  // Inner values of a run have the types of what it carries in.
  bool last = end == layersOf(run);
  SmallVector<Type> results(last ? SmallVector<Type>(run->getResultTypes())
                                 : SmallVector<Type>(run.getCarried().getTypes()));
  auto piece = nn::RunOp::create(b, run.getLoc(), results, slice(run.getCallees()),
                                 (end - begin) / width, run.getFirstLayer() + begin, carried,
                                 run.getInvariants(), slice(run.getParams()),
                                 run.getFirstInstance() + begin / period,
                                 b.getI64IntegerAttr(stage));
  for (NamedAttribute attr : run->getDiscardableAttrs())
    piece->setAttr(attr.getName(), attr.getValue());
  return piece;
}

/// Appends layers [begin, end) as up to three runs, and returns what they carry out.
SmallVector<Value> cutStage(OpBuilder &b, nn::RunOp run, int64_t begin, int64_t end, int64_t stage,
                            SmallVector<Value> carried) {
  int64_t period = run.getCallees().size();
  int64_t head = std::min((begin + period - 1) / period * period, end);
  int64_t body = std::max(head, end / period * period);
  int64_t at = begin;
  for (int64_t to : {head, body, end})
    if (to > at) {
      carried = SmallVector<Value>(cut(b, run, at, to, stage, carried)->getResults());
      at = to;
    }
  return carried;
}

struct SplitStages : PassWrapper<SplitStages, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitStages)
  StringRef getArgument() const final { return "split-stages"; }
  StringRef getDescription() const final { return "cut the runs of @train at stage borders"; }

  /// Layers of lists in each stage; one stage with all of them by default.
  FailureOr<SmallVector<int64_t>> readStages(nn::ChainOp chain) {
    schedule::Settings settings(getOperation());
    int64_t layers = 0;
    for (auto run : chain.getOps<nn::RunOp>())
      layers += isListRun(run) ? layersOf(run) : 0;
    auto list = dyn_cast_or_null<ArrayAttr>(settings.plan.get("stages"));
    auto dense = dyn_cast_or_null<DenseI64ArrayAttr>(settings.plan.get("stages"));
    SmallVector<int64_t> stages;
    if (dense)
      stages.assign(dense.asArrayRef().begin(), dense.asArrayRef().end());
    if (list)
      for (auto count : list.getAsRange<IntegerAttr>())
        stages.push_back(count.getInt());
    // One stage holds whatever there is, also a model without lists.
    if (stages.empty() || (stages.size() == 1 && stages[0] == layers))
      return SmallVector<int64_t>{layers};
    for (int64_t count : stages)
      if (count < 1 && stages.size() > 1)
        return emitError(settings.planLoc, "each stage needs at least one layer, found ") << count;
    int64_t sum = std::accumulate(stages.begin(), stages.end(), int64_t(0));
    if (sum != layers) {
      InFlightDiagnostic diag = emitError(settings.planLoc, "the stages hold ")
                                << sum << " layers, the lists of the model " << layers;
      for (auto run : chain.getOps<nn::RunOp>())
        if (isListRun(run))
          diag.attachNote(run.getLoc()) << layersOf(run) << " layers of it are here";
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
      if (!isListRun(run)) {
        run.setStage(stage);
        continue;
      }
      OpBuilder b(run);
      SmallVector<Value> carried(run.getCarried());
      for (int64_t begin = 0, layers = layersOf(run); begin < layers;) {
        if (done == border)
          border += (*stages)[++stage];
        int64_t end = std::min(layers, begin + border - done);
        carried = cutStage(b, run, begin, end, stage, carried);
        done += end - begin;
        begin = end;
      }
      run->replaceAllUsesWith(carried);
      run.erase();
    }
  }
};

} // namespace

std::unique_ptr<Pass> tplan::schedule::createSplitStagesPass() { return std::make_unique<SplitStages>(); }
