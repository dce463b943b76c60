//===- Rules.cpp - how an op may be shared by ranks -----------------------===//
#include "lib/Shard/Rules.h"
#include "dialects/nn/NNBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::shard;
using dist::Axes;
using dist::LayoutAttr;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static Rule elemental(Linear linear = Linear::None, ArrayRef<unsigned> in = {}) {
  Rule rule;
  rule.linear = linear;
  rule.linearIn.assign(in.begin(), in.end());
  rule.rows = true;
  return rule;
}

static Rule sums(ReduceKind kind, ArrayRef<unsigned> linearIn) {
  Rule rule;
  rule.reduction = kind;
  rule.linear = linearIn.empty() ? Linear::None : Linear::InEach;
  rule.linearIn.assign(linearIn.begin(), linearIn.end());
  return rule;
}

/// Attention reads whole rows of scores: positions and the width stay whole. The only sums that a
/// cut leaves pending are those over the heads of a group, in the gradient.
template <typename Op> static Rule attention(Op op) {
  Rule rule;
  AttentionAttr spec = op.getSpec();
  rule.whole = {spec.getQuery(), spec.getKey(), typeOf(op.getQ()).getDims().back().getName()};
  rule.exact = {spec.getHeads(), spec.getGroups()};
  rule.heads = spec.getHeads();
  rule.groups = spec.getGroups();
  return rule;
}

ConstantOp shard::numberOf(Operation *op) {
  auto broadcast = dyn_cast<BroadcastOp>(op);
  return broadcast ? broadcast.getX().getDefiningOp<ConstantOp>() : dyn_cast<ConstantOp>(op);
}

bool shard::isExact(CastOp cast) {
  auto from = dyn_cast<FloatType>(typeOf(cast.getX()).getElementType());
  auto to = dyn_cast<FloatType>(typeOf(cast.getResult()).getElementType());
  return from && to && to.getWidth() > from.getWidth();
}

bool shard::takesRows(Operation *op, const Rule &rule, dist::RowsAttr rows) {
  auto isWhole = [&](Type type) {
    auto has = [&](StringAttr dim) { return cast<Tensor>(type).has(dim); };
    return llvm::all_of(rows.getDims(), has) || llvm::none_of(rows.getDims(), has);
  };
  return rule.rows && !llvm::is_contained(rows.getDims(), rule.renamed) &&
         llvm::all_of(op->getOperandTypes(), isWhole) &&
         llvm::all_of(op->getResultTypes(), isWhole);
}

/// Where nn.split makes two dimensions, or nn.merge reads them: blocks, and the place in one.
static ArrayRef<DimAttr> splitDims(Operation *op, StringRef dim) {
  Tensor split = typeOf(isa<SplitOp>(op) ? op->getResult(0) : op->getOperand(0));
  return split.getDims().slice(split.find(dim), 2);
}

int64_t shard::blocksOf(Operation *op, StringRef dim) { return splitDims(op, dim)[0].getSize(); }

/// Axes cut between blocks, of which each rank has as many.
static Rule blocks(Operation *op, StringRef dim) {
  Rule rule = elemental(Linear::InEach, {0});
  rule.whole = {splitDims(op, dim)[1].getName()};
  rule.exact = {dim};
  rule.renamed = dim;
  return rule;
}

std::optional<Rule> shard::ruleOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Rule>>(op)
      .Case<AddOp, SubOp>([](auto) { return elemental(Linear::InAll, {0, 1}); })
      .Case<MulOp>([](auto) { return elemental(Linear::InEach, {0, 1}); })
      .Case<NegOp, DivOp, BroadcastOp>([](auto) { return elemental(Linear::InEach, {0}); })
      .Case<SelectOp>([](auto) { return elemental(Linear::InAll, {1, 2}); })
      .Case<MaxOp>([](auto) {
        Rule rule = elemental(Linear::InAny, {0, 1});
        rule.pending = ReduceKind::max;
        return rule;
      })
      .Case<CastOp>(
          [](CastOp cast) { return isExact(cast) ? elemental(Linear::InEach, {0}) : elemental(); })
      .Case<IndexOp, DropoutMaskOp, AuditOp>([](auto) { // logical positions, of each dimension
        Rule rule = elemental();
        rule.rows = false;
        return rule;
      })
      .Case<ReduceOp>([](ReduceOp reduce) {
        Rule rule = sums(reduce.getKind(), {0});
        rule.pending = reduce.getKind();
        rule.rows = true;
        return rule;
      })
      .Case<SplitOp, MergeOp>([](auto op) { return blocks(op, op.getDim()); })
      .Case<ContractOp>([](auto) { return sums(ReduceKind::sum, {0, 1}); })
      .Case<LookupOp, LookupGradOp>([](auto) { return sums(ReduceKind::sum, {0}); })
      .Case<RopeOp>([](RopeOp rope) {
        Rule rule = elemental(Linear::InEach, {0});
        rule.whole = {rope.getDim(), typeOf(rope.getCos()).getDims().back().getName()};
        rule.rows = false;
        return rule;
      })
      .Case<AttentionOp, AttentionGradOp>([](auto attention) { return ::attention(attention); })
      .Case<Elemental>([](auto) { return elemental(); })
      .Default(std::nullopt);
}

