//===- CheckOp.cpp - whether one op's layouts are right -------------------===//
#include "lib/Shard/CheckOp.h"
#include "dialects/nn/NNBuilder.h"
#include "lib/Shard/CheckChange.h"
#include "lib/Shard/Rules.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::shard;
using dist::Axes;
using dist::LayoutAttr;

namespace {

std::string listOf(ArrayRef<StringAttr> axes) {
  return axes.empty() ? "no axis" : dist::spell(axes);
}

/// The number of an operand, as messages give it.
std::string operandName(unsigned i) { return "operand " + std::to_string(i); }

bool hasAny(Value v, dist::RowsAttr rows) {
  return llvm::any_of(rows.getDims(), [&](StringAttr dim) { return hasDim(v, dim); });
}
bool hasAll(Value v, dist::RowsAttr rows) {
  return llvm::all_of(rows.getDims(), [&](StringAttr dim) { return hasDim(v, dim); });
}

class OpChecker {
public:
  OpChecker(Operation *op, const Rule &rule, dist::MeshAttr mesh)
      : op(op), rule(rule), mesh(mesh) {}

  LogicalResult check() {
    return success(succeeded(findRows()) && succeeded(findCuts()) && succeeded(checkFactors()) &&
                   succeeded(checkPending()) && succeeded(checkResults()));
  }

private:
  /// Rows may be read by ops that work position by position, and by sums over all positions.
  LogicalResult findRows() {
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      dist::RowsAttr rows = dist::layoutOf(operand).getRows();
      if (!rows)
        continue;
      if (rows.getInWhole()) {
        auto diag = op->emitError("only the rank's own block of this memory is valid: ")
                    << operandName(i) << " of " << op->getName();
        diag.attachNote() << "take the block first, with dist.slice, or gather it";
        return diag;
      }
      if (!strategy.rows)
        strategy.rows = rows;
      else if (strategy.rows != rows)
        return op->emitError("operands must have the same rows, found ")
               << strategy.rows << " and " << rows;
    }
    for (Value result : op->getResults())
      if (dist::RowsAttr rows = dist::layoutOf(result).getRows();
          rows && !rows.getInWhole() && !strategy.rows &&
          llvm::none_of(op->getOperands(), [&](Value v) { return hasAny(v, rows); }))
        strategy.rows = rows;
    if (!strategy.rows)
      return success();
    if (!rule.rows || llvm::is_contained(strategy.rows.getDims(), rule.renamed)) {
      auto diag = op->emitError("cannot work on blocks of rows: ") << op->getName();
      diag.attachNote() << "gather the rows first, or cut dimensions by name";
      return diag;
    }
    SmallVector<Value> values(op->getOperands());
    llvm::append_range(values, op->getResults());
    for (Value v : values)
      if (hasAny(v, strategy.rows) && !hasAll(v, strategy.rows))
        return op->emitError("rows are one dimension: a value has all that they are made of or "
                             "none, found ")
               << v.getType() << " beside " << strategy.rows;
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      if (hasAny(operand, strategy.rows) && !dist::layoutOf(operand).getRows())
        return op->emitError("operands must have the same rows, found none in ")
               << operandName(i) << " beside " << strategy.rows;
    return success();
  }

