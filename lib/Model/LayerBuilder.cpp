//===- LayerBuilder.cpp - a layer function from ops of the model ----------===//
#include "lib/Model/LayerBuilder.h"
#include "dialects/nn/NNRuns.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::model;

bool model::isRematerialized(Operation *op) { return isa<ConstantOp, IndexOp, ScalarOp>(op); }

static LayerOp layerAtEnd(ModuleOp module, StringRef name, Location loc) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  return createLayer(builder, loc, name);
}

static LayerOp statesOf(LayerOp layer) {
  auto module = layer->getParentOfType<ModuleOp>();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  return createPart(builder, layer.getLoc(), layer.getWholeLayer(), Part::States);
}

LayerBuilder::LayerBuilder(ModuleOp module, StringRef name, Location loc, const Losses &losses)
    : layer(layerAtEnd(module, name, loc)), builder(layer.getReturn()), losses(losses) {}

/// For people to read: c0, c1, ... of what is carried, i0, i1, ... of invariants.
static std::string nameAt(Role role, unsigned position) {
  return (role == Role::Carried ? "c" : "i") + std::to_string(position);
}

void LayerBuilder::addInput(Role role, unsigned position, Value value) {
  std::string name = nameAt(role, position);
  map.map(value, layer.addArg({role, name, position}, value.getType(), value.getLoc()));
}

void LayerBuilder::addCarriedResult(unsigned position, Value value) {
  std::string name = nameAt(Role::Carried, position);
  layer.addResult({Role::Carried, name, position}, lookup(value));
}

void LayerBuilder::clone(Operation *op) {
  if (auto weight = dyn_cast<lang::WeightOp>(op))
    return addWeight(weight);
  if (auto scalar = dyn_cast<ScalarOp>(op))
    return addScalar(scalar);
  if (auto loss = dyn_cast<lang::LossOp>(op))
    return addLoss(loss);
  if (auto contribution = dyn_cast<lang::ContributeOp>(op))
    return addContribution(contribution);
  if (auto once = dyn_cast<lang::OnceOp>(op))
    return addOnce(once);
  if (auto output = dyn_cast<lang::OutputOp>(op))
    return layer.addResult(Role::Output, output.getName(), lookup(output.getValue()));
  Operation *copy = builder.clone(*op, map);
  if (auto mask = dyn_cast<DropoutMaskOp>(copy)) // call sites in the order of the layer
    mask.setSite(sites++);
}

Value LayerBuilder::lookup(Value v) {
  if (!map.contains(v) && v.getDefiningOp() && isRematerialized(v.getDefiningOp()))
    clone(v.getDefiningOp());
  return map.lookup(v);
}

void LayerBuilder::addWeight(lang::WeightOp weight) {
  auto [at, added] = weights.insert({weight.getName(), weight});
  Value value = weight.getValue();
  if (added)
    map.map(value, layer.addArg(weight.isState() ? Role::State : Role::Param, weight.getName(),
                                value.getType(), value.getLoc()));
  else
    map.map(value, map.lookup(at->second.getValue()));
}

void LayerBuilder::addScalar(ScalarOp scalar) {
  Value &arg = scalars[scalar.getName()];
  if (!arg)
    arg = layer.addArg(Role::Scalar, scalar.getName(), scalar.getType(), scalar.getLoc());
  map.map(scalar.getResult(), arg);
}

/// Adds onto the sum of the loss, which may have terms of this layer already.
void LayerBuilder::addLoss(lang::LossOp loss) {
  NNBuilder b(loss.getLoc(), builder);
  Value sum = b.cast(lookup(loss.getSum()), b.getF64Type());
  if (double factor = losses.factor(loss); factor != 1)
    sum = b.scale(sum, factor);
  for (unsigned i = 0, e = layer.getNumResults(); i < e; ++i)
    if (layer.getResultRole(i) == Role::Loss && layer.getResultName(i) == loss.getName()) {
      OpOperand &result = layer.getReturn()->getOpOperand(i);
      return result.set(b.add(result.get(), sum));
    }
  Value before = layer.addArg(Role::Loss, loss.getName(), sum.getType(), loss.getLoc());
  layer.addResult(Role::Loss, loss.getName(), b.add(before, sum));
}

