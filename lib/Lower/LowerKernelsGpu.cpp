//===- LowerKernelsGpu.cpp - lower-kernels-gpu: rt.kernel to gpu and vector ===//
//
// One gpu.func per kernel in one gpu.module; its attributes say how it is launched.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Gpu/Thread.h"
#include "lib/Lower/Kernels/Skeletons.h"
#include "lib/Lower/Lower.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tplan::lower {
#define GEN_PASS_DEF_LOWERKERNELSGPUPASS
#include "lib/Lower/Passes.h.inc"
} // namespace tplan::lower

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

/// Blocks along y, on every GPU.
static constexpr int32_t kMostLayers = 65535;

static SmallVector<Type> argumentsOf(Builder &b, const KernelPlan &plan) {
  SmallVector<Type> args;
  for (const OperandPlan &o : plan.operands)
    args.push_back(memoryOf(o.type));
  if (plan.boundedRows)
    args.push_back(MemRefType::get({1}, b.getI64Type()));
  return args;
}

static LogicalResult lowerKernel(rt::KernelOp op, gpu::GPUModuleOp kernels) {
  FailureOr<KernelPlan> plan = KernelPlan::get(op);
  if (failed(plan))
    return failure();
  Spread spread = spreadOverThreads(*plan);
  ImplicitLocOpBuilder b(op.getLoc(), op.getContext());
  gpu::GPUFuncOp func = makeKernel(b, kernels, op.getSymName(), argumentsOf(b, *plan), spread.block,
                                   spread.grid, plan->boundedRows != 0);
  if (spread.takesRegisters)
    func->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(1));
  Block &entry = func.getBody().front();

  // Not the block's own list of arguments, which grows by shared memory.
  SmallVector<Value> memory(entry.getArguments().take_front(plan->operands.size()));
  Value block = gpu::BlockIdOp::create(b, gpu::Dimension::x), task = block;
  if (spread.tiles > 1)
    task = arith::DivUIOp::create(b, block, arith::ConstantIndexOp::create(b, spread.tiles));
  Body body(b, *plan, memory, task);
  if (auto strides = op->getAttrOfType<DenseI64ArrayAttr>(sched::kStrides)) {
    // The grid bounds the numbers of blocks: here as far as a launch may go.
    func.setKnownGridSize(ArrayRef<int32_t>{int32_t(spread.grid), kMostLayers, 1});
    body.layer = gpu::BlockIdOp::create(b, gpu::Dimension::y);
    for (auto [operand, stride] : llvm::zip(plan->operands, strides.asArrayRef()))
      operand.layerStride = stride / nn::elementBytes(operand.type.getElementType());
    keepForHost(kernels, sched::kStrides, op.getSymName(), strides);
  }
  Value rowCount;
  if (plan->boundedRows)
    rowCount = runTimeRows(body, entry.getArgument(plan->operands.size()));
  body.scalarsOfRate(Uniform, 0);
  Thread thread(body, func, spread, block, rowCount);
  static constexpr LogicalResult (*skeletons[])(Thread &) = {emitMapGpu, emitRowGpu, emitColumnGpu,
                                                             emitTransposeGpu};
  if (failed(skeletons[static_cast<unsigned>(op.getSkeleton())](thread)))
    return failure();
  op.erase();
  return success();
}

namespace {
struct LowerKernelsGpuPass : tplan::lower::impl::LowerKernelsGpuPassBase<LowerKernelsGpuPass> {
  void runOnOperation() override {
    SmallVector<rt::KernelOp> kernels(getOperation().getOps<rt::KernelOp>());
    if (kernels.empty())
      return;
    gpu::GPUModuleOp module = kernelsOf(getOperation());
    for (rt::KernelOp kernel : kernels)
      if (failed(lowerKernel(kernel, module)))
        return signalPassFailure();
  }
};
} // namespace
