//===- LowerKernels.cpp - lower-kernels: rt.kernel to vector code ---------===//
//
// One function per kernel, the body of one task. The skeleton chooses the
// loops.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Kernels/Skeletons.h"
#include "lib/Lower/Lower.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tplan::lower {
#define GEN_PASS_DEF_LOWERKERNELSPASS
#include "lib/Lower/Passes.h.inc"
} // namespace tplan::lower

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

static LogicalResult lowerKernel(rt::KernelOp op) {
  FailureOr<KernelPlan> plan = KernelPlan::get(op);
  if (failed(plan))
    return failure();
  chooseVectors(*plan);
  MLIRContext *ctx = op.getContext();
  SmallVector<Type> args;
  for (OperandPlan &o : plan->operands)
    args.push_back(memoryOf(o.type));
  if (plan->boundedRows)
    args.push_back(MemRefType::get({1}, IntegerType::get(ctx, 64)));
  args.push_back(IndexType::get(ctx));

  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto func = func::FuncOp::create(b, op.getSymName(), b.getFunctionType(args, {}));
  func->setAttr(kKernelAttr, b.getUnitAttr());
  Block *entry = func.addEntryBlock();
  b.setInsertionPointToStart(entry);
  ValueRange memory = entry->getArguments().take_front(plan->operands.size());
  Value task = entry->getArguments().back();
  func::ReturnOp::create(b);
  b.setInsertionPoint(entry->getTerminator());
  Body body(b, *plan, memory, task);
  Value rowCount;
  if (plan->boundedRows)
    rowCount = runTimeRows(body, entry->getArgument(plan->operands.size()));
  body.scalarsOfRate(Uniform, 0);

  static constexpr LogicalResult (*skeletons[])(Body &, Value) = {emitMap, emitRow, emitColumn,
                                                                  emitTranspose};
  if (failed(skeletons[static_cast<unsigned>(op.getSkeleton())](body, rowCount)))
    return failure();
  // Streaming stores are ordered before the task ends, as ordinary ones are.
  if (llvm::any_of(plan->operands, [](const OperandPlan &o) { return o.streams; }))
    LLVM::FenceOp::create(b, LLVM::AtomicOrdering::seq_cst, StringRef());
  op.erase();
  return success();
}

namespace {
struct LowerKernelsPass : tplan::lower::impl::LowerKernelsPassBase<LowerKernelsPass> {
  void runOnOperation() override {
    SmallVector<rt::KernelOp> kernels(getOperation().getOps<rt::KernelOp>());
    for (rt::KernelOp kernel : kernels)
      if (failed(lowerKernel(kernel)))
        return signalPassFailure();
  }
};
} // namespace