//===----------------------------------------------------------------------===//
// Strategies
//===----------------------------------------------------------------------===//

ArrayRef<StringAttr> Strategy::axesOf(StringRef factor) const {
  for (auto &[name, axes] : cuts)
    if (name == factor)
      return axes;
  return {};
}

void Strategy::set(StringAttr factor, ArrayRef<StringAttr> axes) {
  llvm::erase_if(cuts, [&](auto &cut) { return cut.first == factor; });
  if (!axes.empty())
    cuts.push_back({factor, Axes(axes)});
}

Axes Strategy::used() const {
  Axes all;
  for (auto &[name, axes] : cuts)
    llvm::append_range(all, axes);
  if (rows)
    llvm::append_range(all, rows.getAxes());
  return all;
}

bool shard::hasDim(Value v, StringRef name) { return typeOf(v).has(name); }

SmallVector<DimAttr> shard::factorsOf(Operation *op) {
  SmallVector<DimAttr> factors;
  auto add = [&](Type type) {
    for (DimAttr dim : cast<Tensor>(type).getDims())
      if (llvm::none_of(factors, [&](DimAttr f) { return f.getName() == dim.getName(); }))
        factors.push_back(dim);
  };
  llvm::for_each(op->getOperandTypes(), add);
  llvm::for_each(op->getResultTypes(), add);
  return factors;
}

bool shard::keepsGroups(Operation *op, const Rule &rule, const Strategy &strategy,
                        dist::MeshAttr mesh) {
  ArrayRef<StringAttr> heads = strategy.axesOf(rule.heads), groups = strategy.axesOf(rule.groups);
  if (heads.size() < groups.size() || heads.take_front(groups.size()) != groups)
    return false;
  return heads == groups || llvm::all_of(factorsOf(op), [&](DimAttr factor) {
           return factor.getName() != rule.groups || factor.getSize() == mesh.sizeOf(groups);
         });
}

LayoutAttr shard::restrict(Type type, const Strategy &strategy) {
  auto tensor = cast<Tensor>(type);
  LayoutAttr layout = LayoutAttr::get(type.getContext(), {}, {}, {}, {});
  for (auto &[name, axes] : strategy.cuts)
    if (tensor.has(name))
      layout = layout.withAxes(name, axes);
  if (strategy.rows && tensor.getRank() &&
      llvm::all_of(strategy.rows.getDims(), [&](StringAttr dim) { return tensor.has(dim); }))
    layout = layout.withRows(strategy.rows);
  return layout;
}

static LayoutAttr withPending(LayoutAttr layout, ReduceKind kind, ArrayRef<StringAttr> axes) {
  return kind == ReduceKind::max ? layout.withMax(axes) : layout.withSum(axes);
}

Layouts shard::apply(Operation *op, const Rule &rule, const Strategy &strategy,
                     ArrayRef<Axes> pending, dist::MeshAttr mesh) {
  Layouts layouts;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    Axes axes = i < pending.size() ? mesh.sorted(pending[i]) : Axes();
    layouts.operands.push_back(
        withPending(restrict(operand.getType(), strategy), rule.pending, axes));
  }
  // What passes through, and reductions over what the results lack.
  Axes passing;
  for (const Axes &axes : pending)
    llvm::append_range(passing, axes);
  for (Value result : op->getResults()) {
    LayoutAttr layout = restrict(result.getType(), strategy);
    Axes made;
    for (auto &[name, axes] : strategy.cuts)
      if (rule.reduction && !hasDim(result, name) &&
          llvm::any_of(op->getOperands(), [&](Value v) { return hasDim(v, name); }))
        llvm::append_range(made, axes);
    if (rule.reduction && strategy.rows && !layout.getRows())
      llvm::append_range(made, strategy.rows.getAxes());
    // The gradient of keys and values sums over the heads of a group, also where they are on
    // several ranks.
    if (isa<AttentionGradOp>(op) && !hasDim(result, rule.heads))
      made = dist::difference(strategy.axesOf(rule.heads), strategy.axesOf(rule.groups));
    if (rule.reduction.value_or(rule.pending) == rule.pending)
      llvm::append_range(made, passing);
    else
      layout = withPending(layout, rule.pending, mesh.sorted(passing));
    layouts.results.push_back(
        withPending(layout, rule.reduction.value_or(rule.pending), mesh.sorted(made)));
  }
  return layouts;
}
