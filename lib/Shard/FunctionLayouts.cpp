//===- FunctionLayouts.cpp - a strategy for each op of a function ---------===//
#include "lib/Shard/FunctionLayouts.h"
#include "dialects/nn/NNBuilder.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::shard;
using dist::Axes;
using dist::LayoutAttr;

/// Whether the layer works only on weights, gradients and states, element by element.
static bool isUpdate(LayerOp layer) {
  return layer.getPart() && factsOf(*layer.getPart()).isElementwise;
}

//===----------------------------------------------------------------------===//
// Cuts spread
//===----------------------------------------------------------------------===//

bool FunctionLayouts::give(Value v, StringAttr dim, ArrayRef<StringAttr> axes) {
  if (!v.getDefiningOp() || !hasDim(v, dim)) // what a border has decided stays
    return false;
  Spread &spread = spreads[v];
  for (auto &[name, cut] : spread.cuts)
    if (name == dim || dist::intersects(cut, axes))
      return false;
  spread.cuts.push_back({dim, Axes(axes)});
  return true;
}

/// What the borders cut beyond what names say: the residual stream, and rows of weights.
LogicalResult FunctionLayouts::seed() {
  auto take = [&](Value v, LayoutAttr layout) -> LogicalResult {
    if (!layout)
      return failure();
    Spread &spread = spreads[v];
    for (DimAttr dim : typeOf(v).getDims()) {
      StringAttr name = StringAttr::get(layer.getContext(), dim.getName());
      Axes more = dist::difference(layout.axesOf(name), placement.axesOf(dim));
      if (!more.empty() && spread.cuts.empty())
        spread.cuts.push_back({name, more});
    }
    if (isUpdate(layer) && layout.getRows() && !spread.rows)
      spread.rows = layout.getRows().withInWhole(false);
    return success();
  };
  for (unsigned i = 0, e = layer.getNumArguments(); i < e; ++i)
    if (failed(take(layer.getArgument(i), borders.ofArg(layer, i))))
      return failure();
  for (unsigned i = 0, e = layer.getNumResults(); i < e; ++i)
    if (Value v = layer.getReturn().getOperand(i);
        v.getDefiningOp() && failed(take(v, borders.ofResult(layer, i))))
      return failure();
  return success();
}

/// Whether no line of the plan cuts another factor of the op over these axes.
bool FunctionLayouts::mayCut(Operation *op, const Rule &rule, StringAttr dim,
                             ArrayRef<StringAttr> axes) const {
  if (llvm::is_contained(rule.whole, dim.getValue()))
    return false;
  if (llvm::is_contained(rule.exact, dim.getValue()))
    return dim == rule.renamed && blocksOf(op, dim) % placement.mesh.sizeOf(axes) == 0;
  return llvm::none_of(factorsOf(op), [&](DimAttr factor) {
    return dist::intersects(placement.axesOf(factor), axes);
  });
}

bool FunctionLayouts::spreadOver(Operation *op) {
  std::optional<Rule> rule = ruleOf(op);
  if (!rule)
    return false;
  bool changed = false;
  SmallVector<Value> values(op->getOperands());
  llvm::append_range(values, op->getResults());
  for (Value from : values) {
    Spread spread = spreads.lookup(from);
    for (auto &[dim, axes] : spread.cuts)
      if (mayCut(op, *rule, dim, axes))
        for (Value to : values)
          changed |= give(to, dim, axes);
    if (!spread.rows || !takesRows(op, *rule, spread.rows))
      continue;
    for (Value to : values)
      if (to.getDefiningOp() && !spreads[to].rows && typeOf(to).getRank() &&
          llvm::all_of(spread.rows.getDims(), [&](StringAttr d) { return hasDim(to, d); })) {
        spreads[to].rows = spread.rows;
        changed = true;
      }
  }
  return changed;
}

void FunctionLayouts::spread() {
  auto ops = layer.getBlock().without_terminator();
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation &op : ops)
      changed |= spreadOver(&op);
    for (Operation &op : llvm::reverse(ops))
      changed |= spreadOver(&op);
  }
}

