//===- DelayedScales.cpp - scales of values from the steps before -------------===//
#include "lib/Precision/DelayedScales.h"
#include "dialects/tplan/LossScale.h"
#include "dialects/tplan/Settings.h"
#include "lib/Precision/Quantise.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::precision;

/// The only dimension of a history. No model can name one so.
static constexpr StringLiteral kSteps = "scale.steps";

static Tensor numberType(MLIRContext *context) {
  return Tensor::get(context, {}, Float32Type::get(context));
}

static Tensor historyType(MLIRContext *context, int64_t steps) {
  return Tensor::get(context, {DimAttr::get(context, kSteps, steps, false)},
                     Float32Type::get(context));
}

/// Whether each loss is a mean, over a number of terms that a chain counts.
static bool lossesAreMeans(ModuleOp module, ChainOp train) {
  llvm::StringSet<> counted;
  for (auto layer : module.getOps<LayerOp>())
    for (unsigned i = 0, e = layer.getNumResults(); i < e; ++i)
      if (Label label = layer.getResultLabel(i); label.role == Role::Loss && label.counts)
        counted.insert(label.counts.getValue());
  return llvm::all_of(*train.getLosses(),
                      [&](NamedAttribute loss) { return counted.contains(loss.getName()); });
}

/// The multiplier of gradients before a step has shown how large they are. That of a mean over the
/// batch is as much smaller as there are terms, and most of it would vanish in E5M2.
static double firstOfGradients(ModuleOp module) {
  double terms = 1;
  for (auto train : module.getOps<ChainOp>())
    if (train.getLosses() && lossesAreMeans(module, train))
      for (auto input : train.getOps<InputOp>())
        terms = std::max<double>(terms, typeOf(input.getResult()).getNumElements());
  std::optional<lang::LossScale> scale = lang::Settings(module).plan.lossScale;
  return std::exp2(std::floor(std::log2(terms))) / (scale ? scale->start : 1);
}

DelayedScales::DelayedScales(ModuleOp module)
    : symbols(module), parts(module), startOfGradients(firstOfGradients(module)) {}

Value DelayedScales::multiplierOf(LayerOp layer, Value x, StringRef weight, bool isGradient,
                                  FloatType as, const Fp8 &recipe) {
  auto &values = scaled[layer.getSymName()];
  StringRef what = isGradient ? "dy" : "x";
  Scaled value{weight.str(), what.str(), recipe.history, isGradient ? startOfGradients : 1};
  for (int n = 2; llvm::any_of(values, [&](auto &it) { return it.name() == value.name(); }); ++n)
    value.what = (what + "." + Twine(n)).str(); // a weight that is read twice
  values.push_back(value);
  Tensor number = numberType(x.getContext());
  Value multiplier =
      layer.addArg(Role::State, value.name() + kMultiplier.str(), number, x.getLoc());

  NNBuilder b(x.getLoc(), layer);
  b.setInsertionPointAfterValue(x);
  SmallVector<StringRef> dims;
  for (DimAttr dim : typeOf(x).getDims())
    dims.push_back(dim.getName());
  Value amax = amaxOf(b, x, dims);
  std::string name = value.name() + kAmax.str();
  Value before = layer.addArg(Role::Contribution, name, number, x.getLoc());
  layer.addResult(Role::Contribution, name, b.max(before, amax));
  OpBuilder after(layer->getContext());
  after.setInsertionPointAfter(layer);
  addUpdate(partOrMade(symbols, parts, after, layer.getLoc(), layer.getWholeLayer(), Part::States),
            value, as, recipe.margin, x.getLoc());
  return multiplier;
}

