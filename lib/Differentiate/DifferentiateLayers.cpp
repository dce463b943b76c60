//===- DifferentiateLayers.cpp - forward layers become joint layers -------===//
//
// Each distinct layer is differentiated once: the backward is appended to the forward in one graph.
// Its arguments are the cotangents of what the layer carries out and emits, its results those of
// what the layer reads. No residual is chosen here; `recompute` cuts.
//
//===----------------------------------------------------------------------===//
#include "lib/Differentiate/Differentiate.h"
#include "mlir/IR/BuiltinOps.h"

namespace tplan::differentiate {
#define GEN_PASS_DEF_DIFFERENTIATELAYERSPASS
#include "lib/Differentiate/Passes.h.inc"
} // namespace tplan::differentiate

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

/// The reverse sweep over one layer.
class JointBuilder {
public:
  JointBuilder(LayerOp layer, const DenseSet<unsigned> &activeArgs) : layer(layer) {
    for (unsigned i : activeArgs)
      active.insert(layer.getArgument(i));
    markActive(layer, active);
  }

  /// Values that depend on an active argument.
  static void markActive(LayerOp layer, DenseSet<Value> &active) {
    for (Operation &op : layer.getBlock().without_terminator())
      for (OpOperand &operand : op.getOpOperands())
        if (active.contains(operand.get()) &&
            differentiate::isDifferentiable(&op, operand.getOperandNumber()))
          active.insert(op.result_begin(), op.result_end());
  }

  void build() {
    unsigned numArgs = layer.getNumArguments(), numResults = layer.getNumResults();
    SmallVector<Operation *> forward;
    for (Operation &op : layer.getBlock().without_terminator())
      forward.push_back(&op);

    seed(numResults);
    for (Operation *op : llvm::reverse(forward))
      sweep(op);
    for (unsigned i = 0; i < numArgs; ++i)
      emit(i);
  }

private:
  NNBuilder builderAt(Location loc) { return NNBuilder(loc, layer.getReturn()); }

  /// Cotangents that come from outside: of carried results and of losses.
  void seed(unsigned numResults) {
    for (unsigned i = 0; i < numResults; ++i) {
      Value value = layer.getReturn().getOperands()[i];
      Role role = layer.getResultRole(i);
      if (!active.contains(value))
        continue;
      NNBuilder b = builderAt(value.getLoc());
      if (role == Role::Carried) {
        Label label = layer.getResultLabel(i);
        label.role = Role::CotCarried;
        accumulate(value, layer.addArg(label, value.getType(), value.getLoc()));
      } else if (role == Role::Loss) {
        Tensor scalar = Tensor::get(b.getContext(), {}, b.getF32Type());
        Value weight = layer.addArg(Role::CotLoss, layer.getResultName(i), scalar, value.getLoc());
        accumulate(value, b.cast(weight, typeOf(value).getElementType()));
      }
    }
  }

  /// Parameters and invariants keep their terms apart: each is added onto the accumulator.
  bool isAccumulated(Value value) {
    auto arg = dyn_cast<BlockArgument>(value);
    return arg &&
           llvm::is_contained({Role::Param, Role::Invariant}, layer.getArgRole(arg.getArgNumber()));
  }

  void accumulate(Value value, Value cotangent) {
    if (isAccumulated(value))
      return terms[value].push_back(cotangent);
    Value &sum = cotangents[value];
    sum = sum ? builderAt(cotangent.getLoc()).add(sum, cotangent) : cotangent;
  }

  void sweep(Operation *op) {
    SmallVector<Value> dy =
        llvm::map_to_vector(op->getResults(), [&](Value v) { return cotangents.lookup(v); });
    if (llvm::none_of(dy, [](Value v) { return bool(v); }))
      return;
    NNBuilder b = builderAt(op->getLoc());
    SmallVector<Value> dx = differentiate::buildAdjoint(b, op, dy);
    for (auto [operand, cotangent] : llvm::zip(op->getOperands(), dx))
      if (cotangent && active.contains(operand))
        accumulate(operand, cotangent);
  }

