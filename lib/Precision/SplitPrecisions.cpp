//===- SplitPrecisions.cpp - split-precisions: precisions of weights, by layer ---===//
//
// The plan names weights whose GEMMs compute in another precision than the rest. Where layers of a
// list are unlike, runs are cut, and a layer with a second set of precisions gets a copy of its
// joint function and of its other parts under another name. Each joint function then says the
// precisions of its weights, for narrow-precision.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNRuns.h"
#include "dialects/tplan/Settings.h"
#include "lib/Precision/Precision.h"
#include "mlir/IR/BuiltinOps.h"

namespace tplan::precision {
#define GEN_PASS_DEF_SPLITPRECISIONSPASS
#include "lib/Precision/Passes.h.inc"
} // namespace tplan::precision

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

/// Layers by the precisions of their weights.
class Layers {
public:
  Layers(ModuleOp module, const lang::Plan &plan) : symbols(module), parts(module), plan(plan) {}

  /// The weights of a layer of a run whose precision is another than the plan's, by the names of
  /// the layer that the run calls.
  DictionaryAttr precisionsOf(RunOp run, int64_t layer) {
    int64_t period = run.getCallees().size();
    NamedAttrList precisions;
    for (NamedAttribute bound : cast<DictionaryAttr>(run.getParams()[layer % period])) {
      auto param = symbols.lookup<ParamOp>(cast<FlatSymbolRefAttr>(bound.getValue()).getValue());
      if (auto of = precisionOf(param, run.getFirstInstance() + layer / period))
        precisions.set(bound.getName(), StringAttr::get(run.getContext(), precision::spell(*of)));
    }
    return precisions.getDictionary(run.getContext());
  }

  /// Gives the callees of a run whose layers are alike the precisions of their weights.
  void apply(RunOp run) {
    SmallVector<Attribute> callees;
    for (auto [i, callee] : llvm::enumerate(run.getCallees().getAsRange<FlatSymbolRefAttr>()))
      callees.push_back(layerFor(callee, precisionsOf(run, i)));
    run.setCalleesAttr(ArrayAttr::get(run.getContext(), callees));
  }

private:
  /// The precision of an instance of a weight; nothing where it is the plan's.
  const lang::PartPrecision *precisionOf(ParamOp param, int64_t instance) const {
    int64_t layer =
        param.getCount() == 1 ? param.getFirst() : param.getFirst() + instance * param.getStep();
    for (const lang::PartPrecision &part : plan.partPrecisions)
      for (const lang::WeightLayers &weight : part.weights)
        if (weight.path == param.getPath() && weight.first <= layer && layer <= weight.last)
          return !part.fp8 && part.precision == plan.precision ? nullptr : &part;
    return nullptr;
  }

  /// The layer with these precisions: itself the first time, then a copy.
  FlatSymbolRefAttr layerFor(FlatSymbolRefAttr callee, DictionaryAttr precisions) {
    auto &known = copies[callee];
    for (auto [other, layer] : known)
      if (other == precisions)
        return layer;
    auto layer = symbols.lookup<LayerOp>(callee.getValue());
    if (!known.empty())
      layer = copyLayer(symbols, parts, layer, callee.getValue(), partsBesideJoint());
    layer->setAttr(precision::kPrecisions, precisions);
    known.push_back({precisions, FlatSymbolRefAttr::get(layer)});
    return known.back().second;
  }

  llvm::DenseMap<Attribute, SmallVector<std::pair<DictionaryAttr, FlatSymbolRefAttr>, 2>> copies;
  SymbolTable symbols;
  PartTable<LayerOp> parts;
  const lang::Plan &plan;
};

/// Where a layer is unlike the one of its kind before it.
SmallVector<int64_t> bordersOf(RunOp run, Layers &layers) {
  SmallVector<int64_t> borders;
  SmallVector<DictionaryAttr> of(run.getCallees().size());
  for (int64_t i = 0, e = layersOf(run); i < e; ++i) {
    DictionaryAttr its = layers.precisionsOf(run, i);
    DictionaryAttr &before = of[i % of.size()];
    if (before && before != its) {
      borders.push_back(i);
      of.assign(of.size(), {});
    }
    before = its;
  }
  return borders;
}

struct SplitPrecisionsPass : tplan::precision::impl::SplitPrecisionsPassBase<SplitPrecisionsPass> {
  void runOnOperation() final {
    const lang::Plan &plan = lang::Settings(getOperation()).plan;
    if (plan.partPrecisions.empty())
      return markAllAnalysesPreserved();
    Layers layers(getOperation(), plan);
    for (auto chain : getOperation().getOps<ChainOp>())
      if (chain.getLosses())
        for (auto run : llvm::make_early_inc_range(chain.getOps<RunOp>()))
          split(run, layers);
  }

  static void split(RunOp run, Layers &layers) {
    if (!isListRun(run))
      return layers.apply(run);
    for (auto &pieces : cutRun(run, bordersOf(run, layers)))
      for (RunOp piece : pieces)
        layers.apply(piece);
  }
};

} // namespace