LayoutAttr FunctionLayouts::homeOf(Value v) const {
  Strategy strategy;
  for (DimAttr dim : typeOf(v).getDims())
    strategy.set(StringAttr::get(v.getContext(), dim.getName()), placement.axesOf(dim));
  if (auto found = spreads.find(v); found != spreads.end()) {
    for (auto &[dim, axes] : found->second.cuts)
      if (!dist::intersects(strategy.used(), axes))
        strategy.set(dim, axes);
    strategy.rows = found->second.rows;
  }
  return restrict(v.getType(), strategy);
}

//===----------------------------------------------------------------------===//
// Strategies
//===----------------------------------------------------------------------===//

FailureOr<Strategy> FunctionLayouts::strategyOf(Operation *op, const Rule &rule,
                                                ArrayRef<StringAttr> without) const {
  Strategy strategy;
  llvm::StringMap<StringRef> taken; // axis -> factor
  for (DimAttr factor : factorsOf(op)) {
    Axes axes = dist::difference(placement.axesOf(factor), without);
    if (axes.empty())
      continue;
    StringRef name = factor.getName();
    if (llvm::is_contained(rule.whole, name)) {
      auto diag = op->emitError("needs all of dimension ")
                  << name << " on each rank, which the plan cuts over " << dist::spell(axes);
      diag.attachNote(placement.lineOf(name)) << name << " is cut here; leave it whole";
      return failure();
    }
    for (StringAttr axis : axes) {
      auto [other, isNew] = taken.try_emplace(axis, name);
      bool grouped = (other->second == rule.heads || other->second == rule.groups) &&
                     (name == rule.heads || name == rule.groups);
      if (!isNew && !grouped)
        return placement.refuseTwice(op->getLoc(), "computation", axis, other->second, name);
    }
    strategy.set(StringAttr::get(op->getContext(), name), axes);
  }
  SmallVector<Value> values(op->getResults());
  llvm::append_range(values, op->getOperands());
  for (Value v : values) {
    auto spread = spreads.find(v);
    if (spread == spreads.end())
      continue;
    for (auto &[dim, axes] : spread->second.cuts)
      if (strategy.axesOf(dim).empty() && !dist::intersects(strategy.used(), axes) &&
          !dist::intersects(without, axes) && mayCut(op, rule, dim, axes))
        strategy.set(dim, axes);
    if (spread->second.rows && !strategy.rows && takesRows(op, rule, spread->second.rows))
      strategy.rows = spread->second.rows;
  }
  return strategy;
}

/// Each rank must have as many blocks of a dimension that is split.
LogicalResult FunctionLayouts::checkBlocks(Operation *op, StringRef name,
                                           const Strategy &strategy) const {
  ArrayRef<StringAttr> axes = strategy.axesOf(name);
  int64_t blocks = blocksOf(op, name), ranks = placement.mesh.sizeOf(axes);
  if (blocks % ranks == 0)
    return success();
  int64_t size = 0;
  for (Type type : {op->getOperand(0).getType(), op->getResult(0).getType()})
    if (auto tensor = cast<Tensor>(type); tensor.has(name))
      size = std::max(size, tensor.getDims()[tensor.find(name)].getSize());
  auto diag = op->emitError("axes cut between blocks of ")
              << size / blocks << " elements, which have one scale: " << name << " has " << blocks
              << " of them, found " << ranks << " ranks along " << dist::spell(axes);
  diag.attachNote(placement.lineOf(name))
      << name << " is cut here: over a number of ranks that divides " << blocks
      << ", or leave these weights out with `except`, or name fp8(rowwise), which has no blocks";
  return failure();
}

