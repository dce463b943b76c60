//===- AssignLayouts.cpp - a layout for every value -----------------------===//
//
// Writes beside each value how the ranks share it, and puts a `dist.reshard` where an op
// takes a value otherwise than it is made. Sizes stay global: without its layouts the
// module is the serial program.
//
// One decision: a value is converted once, where it is made, to the layout in which most
// of its readers take it; readers that differ convert from there, and equal ones share it.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/nn/NNRuns.h"
#include "lib/Shard/FunctionLayouts.h"
#include "lib/Shard/Shard.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

namespace tplan::shard {
#define GEN_PASS_DEF_ASSIGNLAYOUTSPASS
#include "lib/Shard/Passes.h.inc"
} // namespace tplan::shard

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::shard;
using dist::Axes;
using dist::LayoutAttr;

namespace {

void setLayouts(Operation *op, ArrayRef<LayoutAttr> layouts) {
  op->setAttr(
      dist::kLayouts,
      ArrayAttr::get(op->getContext(), SmallVector<Attribute>(layouts.begin(), layouts.end())));
}

/// Writes the layouts of one function, and its reshards.
class LayerWriter {
public:
  LayerWriter(LayerOp layer, const FunctionLayouts &plan, const Placement &placement,
              const Borders &borders)
      : layer(layer), plan(plan), placement(placement), borders(borders) {}

  LogicalResult write() {
    for (unsigned i = 0, e = layer.getNumArguments(); i < e; ++i) {
      LayoutAttr layout = borders.ofArg(layer, i);
      if (!layout)
        return failure();
      layer.setArgAttr(i, dist::kLayout, layout);
      BlockArgument arg = layer.getArgument(i);
      versions[arg].push_back({layout, arg});
    }
    SmallVector<Operation *> ops;
    for (Operation &op : layer.getBlock().without_terminator())
      ops.push_back(&op);
    for (Operation *op : ops)
      writeOp(op);
    for (unsigned i = 0, e = layer.getNumResults(); i < e; ++i) {
      LayoutAttr layout = borders.ofResult(layer, i);
      if (!layout)
        return failure();
      layer.setResultAttr(i, dist::kLayout, layout);
      OpOperand &operand = layer.getReturn()->getOpOperand(i);
      operand.set(get(operand.get(), layout, layer.getReturn()));
    }
    return success();
  }

private:
  void writeOp(Operation *op) {
    const OpPlan &how = plan.of(op);
    Layouts layouts = how.layouts;
    if (how.accumulates) { // both terms as the accumulator is kept
      LayoutAttr kept = versions[op->getOperand(0)].front().first;
      layouts.operands = {kept, kept};
      layouts.results = {kept};
    }
    for (OpOperand &operand : op->getOpOperands())
      operand.set(get(operand.get(), layouts.operands[operand.getOperandNumber()], op));
    setLayouts(op, layouts.results);
    for (auto [result, made] : llvm::zip(op->getResults(), layouts.results)) {
      auto &known = versions[result];
      known.push_back({made, result});
      LayoutAttr home = plan.homeOf(result);
      if (made == home || how.waits || how.accumulates)
        continue;
      // From here on the value is kept in its home.
      OpBuilder b(op->getContext());
      b.setInsertionPointAfter(op);
      Value kept = reshard(b, result, home);
      known.insert(known.begin(), {home, kept});
    }
  }

  Value reshard(OpBuilder &b, Value v, LayoutAttr to) {
    auto op = dist::ReshardOp::create(b, v.getLoc(), v.getType(), v);
    setLayouts(op, to);
    return op.getResult();
  }

  /// v in a layout, at a place where `reader` can take it.
  Value get(Value v, LayoutAttr layout, Operation *reader) {
    auto &known = versions[v];
    for (auto &[other, value] : known)
      if (other == layout)
        return value;
    OpBuilder b(reader);
    Value made;
    if (Operation *op = v.getDefiningOp(); op && isNumber(op, layout)) {
      Operation *copy = b.clone(*op); // a number has every layout
      setLayouts(copy, layout);
      made = copy->getResult(0);
    } else {
      // A change to fewer bytes is made at once, one to more bytes as late as possible.
      auto [from, source] = known.front();
      Tensor type = typeOf(v);
      if (placement.localType(type, layout).getBytes() < placement.localType(type, from).getBytes())
        b.setInsertionPointAfterValue(source);
      made = reshard(b, source, layout);
    }
    known.push_back({layout, made});
    return made;
  }

  /// An op that makes one number in every element may be repeated anywhere; as a term of a pending
  /// sum only if the number is zero.
  static bool isNumber(Operation *op, LayoutAttr layout) {
    ConstantOp number = numberOf(op);
    return number && (!layout.isPending() || number.getValue().isZero());
  }