  /// The axes of each factor: from the operands; for factors that no operand has, from the results.
  LogicalResult findCuts() {
    for (DimAttr factor : factorsOf(op)) {
      StringAttr name = StringAttr::get(op->getContext(), factor.getName());
      std::optional<unsigned> first;
      for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
        if (!hasDim(operand, name))
          continue;
        ArrayRef<StringAttr> axes = dist::layoutOf(operand).axesOf(name);
        if (!first) {
          first = i;
          strategy.set(name, axes);
        } else if (axes != strategy.axesOf(name)) {
          auto diag = op->emitError("operands must be cut alike along ")
                      << name.getValue() << ", found " << listOf(strategy.axesOf(name)) << " in "
                      << operandName(*first) << " and " << listOf(axes) << " in " << operandName(i);
          diag.attachNote(operand.getLoc()) << "change the layout of one of them: dist.reshard";
          return diag;
        }
      }
      for (Value result : op->getResults())
        if (!first && hasDim(result, name) && strategy.axesOf(name).empty())
          strategy.set(name, dist::layoutOf(result).axesOf(name));
    }
    return success();
  }

  LogicalResult checkFactors() {
    llvm::StringMap<StringRef> taken; // axis -> factor
    for (DimAttr factor : factorsOf(op)) {
      StringRef name = factor.getName();
      ArrayRef<StringAttr> axes = strategy.axesOf(name);
      if (axes.empty())
        continue;
      if (llvm::is_contained(rule.whole, name)) {
        auto diag = op->emitError("needs all of a dimension on each rank, found ")
                    << name << " cut over " << dist::spell(axes);
        diag.attachNote() << "gather " << name << " first, or cut another dimension";
        return diag;
      }
      if (int64_t ranks = mesh.sizeOf(axes);
          llvm::is_contained(rule.exact, name) && sizeOf(factor) % ranks)
        return op->emitError("blocks must be equal: ")
               << name << " of size " << sizeOf(factor) << ", found " << ranks << " ranks";
      for (StringAttr axis : axes) {
        auto [other, isNew] = taken.try_emplace(axis, name);
        if (!isNew && !isGroup(other->second, name))
          return cutTwice(axis, "the dimensions " + other->second + " and " + name);
      }
    }
    if (strategy.rows)
      for (StringAttr axis : strategy.rows.getAxes())
        if (auto other = taken.find(axis); other != taken.end())
          return cutTwice(axis, "the dimension " + other->second + " and rows");
    if (!keepsGroups(op, rule, strategy, mesh)) {
      auto diag = op->emitError("blocks of heads must be whole groups or lie within one, found ")
                  << rule.heads << " over " << listOf(strategy.axesOf(rule.heads)) << " and "
                  << rule.groups << " over " << listOf(strategy.axesOf(rule.groups));
      diag.attachNote() << "give " << rule.groups << " the first axes of " << rule.heads
                        << "; further ones only where a rank has one group";
      return diag;
    }
    return success();
  }

  /// What axes must divide of a factor.
  int64_t sizeOf(DimAttr factor) {
    return factor.getName() == rule.renamed ? blocksOf(op, factor.getName()) : factor.getSize();
  }

  InFlightDiagnostic cutTwice(StringAttr axis, const Twine &what) {
    auto diag = op->emitError("one computation cannot be cut twice over axis ")
                << axis.getValue() << ", found " << what;
    diag.attachNote() << "gather one of them first, or cut it over another axis";
    return diag;
  }

  bool isGroup(StringRef a, StringRef b) {
    return (a == rule.heads && b == rule.groups) || (a == rule.groups && b == rule.heads);
  }

  LogicalResult checkPending() {
    pending.assign(op->getNumOperands(), {});
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      LayoutAttr layout = dist::layoutOf(operand);
      if (!layout.isPending())
        continue;
      bool isMax = !layout.getMax().empty(), isSum = !layout.getSum().empty();
      bool isOfKind = rule.pending == ReduceKind::max ? isMax && !isSum : isSum && !isMax;
      if (!isOfKind || rule.linear == Linear::None || !llvm::is_contained(rule.linearIn, i)) {
        auto diag = op->emitError("not linear in ")
                    << operandName(i) << ", where a " << (isMax ? "maximum" : "sum")
                    << " is pending over "
                    << dist::spell(isMax ? layout.getMax() : layout.getSum());
        diag.attachNote(operand.getLoc()) << "each rank has a part of this value: reduce it first";
        return diag;
      }
      pending[i] = Axes(isMax ? layout.getMax() : layout.getSum());
    }
    if (rule.linear == Linear::InAny)
      return checkPendingCuts();
    return success(succeeded(rule.linear == Linear::InAll ? checkTerms() : checkProducts()) &&
                   succeeded(checkPendingCuts()));
  }

  /// x + pending y would count x once a rank.
  LogicalResult checkTerms() {
    for (unsigned i : rule.linearIn) {
      ArrayRef<StringAttr> first = pending[rule.linearIn.front()], other = pending[i];
      if (first == other)
        continue;
      auto diag = op->emitError("terms must be pending over the same axes, else one is counted "
                                "once a rank; found ")
                  << listOf(first) << " in " << operandName(rule.linearIn.front()) << " and "
                  << listOf(other) << " in " << operandName(i);
      diag.attachNote(op->getOperand(first.empty() ? i : rule.linearIn.front()).getLoc())
          << "reduce this one first";
      return diag;
    }
    return success();
  }

  /// A product of two sums is not the sum of the products of their terms.
  LogicalResult checkProducts() {
    Axes before;
    for (const Axes &axes : pending) {
      for (StringAttr axis : axes)
        if (llvm::is_contained(before, axis)) {
          auto diag = op->emitError("product of two values that are both pending over ")
                      << axis.getValue();
          diag.attachNote() << "reduce one of them first";
          return diag;
        }
      llvm::append_range(before, axes);
    }
    return success();
  }

  LogicalResult checkPendingCuts() {
    for (auto [i, axes] : llvm::enumerate(pending))
      for (StringAttr axis : axes)
        if (llvm::is_contained(strategy.used(), axis)) {
          auto diag = op->emitError("cut over an axis over which ")
                      << operandName(i) << " is pending: " << axis.getValue();
          diag.attachNote(op->getOperand(i).getLoc())
              << "ranks along it hold parts of one value: reduce it first";
          return diag;
        }
    return success();
  }

  LogicalResult checkResults() {
    if (ConstantOp number = numberOf(op)) {
      if (LayoutAttr layout = dist::layoutOf(op->getResult(0));
          layout.isPending() && (!number.getValue().isZero() || !layout.getMax().empty()))
        return op->emitError("a number has no pending parts, found ") << layout;
      return success();
    }
    Layouts expected = apply(op, rule, strategy, pending, mesh);
    for (auto [i, want] : llvm::enumerate(expected.results))
      if (LayoutAttr found = dist::layoutOf(op->getResult(i)); found != want)
        return refuse(i, want, found);
    return success();
  }

  LogicalResult refuse(unsigned i, LayoutAttr want, LayoutAttr found) {
    Axes parts(want.getSum()), said(found.getSum());
    llvm::append_range(parts, want.getMax());
    llvm::append_range(said, found.getMax());
    if (Axes lost = dist::difference(parts, said); !lost.empty()) {
      auto diag = op->emitError("result ") << i << " is left pending over " << dist::spell(lost)
                                           << ", which its layout lacks: " << found;
      diag.attachNote() << "each rank has a part of it; name the axes, and reduce it where it is "
                           "read";
      return diag;
    }
    if (Axes extra = dist::difference(said, parts); !extra.empty()) {
      auto diag = op->emitError("nothing leaves result ")
                  << i << " pending over " << dist::spell(extra) << ": " << found;
      diag.attachNote() << "a reduction of it would count it once a rank";
      return diag;
    }
    return op->emitError("result ") << i << " must have the layout " << want << ", found " << found;
  }

  Operation *op;
  const Rule &rule;
  dist::MeshAttr mesh;
  Strategy strategy;
  SmallVector<Axes> pending;
};

} // namespace

