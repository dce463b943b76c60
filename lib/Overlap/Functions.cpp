//===- Functions.cpp - what passes share that cut functions of layers ------===//
#include "lib/Overlap/Functions.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tplan;
using sched::Use;

ArrayAttr overlap::planAxesOf(rt::CollectiveOp op, dist::MeshAttr mesh) {
  llvm::SmallSetVector<Attribute, 2> axes;
  for (auto axis : op.getAxes().getAsRange<StringAttr>())
    axes.insert(StringAttr::get(op.getContext(), mesh.planAxisOf(axis)));
  return ArrayAttr::get(op.getContext(), axes.getArrayRef());
}

rt::FuncOp overlap::cloneApart(rt::FuncOp func, StringRef suffix) {
  OpBuilder b(func);
  b.setInsertionPointAfter(func);
  auto clone = cast<rt::FuncOp>(b.clone(*func));
  clone.setSymName((func.getSymName() + suffix).str());
  clone.removeLayerAttr();
  clone.removePartAttr();
  return clone;
}

void overlap::eraseResults(rt::FuncOp func, const llvm::BitVector &results) {
  func.getReturn()->eraseOperands(results);
  (void)func.eraseResults(results);
  SmallVector<Operation *> ops;
  for (Operation &op : func.getBlock().without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty())
      op->erase();
}

void overlap::erase(rt::FuncOp func, const Subset &subset) {
  eraseResults(func, subset.results);
  (void)func.eraseArguments(subset.args);
}

overlap::Sum overlap::sumOf(rt::FuncOp func, unsigned result, dist::MeshAttr mesh) {
  Sum sum;
  llvm::SetVector<Value> made;
  made.insert(func.getReturn().getOperand(result));
  for (size_t i = 0; i < made.size(); ++i) {
    if (auto arg = dyn_cast<BlockArgument>(made[i])) {
      sum.args.insert(arg.getArgNumber());
      continue;
    }
    Operation *op = made[i].getDefiningOp();
    if (auto collective = dyn_cast<rt::CollectiveOp>(op)) {
      sum.axes.insert(overlap::planAxesOf(collective, mesh));
      sum.collectives.push_back(collective);
      sum.bytes += nn::bytesOf(collective.getX());
    }
    made.insert(op->operand_begin(), op->operand_end());
  }
  return sum;
}

SmallVector<std::pair<unsigned, Use>> overlap::resultsOf(sched::CallOp call) {
  rt::FuncOp func = call.getFunction();
  SmallVector<Use> uses = call.getUses();
  SmallVector<std::pair<unsigned, Use>> results;
  unsigned next = func.getNumArguments();
  for (unsigned i = 0, e = func.getNumResults(); i < e; ++i)
    if (!func.findUpdatedArg(i))
      results.push_back({i, uses[next++]});
  return results;
}
