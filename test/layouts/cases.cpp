//===- cases.cpp - every layout that an op's rule admits ------------------===//
#include "test/layouts/cases.h"
#include "dialects/nn/NNBuilder.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::shard;
using namespace layouts;
using dist::Axes;

Operation *layouts::opOf(nn::LayerOp layer) { return &layer.getBlock().front(); }

namespace {

class Enumerator {
public:
  Enumerator(Operation *op, const Placement &placement)
      : op(op), placement(placement), rule(*ruleOf(op)), axes(placement.mesh.getAxesInStage()) {}

  std::vector<Case> all() {
    cut(0, {});
    return std::move(cases);
  }

private:
  Operation *op;
  const Placement &placement;
  Rule rule;
  Axes axes;
  std::vector<Case> cases;

  /// Decides for the axes from `i` on what each cuts: nothing, a factor (before or after the axes
  /// that cut it already), or rows.
  void cut(size_t i, Strategy strategy) {
    if (i == axes.size())
      return addRows(strategy);
    cut(i + 1, strategy);
    for (nn::DimAttr factor : factorsOf(op)) {
      StringAttr name = StringAttr::get(op->getContext(), factor.getName());
      Axes before(strategy.axesOf(name)), behind = before;
      behind.push_back(axes[i]);
      Strategy next = strategy;
      next.set(name, behind);
      cut(i + 1, next);
      if (before.empty())
        continue;
      before.insert(before.begin(), axes[i]);
      next.set(name, before);
      cut(i + 1, next);
    }
  }

  /// What axes must divide of a factor.
  int64_t sizeOf(nn::DimAttr factor) {
    return factor.getName() == rule.renamed ? blocksOf(op, factor.getName()) : factor.getSize();
  }

  bool isAdmitted(const Strategy &strategy) {
    for (nn::DimAttr factor : factorsOf(op)) {
      int64_t ranks = placement.mesh.sizeOf(strategy.axesOf(factor.getName()));
      if (ranks > 1 &&
          (llvm::is_contained(rule.whole, factor.getName()) ||
           (llvm::is_contained(rule.exact, factor.getName()) && sizeOf(factor) % ranks)))
        return false;
    }
    return keepsGroups(op, rule, strategy, placement.mesh);
  }

  /// As it is, and with rows over the axes that are left.
  void addRows(const Strategy &strategy) {
    // Heads are cut by the axes of their groups, and then by more.
    Strategy grouped = strategy;
    if (!rule.groups.empty() && rule.groups != rule.heads) {
      Axes heads(strategy.axesOf(rule.groups));
      llvm::append_range(heads, strategy.axesOf(rule.heads));
      grouped.set(StringAttr::get(op->getContext(), rule.heads), heads);
    }
    if (!isAdmitted(grouped))
      return;
    addPending(grouped);
    Axes left = dist::difference(axes, grouped.used());
    if (!rule.rows || left.empty())
      return;
    llvm::SmallVector<dist::RowsAttr> tried;
    auto tryRows = [&](Type type) {
      auto tensor = cast<nn::Tensor>(type);
      dist::RowsAttr rows = rowsOf(tensor, grouped, left);
      if (!rows || llvm::is_contained(tried, rows) || !takesRows(op, rule, rows))
        return;
      tried.push_back(rows);
      Strategy next = grouped;
      next.rows = rows;
      addPending(next);
    };
    llvm::for_each(op->getOperandTypes(), tryRows);
    llvm::for_each(op->getResultTypes(), tryRows);
  }

  /// All dimensions but the last, in blocks as small as they can be: a plan's are multiples of 64
  /// elements, so that few ranks would have any.
  dist::RowsAttr rowsOf(nn::Tensor type, const Strategy &strategy, ArrayRef<StringAttr> over) {
    dist::RowsAttr rows = placement.rowsOver(type, restrict(type, strategy), over);
    if (!rows)
      return rows;
    int64_t count = 1;
    for (StringAttr dim : rows.getDims())
      count *= placement.mesh.blockOf(type.getDims()[type.find(dim)], strategy.axesOf(dim));
    return dist::RowsAttr::get(op->getContext(), rows.getDims(),
                               dist::blockOf(count, placement.mesh.sizeOf(over)), over, false);
  }

  void addPending(const Strategy &strategy) {
    SmallVector<Axes> pending(op->getNumOperands());
    add(strategy, pending);
    Axes left = dist::difference(axes, strategy.used());
    if (left.empty() || rule.linear == Linear::None)
      return;
    if (rule.linear == Linear::InAll) {
      for (unsigned i : rule.linearIn)
        pending[i] = left;
      return add(strategy, pending);
    }
    for (unsigned i : rule.linearIn) {
      SmallVector<Axes> one(op->getNumOperands());
      one[i] = left;
      add(strategy, one);
    }
    if (rule.linear == Linear::InAny) // both over the same
      add(strategy, SmallVector<Axes>(op->getNumOperands(), left));
    if (rule.linearIn.size() == 2 && left.size() == 2) // over an axis each
      for (unsigned first : {0, 1}) {
        pending[rule.linearIn[first]] = {left[0]};
        pending[rule.linearIn[!first]] = {left[1]};
        add(strategy, pending);
      }
  }

  void add(const Strategy &strategy, ArrayRef<Axes> pending) {
    Case c{strategy, SmallVector<Axes>(pending),
           apply(op, rule, strategy, pending, placement.mesh)};
    cases.push_back(std::move(c));
  }
};

} // namespace

std::vector<Case> layouts::casesOf(Operation *op, const Placement &placement) {
  return Enumerator(op, placement).all();
}

std::string layouts::spell(const Case &c) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(c.layouts.operands, os);
  os << " -> ";
  llvm::interleaveComma(c.layouts.results, os);
  return text;
}
