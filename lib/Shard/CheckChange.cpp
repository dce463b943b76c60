//===- CheckChange.cpp - whether a change of layout is what its op does ---===//
//
// Each op of dist as a function from the layout of its operand to that of its result.
//
// One decision: the block of rows, which no kind of op determines, is taken from the result.
//
//===----------------------------------------------------------------------===//
#include "lib/Shard/CheckChange.h"
#include "dialects/dist/Kinds.h"
#include "lib/Shard/Reshard.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::shard;
using dist::Axes;
using dist::LayoutAttr;
using dist::RowsAttr;

namespace {

class ChangeChecker {
public:
  ChangeChecker(Operation *op, dist::MeshAttr mesh)
      : op(op), mesh(mesh), from(dist::layoutOf(op->getOperand(0))),
        to(dist::layoutOf(op->getResult(0))) {}

  LogicalResult check() {
    FailureOr<LayoutAttr> made =
        llvm::TypeSwitch<Operation *, FailureOr<LayoutAttr>>(op)
            .Case<dist::ReshardOp>([&](auto) { return reshard(); })
            .Case<dist::CollectiveOp>([&](auto collective) { return exchange(collective); })
            .Case<dist::SliceOp>([&](auto slice) { return cut(slice.getDimAttr()); })
            .Case<dist::OwnOp>([&](auto) { return own(); })
            .Case<dist::PlaceOp>([&](auto) { return place(); });
    if (failed(made))
      return failure();
    if (*made == to)
      return success();
    return op->emitError("makes another layout than its result has: ") << *made << ", found " << to;
  }

private:
  Axes axes() { return dist::axesOf(op->getAttrOfType<ArrayAttr>("axes")); }

  InFlightDiagnostic refuse(const Twine &what) {
    return op->emitError("cannot go over ")
           << dist::spell(axes()) << ": " << what << "; found " << from;
  }

  FailureOr<LayoutAttr> reshard() {
    if (!dist::difference(to.getMax(), from.getMax()).empty())
      return op->emitError("no change of layout leaves a maximum pending, found ") << to;
    return to;
  }

  FailureOr<LayoutAttr> exchange(dist::CollectiveOp collective) {
    const dist::KindFacts &facts = dist::factsOf(collective.getKind());
    StringAttr dim = collective.getDimAttr();
    FailureOr<LayoutAttr> made = facts.sums       ? reduced(collective)
                                 : facts.gathers  ? gathered(dim)
                                 : facts.reorders ? permuted(collective, dim)
                                                  : from;
    if (failed(made) || !facts.cuts)
      return made;
    return withBlocks(*made, facts.exchanges() ? collective.getToAttr() : dim);
  }

  /// Summing what is not a pending part would count it once for each rank.
  FailureOr<LayoutAttr> reduced(dist::CollectiveOp collective) {
    bool isMax = collective.getReduction() == nn::ReduceKind::max;
    ArrayRef<StringAttr> waiting = isMax ? from.getMax() : from.getSum();
    if (!dist::difference(axes(), waiting).empty()) {
      auto diag = refuse(isMax ? "no maximum is pending" : "no sum is pending");
      diag.attachNote(op->getOperand(0).getLoc())
          << "reducing what is whole counts it once a rank: name the axes of its layout";
      return diag;
    }
    Axes rest = dist::difference(waiting, axes());
    return isMax ? from.withMax(rest) : from.withSum(rest);
  }

  /// The axes are added as the last that cut a dimension, or they cut the rows.
  FailureOr<LayoutAttr> withBlocks(LayoutAttr layout, StringAttr dim) {
    if (dist::intersects(axes(), layout.used()))
      return refuse("the value is cut or pending already");
    if (!dim) {
      RowsAttr rows = to.getRows(), now = layout.getRows();
      if (!rows || rows.getInWhole() || !isCutFurther(now, rows))
        return refuse("without a dimension the result has rows in blocks");
      return layout.withRows(rows);
    }
    if (layout.getRows())
      return refuse("a dimension is cut before rows are");
    Axes all(layout.axesOf(dim));
    llvm::append_range(all, axes());
    return layout.withAxes(dim, all);
  }

  /// Whether the axes of the operation cut rows, or whole values, into those of `finer`.
  bool isCutFurther(RowsAttr now, RowsAttr finer) {
    Axes all = now ? Axes(now.getAxes()) : Axes();
    llvm::append_range(all, axes());
    return finer.getAxes() == ArrayRef(all) &&
           (!now || (!now.getInWhole() && now.getDims() == finer.getDims() &&
                     now.getBlock() == finer.getBlock() * mesh.sizeOf(axes())));
  }

  /// The last axes of a dimension, or of the rows, are removed.
  FailureOr<LayoutAttr> gathered(StringAttr dim) {
    Axes leaving = axes();
    if (!dim) {
      RowsAttr rows = from.getRows();
      if (!rows || rows.getInWhole() || !isCutFurther(to.getRows(), rows))
        return refuse("without a dimension the operand has rows in blocks");
      return from.withRows(to.getRows());
    }
    ArrayRef<StringAttr> now = from.axesOf(dim);
    if (from.getRows() || now.size() < leaving.size() ||
        now.take_back(leaving.size()) != ArrayRef(leaving))
      return refuse("the last cuts of " + dim.getValue() + " are not those");
    return from.withAxes(dim, now.drop_back(leaving.size()));
  }

  FailureOr<LayoutAttr> permuted(dist::CollectiveOp collective, StringAttr dim) {
    ArrayRef<StringAttr> now = dim ? from.axesOf(dim) : ArrayRef<StringAttr>(),
                         then = dim ? to.axesOf(dim) : ArrayRef<StringAttr>();
    if (!dim || now != ArrayRef(axes()) || mesh.sorted(now) != mesh.sorted(then))
      return refuse("a permutation keeps the axes of one dimension in another order");
    auto sources = collective.getSourcesAttr();
    if (ArrayRef(sourcesOf(mesh, now, then)) != sources.asArrayRef())
      return op->emitError("sources are not those of the two layouts: ") << sources;
    return from.withAxes(dim, then);
  }

  FailureOr<LayoutAttr> cut(StringAttr dim) {
    RowsAttr rows = from.getRows();
    if (!rows || !rows.getInWhole())
      return withBlocks(from, dim);
    if (dim || rows.getAxes() != ArrayRef(axes()))
      return refuse("the block is of the rows in this memory");
    return from.withRows(rows.withInWhole(false));
  }

  FailureOr<LayoutAttr> own() {
    if (dist::intersects(axes(), from.used()))
      return refuse("ranks that do not all have the value cannot choose one");
    Axes all(from.getSum());
    llvm::append_range(all, axes());
    return from.withSum(mesh.sorted(all));
  }

  FailureOr<LayoutAttr> place() {
    RowsAttr rows = from.getRows();
    if (!rows || rows.getInWhole() || rows.getAxes() != ArrayRef(axes()))
      return refuse("only a block of rows has a place in their memory");
    return from.withRows(rows.withInWhole(true));
  }

  Operation *op;
  dist::MeshAttr mesh;
  LayoutAttr from, to;
};

} // namespace

LogicalResult shard::checkChange(Operation *op, dist::MeshAttr mesh) {
  return ChangeChecker(op, mesh).check();
}