/// In f64: numbers of tokens in a large batch do not fit into f32.
void LayerBuilder::addContribution(lang::ContributeOp contribution) {
  NNBuilder b(contribution.getLoc(), builder);
  Value sum = b.cast(lookup(contribution.getValue()), b.getF64Type());
  Value before = layer.addArg(Role::Contribution, contribution.getName(), sum.getType(),
                              contribution.getLoc());
  layer.addResult(Role::Contribution, contribution.getName(), b.add(before, sum));
}

/// Its states are bound with the layer's weights, whether the layer reads them or not.
void LayerBuilder::addOnce(lang::OnceOp once) {
  for (auto state : once.getBody().getOps<lang::WeightOp>())
    addWeight(state);
  onces.push_back(once);
}

//===----------------------------------------------------------------------===//
// Part `states`
//===----------------------------------------------------------------------===//

namespace {
/// What a layer does once a step: states and contributions in, states and metrics out.
class OnceBuilder {
public:
  OnceBuilder(LayerOp layer) : part(statesOf(layer)), builder(part.getReturn()) {}

  void clone(Operation *op) {
    if (auto state = dyn_cast<lang::WeightOp>(op))
      return map.map(state.getValue(),
                     read(Role::State, state.getName(), state.getValue().getType(), op->getLoc()));
    if (auto sum = dyn_cast<lang::ContributedOp>(op))
      return addSum(sum);
    if (auto update = dyn_cast<lang::UpdateOp>(op))
      return addUpdate(update);
    if (auto metric = dyn_cast<lang::MetricOp>(op))
      return addMetric(metric);
    builder.clone(*op, map);
  }

  /// Adds the updated states as results. A state without an update is an argument only.
  void finish() {
    for (auto &[name, value] : updated)
      part.addResult(Role::State, name, value);
  }

private:
  Value read(Role role, StringRef name, Type type, Location loc) {
    Value &arg = args[{role, name}];
    if (!arg)
      arg = part.addArg(role, name, type, loc);
    return arg;
  }

  void addSum(lang::ContributedOp sum) {
    NNBuilder b(sum.getLoc(), builder);
    Tensor type = typeOf(sum.getValue());
    Value total =
        read(Role::Contribution, sum.getName(), type.withElement(b.getF64Type()), sum.getLoc());
    map.map(sum.getValue(), b.cast(total, type.getElementType()));
  }

  void addUpdate(lang::UpdateOp update) {
    NNBuilder b(update.getLoc(), builder);
    Value value = b.broadcast(map.lookup(update.getValue()), typeOf(update.getState()));
    updated.push_back({update.getStateName(), value});
  }

  /// The mean over the layers that have the metric: a sum and a count.
  void addMetric(lang::MetricOp metric) {
    NNBuilder b(metric.getLoc(), builder);
    Value value = b.cast(map.lookup(metric.getValue()), b.getF64Type());
    for (auto [label, term] : {std::pair(Label{Role::Metric, metric.getName()}, value),
                               {labelOfCount(b.getContext(), Role::Metric, metric.getName()),
                                b.number(1, b.getF64Type())}}) {
      Value before = part.addArg(label, term.getType(), metric.getLoc());
      part.addResult(label, b.add(before, term));
    }
  }

  LayerOp part;
  OpBuilder builder;
  IRMapping map;
  std::map<std::pair<Role, StringRef>, Value> args;
  SmallVector<std::pair<StringRef, Value>> updated;
};
} // namespace

void LayerBuilder::finish() {
  if (onces.empty())
    return;
  OnceBuilder once(layer);
  for (lang::OnceOp op : onces)
    for (Operation &inner : op.getBody().front())
      once.clone(&inner);
  once.finish();
}
