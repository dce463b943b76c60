//===- CutJoint.cpp - joint layers become parts: forward, backward, evaluate ===//
//
// The parts are forward (F), backward in one (B) or cut into what the cotangents of inputs
// need (I) and the rest (W), and evaluate (E).
//
// Three explicit residual sets, F->I, F->W and I->W, each a minimum cut by bytes: what is cheap to
// compute again (element-wise ops) is never kept when what it reads is kept. Under `full` only the
// layer's own inputs are kept from F.
//
// One decision: parts are slices of one graph, so an op that two parts compute
// is the same op, and gives the same bits.
//
//===----------------------------------------------------------------------===//
#include "dialects/dist/Dist.h"
#include "dialects/nn/NNBuilder.h"
#include "dialects/nn/NNRuns.h"
#include "lib/Recompute/MinCut.h"
#include "lib/Recompute/Recompute.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace tplan::recompute {
#define GEN_PASS_DEF_CUTJOINTPASS
#include "lib/Recompute/Passes.h.inc"
} // namespace tplan::recompute

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using tplan::recompute::MinCut;

namespace {

using ValueSet = llvm::SetVector<Value>;
using OpSet = DenseSet<Operation *>;

/// Ops that `wanted` depends on, up to arguments and `given`.
OpSet slice(ArrayRef<Value> wanted, const ValueSet &given) {
  OpSet ops;
  SmallVector<Value> work(wanted);
  while (!work.empty()) {
    Value v = work.pop_back_val();
    Operation *op = v.getDefiningOp();
    if (op && !given.contains(v) && ops.insert(op).second)
      llvm::append_range(work, op->getOperands());
  }
  return ops;
}

/// Values that computing `wanted` from `given` reads, `wanted` themselves among them.
DenseSet<Value> valuesRead(ArrayRef<Value> wanted, const ValueSet &given) {
  DenseSet<Value> read(wanted.begin(), wanted.end());
  for (Operation *op : slice(wanted, given))
    read.insert(op->operand_begin(), op->operand_end());
  return read;
}

class Cutter {
public:
  Cutter(LayerOp joint, bool full) : joint(joint) {
    for (Operation &op : joint.getBlock().without_terminator())
      order.push_back(&op);
    cotangents = backwardOf(joint);
    keepFromForward(full);
    keepForWeights();
  }

  /// Adds the parts before the joint function, under its name.
  void emitParts();

private:
  using Results = SmallVector<unsigned>;

  /// Contributions of the forward, or of the backward.
  Results contributions(bool ofBackward) {
    Results selected = select({Role::Contribution});
    llvm::erase_if(selected, [&](unsigned i) {
      return cotangents.contains(joint.getReturn().getOperand(i)) != ofBackward;
    });
    return selected;
  }
  /// What the backward of the inputs gives.
  Results inputResults() {
    Results inputs = select({Role::CotCarried, Role::CotInvariant});
    llvm::append_range(inputs, contributions(/*ofBackward=*/true));
    return inputs;
  }

  /// Result numbers of some roles, in order.
  Results select(ArrayRef<Role> roles) {
    Results selected;
    for (unsigned i = 0, e = joint.getNumResults(); i < e; ++i)
      if (llvm::is_contained(roles, joint.getResultRole(i)))
        selected.push_back(i);
    return selected;
  }
  SmallVector<Value> valuesOf(const Results &numbers) {
    return llvm::map_to_vector(numbers,
                               [&](unsigned i) { return joint.getReturn().getOperands()[i]; });
  }
  /// What a value depends on.
  enum class Source { Numbers, Weights, Others };
  Source sourceOf(Value v);
  bool isGatheredWeight(Value v);
  void keepFromForward(bool full);
  void keepForWeights();
  LayerOp emit(Part part, const Results &numbers, const ValueSet &given,
               ArrayRef<std::pair<Role, const ValueSet *>> residuals);