  LayerOp layer;
  const FunctionLayouts &plan;
  const Placement &placement;
  const Borders &borders;
  DenseMap<Value, SmallVector<std::pair<LayoutAttr, Value>, 2>> versions;
};

struct AssignLayoutsPass : tplan::shard::impl::AssignLayoutsPassBase<AssignLayoutsPass> {
  void runOnOperation() final {
    if (failed(run(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult run(ModuleOp module) {
    FailureOr<Placement> placement = Placement::read(module);
    if (failed(placement))
      return failure();
    if (!placement->needsLayouts())
      return success();
    module->setAttr(dist::kMesh, placement->mesh);
    FailureOr<Borders> borders = Borders::read(module, *placement);
    if (failed(borders))
      return failure();
    // What is pending in an accumulator comes from all functions that add to it.
    std::vector<std::pair<LayerOp, FunctionLayouts>> plans;
    for (auto layer : module.getOps<LayerOp>()) {
      FunctionLayouts &plan =
          plans.emplace_back(layer, FunctionLayouts(layer, *placement, *borders)).second;
      if (failed(plan.plan()))
        return failure();
    }
    for (auto &[layer, plan] : plans)
      plan.addPending(*borders);
    for (auto &[layer, plan] : plans)
      if (failed(LayerWriter(layer, plan, *placement, *borders).write()))
        return failure();
    return addReductions(module, *borders, *placement);
  }

  /// Part `reduce`: sums what is pending in a layer's accumulators after the backwards.
  LogicalResult addReductions(ModuleOp module, const Borders &borders, const Placement &placement) {
    SmallVector<LayerOp> readers;
    for (auto layer : module.getOps<LayerOp>())
      if (layer.getPart() == Part::Update || layer.getPart() == Part::States)
        readers.push_back(layer);
    SymbolTable symbols(module);
    PartTable<LayerOp> parts(module);
    for (LayerOp reader : readers)
      for (unsigned i = 0, e = reader.getNumArguments(); i < e; ++i)
        if (Role role = reader.getArgRole(i); role == Role::CotParam || role == Role::Contribution)
          reduce(symbols, parts, reader, i, borders);
    for (auto chain : module.getOps<ChainOp>())
      if (failed(writeChain(chain, borders, placement)))
        return failure();
    return success();
  }

  /// Adds to part `reduce` of a layer the accumulator that is argument i of part `reader`, if
  /// `reader` takes it in another layout than the backward leaves it in.
  void reduce(SymbolTable &symbols, PartTable<LayerOp> &parts, LayerOp reader, unsigned i,
              const Borders &borders) {
    Label label = reader.getArgLabel(i);
    BlockArgument read = reader.getArgument(i);
    FlatSymbolRefAttr whole = reader.getWholeLayer();
    auto type = cast<Tensor>(read.getType());
    LayoutAttr after = dist::layoutOf(read);
    OpBuilder b(reader);
    LayoutAttr before = borders.of({whole, Part::Reduce, reader.getLoc()}, label, type,
                                   /*isResult=*/false);
    if (before == after)
      return;
    LayerOp layer = partOrMade(symbols, parts, b, reader.getLoc(), whole, Part::Reduce);
    BlockArgument arg = layer.addArg(label, type, read.getLoc());
    layer.setArgAttr(arg.getArgNumber(), dist::kLayout, before);
    b.setInsertionPoint(layer.getReturn());
    auto op = dist::ReshardOp::create(b, read.getLoc(), type, arg);
    setLayouts(op, after);
    layer.addResult(label, op.getResult());
    layer.setResultAttr(layer.getNumResults() - 1, dist::kLayout, after);
  }

  /// Writes the layouts of losses, counts and the norm: sums that no function of the layer reads.
  LogicalResult writeChain(ChainOp chain, const Borders &borders, const Placement &placement) {
    for (Operation &op : chain.getBody().front()) {
      SmallVector<LayoutAttr> layouts;
      for (Value v : op.getResults())
        layouts.push_back(borders.ofChain(v));
      if (llvm::is_contained(layouts, LayoutAttr()))
        return failure();
      setLayouts(&op, layouts);
    }
    SmallVector<NamedAttribute> pending;
    auto add = [&](StringRef name, ArrayRef<StringAttr> axes) {
      if (!axes.empty())
        pending.push_back(
            {StringAttr::get(&getContext(), name), dist::arrayOf(&getContext(), axes)});
    };
    SymbolTable symbols(getOperation());
    llvm::StringSet<> seen;
    for (auto run : chain.getOps<RunOp>())
      for (auto callee : run.getCallees().getAsRange<FlatSymbolRefAttr>())
        if (auto layer = symbols.lookup<LayerOp>(callee.getValue()))
          for (unsigned i = 0, e = layer.getNumResults(); i < e; ++i)
            if (layer.getResultRole(i) == Role::Loss && seen.insert(layer.getResultName(i)).second)
              add(layer.getResultName(i), borders.pendingOf(Role::Loss, layer.getResultName(i)));
    if (chain.getLosses())
      add(dist::kNormSum, placement.mesh.getAxesInStage());
    chain->setAttr(dist::kPending, DictionaryAttr::get(&getContext(), pending));
    return success();
  }
};

} // namespace