LogicalResult shard::checkLayout(Location loc, const Twine &what, Tensor type, LayoutAttr layout,
                                 dist::MeshAttr mesh) {
  Axes seen;
  for (StringAttr axis : layout.used()) {
    if (mesh.find(axis) < 0)
      return emitError(loc, "axis is not of the mesh, in the layout of ")
             << what << ": " << axis.getValue();
    if (llvm::is_contained(seen, axis))
      return emitError(loc, "axis occurs twice in a layout: ") << axis.getValue(); // (C1)
    seen.push_back(axis);
  }
  SmallVector<StringAttr> dims;
  for (dist::ShardAttr shard : layout.getShards())
    dims.push_back(shard.getDim());
  dist::RowsAttr rows = layout.getRows();
  if (rows)
    llvm::append_range(dims, rows.getDims());
  for (StringAttr dim : dims) // (C2)
    if (!type.has(dim))
      return emitError(loc, "dimension of a layout is none of ")
             << what << ": " << dim.getValue() << " in " << layout;
  if (!rows)
    return success();
  int64_t count = 1;
  for (StringAttr dim : rows.getDims())
    count *= mesh.blockOf(type.getDims()[type.find(dim)], layout.axesOf(dim));
  if (rows.getBlock() < 1 || rows.getBlock() * mesh.sizeOf(rows.getAxes()) < count)
    return emitError(loc, "blocks do not hold the rows of ")
           << what << ", which are " << count << ": " << rows;
  return success();
}

LogicalResult shard::checkOp(Operation *op, dist::MeshAttr mesh) {
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    if (failed(checkLayout(op->getLoc(), "result " + Twine(i), typeOf(result),
                           dist::layoutOf(result), mesh)))
      return failure();
  if (op->getDialect() && op->getDialect()->getNamespace() == "dist")
    return checkChange(op, mesh);
  std::optional<Rule> rule = ruleOf(op);
  if (!rule)
    return op->emitError("no rule says how ranks may share this operation: ") << op->getName();
  return OpChecker(op, *rule, mesh).check();
}