/// The step's maximum takes the place of the oldest one of the history, whose largest makes the
/// multiplier of the next step. A maximum that is 0, because the value was not computed or has
/// vanished, infinite or NaN moves nothing: it would stay for as many steps as there are.
void DelayedScales::addUpdate(LayerOp part, const Scaled &value, FloatType as, int64_t margin,
                              Location loc) {
  MLIRContext *context = part.getContext();
  NNBuilder b(loc, part.getReturn());
  Tensor number = numberType(context), steps = historyType(context, value.history);
  auto state = [&](StringRef suffix, Tensor type) {
    return part.addArg(Role::State, value.name() + suffix.str(), type, loc);
  };
  Value history = state(kHistory, steps), slot = state(kSlot, number),
        multiplier = state(kMultiplier, number);
  Value amax = part.addArg(Role::Contribution, value.name() + kAmax.str(), number, loc);

  auto ifFinite = [&](Value yes, Value no) {
    Value infinity = b.like(amax, std::numeric_limits<double>::infinity());
    Value below = b.select(b.compare(CmpKind::lt, amax, infinity), yes, no);
    return b.select(b.compare(CmpKind::gt, amax, b.like(amax, 0)), below, no);
  };
  Value place = b.cast(b.index(steps.getDims().front()), b.getF32Type());
  Value isSlot = b.compare(CmpKind::eq, place, slot);
  Value entered = b.select(isSlot, amax, history);
  Value next = b.addNumber(slot, 1);
  Value isLast = b.compare(CmpKind::ge, next, b.like(next, value.history));
  Value most = amaxOf(b, entered, {kSteps});
  Value quotient = b.scale(b.div(b.like(most, largestOf(as)), most), std::ldexp(1, -margin));
  Value found = b.min(quotient, b.like(most, std::numeric_limits<float>::max()));

  auto give = [&](StringRef suffix, Value updated, Value old) {
    part.addResult(Role::State, value.name() + suffix.str(), ifFinite(updated, old));
  };
  give(kHistory, entered, history);
  give(kSlot, b.select(isLast, b.like(next, 0), next), slot);
  give(kMultiplier, found, multiplier);
}

void DelayedScales::finish(ArrayRef<RunOp> runs) {
  for (RunOp run : runs) {
    SmallVector<Attribute> params;
    for (auto [callee, bound] : llvm::zip(run.getCallees().getAsValueRange<FlatSymbolRefAttr>(),
                                          run.getParams().getAsRange<DictionaryAttr>())) {
      NamedAttrList list(bound);
      for (const Scaled &value : scaled.lookup(callee))
        bind(run, value, list);
      params.push_back(list.getDictionary(run.getContext()));
    }
    run.setParamsAttr(ArrayAttr::get(run.getContext(), params));
  }
}

/// States lie as the weight does, an instance for each layer of its list. Where another run has
/// those of this run's layers, because a weight is tied, this run gets its own.
void DelayedScales::bind(RunOp run, const Scaled &value, NamedAttrList &params) {
  auto master =
      symbols.lookup<ParamOp>(cast<FlatSymbolRefAttr>(params.get(value.weight)).getValue());
  Instances mine = instancesOf(run, master);
  std::string what = "." + value.what;
  auto takes = [&](const std::string &name) {
    return llvm::none_of(instances[name],
                         [&](const Instances &theirs) { return theirs.meet(mine); });
  };
  for (int n = 2; !takes(master.getSymName().str() + what); ++n)
    what = "." + value.what + "." + std::to_string(n);
  std::string name = master.getSymName().str() + what;
  instances[name].push_back(mine);

  MLIRContext *context = run.getContext();
  Tensor number = numberType(context);
  for (auto [suffix, type, start] :
       {std::tuple(kHistory, historyType(context, value.history), 0.0),
        std::tuple(kSlot, number, 0.0), std::tuple(kMultiplier, number, value.start)}) {
    auto state = symbols.lookup<ParamOp>(name + suffix.str());
    if (!state) {
      state = master.clone();
      state.setSymName(name + suffix.str());
      state.setPath(master.getPath().str() + what);
      state.setKind(ParamKind::State);
      state.setType(type);
      state->setAttr(kStepState, StringAttr::get(context, suffix.drop_front()));
      state.setInitAttr(
          InitAttr::get(context, "constant", Builder(context).getF64FloatAttr(start)));
      OpBuilder(master).insert(state);
      symbols.insert(state);
    }
    params.set(value.name() + suffix.str(), FlatSymbolRefAttr::get(state));
  }
}
