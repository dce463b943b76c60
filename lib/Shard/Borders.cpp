//===- Borders.cpp - layouts of what functions are given and give ---------===//
#include "lib/Shard/Borders.h"
#include "dialects/nn/NNBuilder.h"
#include "dialects/nn/NNRuns.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::shard;
using dist::Axes;
using dist::LayoutAttr;

/// What goes from layer to layer of a list is the residual stream; so is what the first layer takes
/// and what the last gives.
static llvm::DenseSet<Value> residualValues(ModuleOp module) {
  llvm::DenseSet<Value> values;
  for (auto chain : module.getOps<ChainOp>())
    for (auto run : chain.getOps<RunOp>())
      if (isListRun(run)) {
        values.insert(run.getCarried().begin(), run.getCarried().end());
        values.insert(run->result_begin(), run->result_end());
      }
  return values;
}

FailureOr<Borders> Borders::read(ModuleOp module, const Placement &placement) {
  Borders borders(placement);
  SymbolTable symbols(module);
  DenseSet<Attribute> copied; // weights that have a working copy
  for (auto param : module.getOps<ParamOp>())
    if (param.isCopy())
      copied.insert(param.getCopyOfAttr());
  for (auto param : module.getOps<ParamOp>()) {
    WeightLayouts layouts =
        placement.weightOf(param, copied.contains(FlatSymbolRefAttr::get(param)));
    if (!layouts.weight)
      return failure();
    borders.weights[param] = layouts;
  }
  borders.stream = residualValues(module);
  for (auto chain : module.getOps<ChainOp>())
    for (auto run : chain.getOps<RunOp>())
      for (auto [callee, params] : llvm::zip(run.getCallees().getAsRange<FlatSymbolRefAttr>(),
                                             run.getParams().getAsRange<DictionaryAttr>())) {
        for (NamedAttribute entry : params)
          borders.bound[callee][entry.getName()] =
              symbols.lookup<ParamOp>(cast<FlatSymbolRefAttr>(entry.getValue()).getValue());
        auto mark = [&](auto &positions, ValueRange values) {
          for (auto [k, v] : llvm::enumerate(values))
            if (borders.stream.contains(v))
              positions.insert(k);
        };
        Residual &residual = borders.residual[callee];
        mark(residual.in, run.getCarried());
        mark(residual.out, run.getResults());
      }
  return borders;
}

ParamOp Borders::paramOf(FlatSymbolRefAttr layer, StringRef name) const {
  auto names = bound.find(layer);
  return names == bound.end() ? ParamOp() : names->second.lookup(name);
}

bool Borders::isResidual(const LayerPart &at, const Label &label, bool isResult) const {
  auto marked = residual.find(at.layer);
  if ((label.role != Role::Carried && label.role != Role::CotCarried) || !label.position ||
      marked == residual.end())
    return false;
  // A cotangent flows the other way.
  bool out = isResult == (label.role == Role::Carried);
  return (out ? marked->second.out : marked->second.in).contains(*label.position);
}

std::string Borders::pendingKey(FlatSymbolRefAttr layer, Role role, StringRef name) const {
  if (role == Role::CotParam)
    if (ParamOp param = paramOf(layer, name))
      return "grad " + param.getSymName().str();
  if (role == Role::Contribution)
    return ("contribution " + layer.getValue() + " " + name).str();
  return stringifyRole(role).str() + " " + name.str();
}

void Borders::addPending(const LayerPart &at, Role role, StringRef name, LayoutAttr term) {
  Pending &all = pending[pendingKey(at.layer, role, name)];
  llvm::append_range(all.sum, term.getSum());
  llvm::append_range(all.max, term.getMax());
  all = {placement->mesh.sorted(all.sum), placement->mesh.sorted(all.max)};
}

Axes Borders::pendingOf(Role role, StringRef name) const {
  auto found = pending.find(stringifyRole(role).str() + " " + name.str());
  return found == pending.end() ? Axes() : found->second.sum;
}

LayoutAttr Borders::withResidual(LayoutAttr layout, Tensor type) const {
  for (DimAttr dim : type.getDims())
    if (Axes axes = placement->residualAxesOf(dim); !dist::intersects(axes, layout.used()))
      if (StringAttr name = StringAttr::get(type.getContext(), dim.getName());
          layout.axesOf(name).empty())
        layout = layout.withAxes(name, axes);
  return layout;
}

LayoutAttr Borders::ofChain(Value v) const {
  LayoutAttr layout = placement->layoutOf(typeOf(v), v.getLoc());
  return layout && stream.contains(v) ? withResidual(layout, typeOf(v)) : layout;
}

LayoutAttr Borders::of(const LayerPart &at, const Label &label, Tensor type, bool isResult) const {
  StringRef name = label.name;
  LayoutAttr whole = LayoutAttr::get(type.getContext(), {}, {}, {}, {});
  std::optional<Part> part = at.part;
  // Sums over ranks that are pending are made by part `reduce`.
  bool isReduced = part && (isResult ? *part == Part::Reduce : factsOf(*part).readsReduced);
  auto waiting = [&](LayoutAttr layout) {
    auto found = pending.find(pendingKey(at.layer, label.role, name));
    if (found == pending.end())
      return layout;
    const Pending &all = found->second;
    return layout.withSum(dist::difference(all.sum, layout.used()))
        .withMax(dist::difference(all.max, layout.used()));
  };
  switch (label.role) {
  case Role::Carried:
  case Role::Invariant:
  case Role::CotCarried:
  case Role::CotInvariant: {
    if (part == Part::Norm) // each rank adds the squares of its own blocks
      return whole.withSum(placement->mesh.getAxesInStage());
    LayoutAttr layout = placement->layoutOf(type, at.loc);
    return layout && isResidual(at, label, isResult) ? withResidual(layout, type) : layout;
  }
  case Role::Param:
    if (ParamOp param = paramOf(at.layer, name))
      return weightOf(param).weight;
    return whole;
  case Role::State:
    if (ParamOp param = paramOf(at.layer, label.slot ? label.slot.getParam() : name))
      return label.slot ? weightOf(param).state : weightOf(param).weight;
    return whole;
  case Role::CotParam:
    if (ParamOp param = paramOf(at.layer, name)) {
      const WeightLayouts &layouts = weightOf(param);
      return isReduced ? layouts.reduced : waiting(layouts.accumulator);
    }
    return whole;
  case Role::Contribution:
    return isReduced ? whole : waiting(whole);
  case Role::Loss:
    return waiting(whole);
  case Role::Output: { // the runtime reads all of it, of its own rows
    LayoutAttr layout = placement->layoutOf(type, at.loc);
    if (!layout || !type.getRank())
      return layout;
    StringAttr rows = StringAttr::get(type.getContext(), type.getDims().front().getName());
    return whole.withAxes(rows, layout.axesOf(rows));
  }
  default:
    return whole;
  }
}

LayoutAttr Borders::ofArg(LayerOp layer, unsigned i) const {
  return of(layer, layer.getArgLabel(i), cast<Tensor>(layer.getArgumentTypes()[i]), false);
}

LayoutAttr Borders::ofResult(LayerOp layer, unsigned i) const {
  return of(layer, layer.getResultLabel(i), cast<Tensor>(layer.getResultTypes()[i]), true);
}
