//===- LowerAttention.cpp - lower-attention: rt.tile to vector code -------===//
#include "dialects/tplan/Settings.h"
#include "lib/Lower/Attention/Mask.h"
#include "lib/Lower/Attention/Tiles.h"
#include "lib/Lower/Lower.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tplan::lower {
#define GEN_PASS_DEF_LOWERATTENTIONPASS
#include "lib/Lower/Passes.h.inc"
} // namespace tplan::lower

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

RegisterBlock RegisterBlock::of(int64_t registers, int64_t bytes) {
  // Eight chains keep two units with a latency of four busy. Beside the sums, a row of vectors and
  // one coefficient are live: 16 registers of 32 bytes hold six.
  return {registers >= 32 && bytes >= 64 ? 8 : 6, 1};
}

/// Makes a function of a tile at the builder's place: (memory of inputs, of outputs, task).
static void emitAttention(OpBuilder &builder, rt::TileOp tile, RegisterBlock block) {
  Location loc = tile.getLoc();
  SmallVector<nn::Tensor> tensors;
  SmallVector<Type> types;
  for (TypeRange range : {TypeRange(tile.getFunctionType().getInputs()),
                          TypeRange(tile.getFunctionType().getResults())})
    for (Type type : range) {
      auto tensor = tensors.emplace_back(cast<nn::Tensor>(type));
      types.push_back(MemRefType::get({tensor.getNumElements()}, tensor.getElementType()));
    }
  types.push_back(builder.getIndexType());
  auto type = builder.getFunctionType(types, {});
  auto func = func::FuncOp::create(builder, loc, tile.getSymName(), type);
  func->setAttr(kKernelAttr, builder.getUnitAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(func.addEntryBlock());

  TileCode code(loc, builder, rt::sumType(tensors.front().getElementType()), block);
  SmallVector<Operand> args;
  for (auto [tensor, memory] : llvm::zip(tensors, func.getArguments()))
    args.push_back({tensor, memory});
  auto emit =
      tile.getPass() == rt::AttentionPass::Forward ? emitAttentionForward : emitAttentionBackward;
  Places places = Places::take(code, tile, args);
  emit(code, tile, args, places, func.getArguments().back());
  func::ReturnOp::create(code);
}

namespace {
struct LowerAttentionPass : tplan::lower::impl::LowerAttentionPassBase<LowerAttentionPass> {
  using LowerAttentionPassBase::LowerAttentionPassBase; // with options

  void runOnOperation() override {
    RegisterBlock block = rows && vectors ? RegisterBlock{rows, vectors} : blockOfTarget();
    for (auto tile : llvm::make_early_inc_range(getOperation().getOps<rt::TileOp>())) {
      OpBuilder builder(tile);
      emitAttention(builder, tile, block);
      tile.erase();
    }
  }

  RegisterBlock blockOfTarget() {
    const lang::Target &target = lang::targetOf(getOperation());
    return RegisterBlock::of(target.registers, target.vectorBytes);
  }
};
} // namespace