/// Blocks of heads must be equal, and hold whole groups or lie within one.
LogicalResult FunctionLayouts::checkExact(Operation *op, const Rule &rule,
                                          const Strategy &strategy) const {
  if (!rule.renamed.empty())
    return checkBlocks(op, rule.renamed, strategy);
  for (StringRef name : rule.exact) {
    int64_t size = 0, ranks = placement.mesh.sizeOf(strategy.axesOf(name));
    for (DimAttr factor : factorsOf(op))
      if (factor.getName() == name)
        size = factor.getSize();
    if (size % ranks == 0)
      continue;
    int64_t less = ranks, more = ranks;
    while (size % less)
      --less;
    while (more < size && size % more)
      ++more;
    auto diag =
        op->emitError("attention cannot cut ")
        << name << " of size " << size << " into equal blocks; nearest are " << less
        << (more <= size && size % more == 0 && more != less ? " and " + std::to_string(more)
                                                             : std::string())
        << " ranks, found " << ranks;
    diag.attachNote(placement.lineOf(name)) << name << " is cut here";
    return failure();
  }
  ArrayRef<StringAttr> heads = strategy.axesOf(rule.heads), groups = strategy.axesOf(rule.groups);
  if (!keepsGroups(op, rule, strategy, placement.mesh)) {
    auto cut = [](StringRef name, ArrayRef<StringAttr> axes) {
      return axes.empty() ? (name + " whole").str() : (name + " over " + dist::spell(axes)).str();
    };
    auto diag = op->emitError("attention needs its heads cut as their groups are, and further "
                              "only within one group; found ")
                << cut(rule.heads, heads) << " and " << cut(rule.groups, groups);
    diag.attachNote(placement.lineOf(rule.heads))
        << "give " << rule.heads << " and " << rule.groups << " the same axes";
    return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Pending sums
//===----------------------------------------------------------------------===//

/// The ops that add to an accumulator, or keep the larger.
static bool accumulates(Operation *op) {
  return isa_and_nonnull<AddOp, MaxOp>(op) && op->hasOneUse();
}

/// Finds the results that are an argument with something added, or the larger of the two.
void FunctionLayouts::findAccumulators() {
  for (unsigned i = 0, e = layer.getNumResults(); i < e; ++i) {
    if (!llvm::is_contained({Role::Loss, Role::Contribution, Role::CotParam},
                            layer.getResultRole(i)))
      continue;
    // (argument + term) + term: a weight may be read twice.
    SmallVector<Operation *> ops;
    Value v = layer.getReturn().getOperand(i);
    for (; accumulates(v.getDefiningOp()); v = ops.back()->getOperand(0))
      ops.push_back(v.getDefiningOp());
    auto arg = dyn_cast<BlockArgument>(v);
    bool alike =
        llvm::all_of(ops, [&](Operation *op) { return op->getName() == ops.front()->getName(); });
    if (arg && alike && layer.isInPlace(arg.getArgNumber(), i))
      for (Operation *op : ops)
        accumulators[op] = i;
  }
  // The norm goes from one part `norm` to the next, each of which adds the squares of its weights.
  if (layer.getPart() == Part::Norm)
    for (Value v = layer.getReturn().getOperand(0); auto add = v.getDefiningOp<AddOp>();
         v = add.getLhs())
      accumulators[add] = 0;
}

/// Readers that a pending sum may pass through at no cost: additions to another sum, and ops that
/// make the value smaller or change its sign.
static bool passesOn(Operation *reader, Value v) {
  if (isa<AddOp, SubOp>(reader))
    return reader->getOperand(0) != reader->getOperand(1);
  if (auto reduce = dyn_cast<ReduceOp>(reader))
    return reduce.getKind() == ReduceKind::sum;
  if (isa<MulOp>(reader))
    return reader->getOperand(reader->getOperand(0) == v).getDefiningOp<ConstantOp>();
  if (auto cast = dyn_cast<CastOp>(reader))
    return isExact(cast);
  if (auto grad = dyn_cast<LookupGradOp>(reader)) // into a table of positions
    return grad.getCotangent() == v;
  return isa<NegOp>(reader);
}

static bool isMaximum(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce && reduce.getKind() == ReduceKind::max;
}

/// Sums that an op makes or, where all its terms can be passed on, passes on; in the order of the
/// program. A maximum is passed on to further maxima, and to the accumulator that reads it.
void FunctionLayouts::findSums() {
  auto sumsOf = [&](Value v, bool isMax = false) {
    return v.hasOneUse() && maxima.contains(v) == isMax ? sums.lookup(v) : Axes();
  };
  for (Operation &op : layer.getBlock().without_terminator()) {
    std::optional<Rule> rule = ruleOf(&op);
    FailureOr<Strategy> strategy =
        rule ? strategyOf(&op, *rule, {}) : FailureOr<Strategy>(failure());
    if (failed(strategy) || op.getNumResults() != 1 || accumulators.contains(&op))
      continue;
    LayoutAttr made = apply(&op, *rule, *strategy, {}, placement.mesh).results.front();
    if (isMaximum(&op)) {
      Axes all(made.getMax());
      llvm::append_range(all, sumsOf(op.getOperand(0), /*isMax=*/true));
      sums[op.getResult(0)] = placement.mesh.sorted(all);
      maxima.insert(op.getResult(0));
      continue;
    }
    Axes all(made.getSum());
    bool joins = isa<AddOp, SubOp>(op) &&
                 llvm::none_of(op.getOperands(), [&](Value term) { return sumsOf(term).empty(); });
    for (Value operand : op.getOperands())
      if (joins || (!isa<AddOp, SubOp>(op) && passesOn(&op, operand)))
        llvm::append_range(all, sumsOf(operand));
    sums[op.getResult(0)] = placement.mesh.sorted(all);
  }
}

/// Whether v is handed on with its sums pending.
bool FunctionLayouts::waits(Value v) const {
  bool isMax = maxima.contains(v);
  if (!v.hasOneUse() || sums.lookup(v).empty())
    return false;
  Operation *reader = *v.getUsers().begin();
  if (accumulators.contains(reader))
    return isa<MaxOp>(reader) == isMax;
  if (isMax)
    return isMaximum(reader);
  if (!passesOn(reader, v))
    return false;
  return !isa<AddOp, SubOp>(reader) || llvm::all_of(reader->getOperands(), [&](Value term) {
    auto other = sums.find(term);
    return other != sums.end() && !other->second.empty() && term.hasOneUse() &&
           !maxima.contains(term);
  });
}

LogicalResult FunctionLayouts::planOp(Operation *op) {
  std::optional<Rule> rule = ruleOf(op);
  if (!rule)
    return op->emitError("no rule says how ranks may share this operation: ") << op->getName();
  OpPlan plan;
  plan.accumulates = accumulators.contains(op);
  plan.pending.assign(op->getNumOperands(), {});
  Axes waiting;
  if (!plan.accumulates)
    for (Value operand : op->getOperands())
      if (waits(operand))
        llvm::append_range(waiting, sums.lookup(operand));
  waiting = placement.mesh.sorted(waiting);
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (!waiting.empty() && waits(operand))
      plan.pending[i] = waiting;
  FailureOr<Strategy> strategy = strategyOf(op, *rule, waiting);
  if (failed(strategy) || failed(checkExact(op, *rule, *strategy)))
    return failure();
  plan.strategy = std::move(*strategy);
  plan.layouts = apply(op, *rule, plan.strategy, plan.pending, placement.mesh);
  plan.waits = op->getNumResults() == 1 && waits(op->getResult(0));
  plans[op] = std::move(plan);
  return success();
}

LogicalResult FunctionLayouts::plan() {
  findAccumulators();
  if (failed(seed()))
    return failure();
  spread();
  {
    // Errors of strategies are reported when ops are planned.
    ScopedDiagnosticHandler quiet(layer.getContext(), [](Diagnostic &) { return success(); });
    findSums();
  }
  for (Operation &op : layer.getBlock().without_terminator())
    if (failed(planOp(&op)))
      return failure();
  return success();
}

void FunctionLayouts::addPending(Borders &to) {
  for (auto [add, result] : accumulators) {
    Value term = add->getOperand(1);
    auto source = term.getDefiningOp() ? plans.find(term.getDefiningOp()) : plans.end();
    if (source == plans.end() || source->second.layouts.results.size() != 1)
      continue;
    to.addPending(layer, layer.getResultRole(result), layer.getResultName(result),
                  source->second.layouts.results.front());
  }
}