  /// The cotangent of argument i as a result: handed back, or added up.
  void emit(unsigned i) {
    Value arg = layer.getArgument(i);
    if (!active.contains(arg))
      return;
    NNBuilder b = builderAt(arg.getLoc());
    Label label = layer.getArgLabel(i);
    if (label.role == Role::Carried) {
      Value cotangent = cotangents.lookup(arg);
      if (!cotangent)
        cotangent = b.broadcast(b.like(arg, 0), typeOf(arg));
      label.role = Role::CotCarried;
      return layer.addResult(label, cotangent);
    }
    if (terms[arg].empty())
      return;
    label.role = label.role == Role::Param ? Role::CotParam : Role::CotInvariant;
    Value sum = layer.addArg(label, arg.getType(), arg.getLoc());
    for (Value term : terms[arg])
      sum = NNBuilder(term.getLoc(), layer.getReturn()).add(sum, term);
    layer.addResult(label, sum);
  }

  LayerOp layer;
  DenseSet<Value> active;
  DenseMap<Value, Value> cotangents;
  DenseMap<Value, SmallVector<Value>> terms; // of parameters and invariants
};

/// Which arguments of each layer are trained through, over all runs of the chain.
class Activity {
public:
  explicit Activity(ChainOp chain) : symbols(chain->getParentOfType<ModuleOp>()), chain(chain) {
    bool changed = true;
    while (changed) { // layers are shared by runs, so facts travel back
      changed = false;
      for (auto run : chain.getOps<RunOp>())
        changed |= visit(run);
    }
  }

  llvm::MapVector<LayerOp, DenseSet<unsigned>> activeArgs;

private:
  bool visit(RunOp run) {
    bool changed = false;
    SmallVector<bool> carried =
        llvm::map_to_vector(run.getCarried(), [&](Value v) { return activeValues.contains(v); });
    // In the second round what a layer carries out is what it carries in.
    for (int64_t t = 0, e = std::min<int64_t>(run.getTimes(), 2); t < e; ++t)
      for (auto callee : run.getCallees().getAsRange<FlatSymbolRefAttr>())
        changed |= visitLayer(symbols.lookup<LayerOp>(callee.getValue()), run, carried);
    for (auto [value, isActive] : llvm::zip(run.getResults(), carried))
      changed |= isActive && activeValues.insert(value).second;
    return changed;
  }

  bool visitLayer(LayerOp layer, RunOp run, SmallVector<bool> &carried) {
    DenseSet<unsigned> &args = activeArgs[layer];
    size_t before = args.size();
    unsigned c = 0, v = 0;
    for (unsigned i = 0, e = layer.getNumArguments(); i < e; ++i) {
      Role role = layer.getArgRole(i);
      if (role == Role::Param || (role == Role::Carried && carried[c++]) ||
          (role == Role::Invariant && activeValues.contains(run.getInvariants()[v++])))
        args.insert(i);
    }
    DenseSet<Value> active;
    for (unsigned i : args)
      active.insert(layer.getArgument(i));
    JointBuilder::markActive(layer, active);
    carried.clear();
    for (unsigned i = 0, e = layer.getNumResults(); i < e; ++i)
      if (layer.getResultRole(i) == Role::Carried)
        carried.push_back(active.contains(layer.getReturn().getOperands()[i]));
    return args.size() != before;
  }

  SymbolTable symbols;
  ChainOp chain;
  DenseSet<Value> activeValues;
};

struct DifferentiateLayersPass
    : tplan::differentiate::impl::DifferentiateLayersPassBase<DifferentiateLayersPass> {
  void runOnOperation() final {
    for (auto chain : getOperation().getOps<ChainOp>()) {
      if (!chain.getLosses())
        continue; // counts are not trained
      Activity activity(chain);
      for (auto &[layer, args] : activity.activeArgs)
        JointBuilder(layer, args).build();
    }
  }
};

} // namespace
