//===- LowerAttentionGpu.cpp - lower-attention-gpu: rt.tile to gpu and vector ===//
//
// One gpu.func per pass of attention, beside those of the rt.kernels, for what the library does not
// take (masks, f32, f64, odd widths). It uses multiply-adds, not tensor cores.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/AttentionGpu/Walk.h"
#include "lib/Lower/Kernels/Body.h"
#include "lib/Lower/Lower.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tplan::lower {
#define GEN_PASS_DEF_LOWERATTENTIONGPUPASS
#include "lib/Lower/Passes.h.inc"
} // namespace tplan::lower

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

static LogicalResult lowerTile(rt::TileOp op, gpu::GPUModuleOp kernels) {
  bool forward = op.getPass() == rt::AttentionPass::Forward;
  Type element = cast<nn::Tensor>(op.getFunctionType().getInput(0)).getElementType();
  BlockLayout layout = BlockLayout::of(element, op.getShape().width);
  if (layout.sumRegisters() > kSumRegisters) {
    int64_t most = BlockLayout::across * (kSumRegisters * layout.columns / layout.sumRegisters());
    return op.emitOpError("has heads of at most ")
           << most << " elements in " << rt::sumType(element) << " on a GPU, found "
           << layout.width;
  }
  SmallVector<Operand> args;
  SmallVector<Type> memory;
  for (TypeRange range :
       {TypeRange(op.getFunctionType().getInputs()), TypeRange(op.getFunctionType().getResults())})
    for (Type type : range) {
      args.push_back({cast<nn::Tensor>(type), Value()});
      memory.push_back(memoryOf(args.back().type));
    }
  ImplicitLocOpBuilder b(op.getLoc(), op.getContext());
  int64_t blocks = forward ? forwardBlocks(op) : backwardBlocks(op, layout);
  gpu::GPUFuncOp func = makeKernel(b, kernels, op.getSymName(), memory, layout.threads(), blocks);
  func->setAttr(NVVM::NVVMDialect::getMaxnregAttrName(), b.getI32IntegerAttr(kRegisters));
  for (auto [i, arg] : llvm::enumerate(args))
    arg.memory = func.getArgument(i);
  BlockCode code(op.getLoc(), b, rt::sumType(element), layout, func);
  Places places = Places::take(code, op, args);
  (forward ? emitAttentionForwardGpu : emitAttentionBackwardGpu)(code, op, args, places);
  op.erase();
  return success();
}

namespace {
struct LowerAttentionGpuPass
    : tplan::lower::impl::LowerAttentionGpuPassBase<LowerAttentionGpuPass> {
  void runOnOperation() override {
    SmallVector<rt::TileOp> tiles(getOperation().getOps<rt::TileOp>());
    if (tiles.empty())
      return;
    gpu::GPUModuleOp kernels = kernelsOf(getOperation());
    for (rt::TileOp tile : tiles)
      if (failed(lowerTile(tile, kernels)))
        return signalPassFailure();
  }
};
} // namespace