  LayerOp joint;
  SmallVector<Operation *> order;
  DenseSet<Value> cotangents;      // depends on a cotangent
  ValueSet kept;                   // computed by F, read by the backward
  ValueSet keptInput, keptWeights; // those that only I reads; that W reads
  ValueSet passed;                 // computed by I, read by W
  DenseMap<Value, Source> sources; // as far as they were asked for
};

Cutter::Source Cutter::sourceOf(Value v) {
  if (auto arg = dyn_cast<BlockArgument>(v))
    return joint.getArgRole(arg.getArgNumber()) == Role::Param ? Source::Weights : Source::Others;
  if (auto known = sources.find(v); known != sources.end())
    return known->second;
  Source source = Source::Numbers;
  for (Value operand : v.getDefiningOp()->getOperands())
    source = std::max(source, sourceOf(operand));
  return sources[v] = source;
}

/// A weight that is gathered from the ranks is gathered again, because keeping it would keep the
/// whole weights of all layers. Between its owner and here it may have another form.
bool Cutter::isGatheredWeight(Value v) {
  Operation *op = v.getDefiningOp();
  return (!op || isa<dist::DistDialect>(op->getDialect())) && sourceOf(v) == Source::Weights;
}

/// Chooses which values of the forward the backward reads from memory.
void Cutter::keepFromForward(bool full) {
  if (full)
    return;
  MinCut cut;
  DenseMap<Value, unsigned> nodes;
  SmallVector<Value> values;
  auto node = [&](Value v) {
    auto [at, added] = nodes.insert({v, 0});
    if (added) {
      at->second = cut.addNode(bytesOf(v));
      values.push_back(v);
    }
    return at->second;
  };
  // An argument is at hand; only the layer's own inputs cost their bytes.
  auto isFree = [&](Value v) {
    auto arg = dyn_cast<BlockArgument>(v);
    return isGatheredWeight(v) || (arg && joint.getArgRole(arg.getArgNumber()) != Role::Carried);
  };
  Results results = inputResults();
  llvm::append_range(results, select({Role::CotParam}));
  OpSet backward = slice(valuesOf(results), {});
  for (Operation *op : order) {
    if (!backward.contains(op))
      continue;
    bool isCotangent = cotangents.contains(op->getResult(0));
    for (Value operand : op->getOperands()) {
      if (cotangents.contains(operand) || isFree(operand))
        continue;
      unsigned from = node(operand);
      if (isCotangent)
        cut.addSink(from);
      else if (isa<Elemental>(op))
        for (Value v : op->getResults())
          cut.addEdge(from, node(v));
    }
    if (!isCotangent && !isa<Elemental>(op)) // computed in F only
      for (Value v : op->getResults())
        cut.addSource(node(v));
  }
  for (Value v : values)
    if (isa<BlockArgument>(v))
      cut.addSource(nodes[v]);
  for (unsigned i : cut.solve())
    if (values[i].getDefiningOp())
      kept.insert(values[i]);
}

/// Chooses what W reads from F and from I.
void Cutter::keepForWeights() {
  SmallVector<Value> inputs = valuesOf(inputResults());
  SmallVector<Value> weights = valuesOf(select({Role::CotParam}));
  OpSet inI = slice(inputs, kept), inW = slice(weights, kept);

  MinCut cut;
  DenseMap<Value, unsigned> nodes;
  SmallVector<Value> values;
  auto node = [&](Value v) {
    auto [at, added] = nodes.insert({v, 0});
    if (added) {
      // What F kept and the arguments come from memory; what W alone computes stays in W.
      bool stored = !v.getDefiningOp() || kept.contains(v);
      bool fromI = v.getDefiningOp() && inI.contains(v.getDefiningOp());
      at->second = cut.addNode(stored || fromI ? bytesOf(v) : MinCut::kNever);
      values.push_back(v);
      if (stored)
        cut.addSource(at->second);
    }
    return at->second;
  };
  auto isFree = [&](Value v) {
    auto arg = dyn_cast<BlockArgument>(v);
    return isGatheredWeight(v) ||
           (arg && !llvm::is_contained({Role::Carried, Role::CotCarried},
                                       joint.getArgRole(arg.getArgNumber())));
  };
  for (Operation *op : order) {
    if (!inW.contains(op))
      continue;
    bool ownsToW = !inI.contains(op) || isa<Elemental>(op);
    for (Value operand : op->getOperands())
      if (ownsToW && !isFree(operand))
        for (Value v : op->getResults())
          cut.addEdge(node(operand), node(v));
    for (Value v : op->getResults())
      if (!ownsToW)
        cut.addSource(node(v));
  }
  for (Value v : weights)
    if (v.getDefiningOp())
      cut.addSink(node(v));
  for (unsigned i : cut.solve())
    if (values[i].getDefiningOp() && !kept.contains(values[i]))
      passed.insert(values[i]);
  ValueSet given = kept;
  given.insert(passed.begin(), passed.end());
  DenseSet<Value> read = valuesRead(weights, given);
  for (Value v : kept)
    (read.contains(v) ? keptWeights : keptInput).insert(v);
}

/// One part: results `numbers`, and the residual sets that it hands on. `given`
/// are the values that it reads from memory instead of computing them.
LayerOp Cutter::emit(Part part, const Results &numbers, const ValueSet &given,
                     ArrayRef<std::pair<Role, const ValueSet *>> residuals) {
  OpBuilder builder(joint);
  LayerOp layer = createPart(builder, joint.getLoc(), joint.getWholeLayer(), part);
  builder.setInsertionPoint(layer.getReturn());

  SmallVector<Value> wanted = valuesOf(numbers);
  for (auto &[role, set] : residuals)
    llvm::append_range(wanted, set->getArrayRef());
  OpSet ops = slice(wanted, given);
  DenseSet<Value> used(wanted.begin(), wanted.end());
  for (Operation *op : ops)
    used.insert(op->operand_begin(), op->operand_end());

  IRMapping map;
  for (unsigned i = 0, e = joint.getNumArguments(); i < e; ++i) {
    BlockArgument arg = joint.getArgument(i);
    if (used.contains(arg))
      map.map(arg, layer.addArg(joint.getArgLabel(i), arg.getType(), arg.getLoc()));
  }
  DenseMap<Value, std::string> names;
  for (auto [i, v] : llvm::enumerate(passed))
    names[v] = "d" + std::to_string(i);
  for (auto [i, v] : llvm::enumerate(kept))
    names[v] = "r" + std::to_string(i);
  for (Value v : given)
    if (used.contains(v)) {
      Role role = passed.contains(v)        ? Role::ResIW
                  : keptWeights.contains(v) ? Role::ResFW
                                            : Role::ResFI;
      map.map(v, layer.addArg(role, names[v], v.getType(), v.getLoc()));
    }
  for (Operation *op : order) {
    if (!ops.contains(op))
      continue;
    auto mask = dyn_cast<DropoutMaskOp>(op);
    if (mask && part == Part::Evaluate) { // evaluation keeps every element
      NNBuilder b(op->getLoc(), builder);
      map.map(mask.getResult(), b.broadcast(b.like(mask.getResult(), 1), typeOf(mask.getResult())));
    } else if (auto audit = dyn_cast<AuditOp>(op); audit && part == Part::Evaluate) {
      map.map(audit.getResult(), map.lookup(audit.getX()));
    } else {
      builder.clone(*op, map);
    }
  }
  for (unsigned i : numbers)
    layer.addResult(joint.getResultLabel(i), map.lookup(joint.getReturn().getOperands()[i]));
  for (auto &[role, set] : residuals)
    for (Value v : *set)
      layer.addResult(role, names[v], map.lookup(v));
  return layer;
}

int64_t totalBytes(const ValueSet &values) {
  int64_t bytes = 0;
  for (Value v : values)
    bytes += bytesOf(v);
  return bytes;
}

void Cutter::emitParts() {
  Results forward = select({Role::Carried, Role::Loss});
  llvm::append_range(forward, contributions(/*ofBackward=*/false));
  Results evaluated = select({Role::Carried, Role::Loss, Role::Output});
  Results inputs = inputResults();
  Results weights = select({Role::CotParam});
  Results both = inputs;
  llvm::append_range(both, weights);
  ValueSet none, forWeights = kept;
  forWeights.insert(passed.begin(), passed.end());

  LayerOp f =
      emit(Part::Forward, forward, none, {{Role::ResFI, &keptInput}, {Role::ResFW, &keptWeights}});
  Builder b(joint.getContext());
  f->setAttr(
      "residual_bytes",
      b.getDictionaryAttr({b.getNamedAttr("f_to_i", b.getI64IntegerAttr(totalBytes(keptInput))),
                           b.getNamedAttr("f_to_w", b.getI64IntegerAttr(totalBytes(keptWeights))),
                           b.getNamedAttr("i_to_w", b.getI64IntegerAttr(totalBytes(passed)))}));
  if (!both.empty())
    emit(Part::Backward, both, kept, {});
  if (!inputs.empty() || !passed.empty())
    emit(Part::BackwardInputs, inputs, kept, {{Role::ResIW, &passed}});
  if (!weights.empty())
    emit(Part::BackwardWeights, weights, forWeights, {});
  emit(Part::Evaluate, evaluated, none, {});
}

struct CutJointPass : tplan::recompute::impl::CutJointPassBase<CutJointPass> {
  void runOnOperation() final {
    // The counts are no part of training: they are evaluated as they are.
    SymbolTable symbols(getOperation());
    for (auto chain : getOperation().getOps<ChainOp>())
      if (!chain.getLosses())
        for (auto run : chain.getOps<RunOp>())
          for (auto callee : run.getCallees().getAsRange<FlatSymbolRefAttr>()) {
            auto layer = symbols.lookup<LayerOp>(callee.getValue());
            layer.setLayerAttr(callee);
            layer.setPart(Part::Evaluate);
            layer.setSymName(partSymbol(callee.getValue(), Part::Evaluate));
          }
    for (auto layer : llvm::make_early_inc_range(getOperation().getOps<LayerOp>()))
      if (!layer.getPart()) {
        Cutter(layer, recompute::policyOf(layer) == lang::RecomputePolicy::Full).emitParts();
        layer.erase();
      }
  }
};

} // namespace
