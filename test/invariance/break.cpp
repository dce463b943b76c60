//===- break.cpp - ways to break a derived collective ----------------------===//
#include "test/invariance/break.h"
#include "dialects/dist/Kinds.h"
#include "dialects/nn/NNBuilder.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using dist::CollectiveKind;

namespace {

/// The rank goes on with the value that it had.
bool drop(dist::CollectiveOp op, bool dryRun) {
  if (dryRun)
    return true;
  NNBuilder b(op.getLoc(), op);
  Value instead = op.getX();
  Tensor type = typeOf(op.getResult());
  if (dist::factsOf(op.getKind()).scatters())
    instead = dist::SliceOp::create(b, op.getLoc(), type, op.getX(), op.getAxes(), op.getDimAttr());
  else if (typeOf(instead) != type)
    instead = b.broadcast(b.like(op.getResult(), 0), type);
  op.replaceAllUsesWith(instead);
  op.erase();
  return true;
}

/// A factor in a sum.
bool scaleBy(dist::CollectiveOp op, bool dryRun, double factor) {
  if (!dist::factsOf(op.getKind()).sums || op.getReduction() == ReduceKind::max ||
      !isa<FloatType>(typeOf(op.getResult()).getElementType()))
    return false;
  if (dryRun)
    return true;
  NNBuilder b(op.getLoc(), op);
  b.setInsertionPointAfter(op);
  Value scaled = b.scale(op.getResult(), factor);
  op.getResult().replaceAllUsesExcept(scaled, scaled.getDefiningOp());
  return true;
}
bool twice(dist::CollectiveOp op, bool dryRun) { return scaleBy(op, dryRun, 2); }
bool mean(dist::CollectiveOp op, bool dryRun) {
  auto mesh = dist::meshOf(op->getParentOfType<ModuleOp>());
  return scaleBy(op, dryRun, 1.0 / static_cast<double>(mesh.sizeOf(dist::axesOf(op.getAxes()))));
}

/// Over another axis of the same size.
bool otherAxis(dist::CollectiveOp op, bool dryRun) {
  auto mesh = dist::meshOf(op->getParentOfType<ModuleOp>());
  dist::Axes axes = dist::axesOf(op.getAxes());
  for (StringAttr &mine : axes)
    for (dist::AxisAttr axis : mesh.getAxes()) {
      auto name = StringAttr::get(op.getContext(), axis.getName());
      if (llvm::is_contained(axes, name) || axis.getSize() != mesh.sizeOf(mine))
        continue;
      if (!dryRun) {
        mine = name;
        op.setAxesAttr(dist::arrayOf(op.getContext(), axes));
      }
      return true;
    }
  return false;
}

/// Each member has its neighbour's block.
bool wrongOrder(dist::CollectiveOp op, bool dryRun) {
  if (!dist::factsOf(op.getKind()).hasBlocks())
    return false;
  if (dryRun)
    return true;
  auto mesh = dist::meshOf(op->getParentOfType<ModuleOp>());
  int64_t members = mesh.sizeOf(dist::axesOf(op.getAxes()));
  SmallVector<int32_t> sources;
  for (int64_t member = 0; member < members; ++member)
    sources.push_back((member + 1) % members);
  OpBuilder b(op);
  bool before = dist::factsOf(op.getKind()).completes();
  if (!before)
    b.setInsertionPointAfter(op);
  Value v = before ? op.getX() : op.getResult();
  auto moved = dist::CollectiveOp::create(b, op.getLoc(), v.getType(), CollectiveKind::Permute, v,
                                          op.getAxes(), ReduceKind::sum, StringAttr(), StringAttr(),
                                          b.getDenseI32ArrayAttr(sources));
  if (before)
    op.getXMutable().assign(moved);
  else
    v.replaceAllUsesExcept(moved.getResult(), moved);
  return true;
}

} // namespace

llvm::ArrayRef<test::Way> test::ways() {
  static const Way table[] = {{"dropped", drop},
                              {"added twice", twice},
                              {"a mean", mean},
                              {"over another axis", otherAxis},
                              {"in the wrong order", wrongOrder}};
  return table;
}
