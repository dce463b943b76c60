//===- Attention.cpp - lower-attention: rt.tile to vector code ------------===//
#include "lib/Lower/Attention.h"
#include "lib/Lower/AttentionTiles.h"
#include "lib/Lower/Kernels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

RegisterBlock RegisterBlock::of(int64_t registers, int64_t bytes) {
  // Beside rows x vectors of sums, a row of vectors and one coefficient are live.
  if (registers >= 32 && bytes >= 64)
    return {8, 2};
  return {6, 1};
}

func::FuncOp lower::emitAttention(OpBuilder &builder, rt::TileOp tile, RegisterBlock block) {
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
  emit(code, tile, args, func.getArguments().back());
  func::ReturnOp::create(code);
  return func;
}

namespace {
struct LowerAttention : PassWrapper<LowerAttention, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerAttention)

  LowerAttention() = default;
  LowerAttention(RegisterBlock block) {
    rows = block.rows;
    vectors = block.vectors;
  }
  LowerAttention(const LowerAttention &other) : PassWrapper(other) {
    rows = other.rows;
    vectors = other.vectors;
  }

  StringRef getArgument() const override { return "lower-attention"; }
  StringRef getDescription() const override { return "code for attention kernels"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect,
                    memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
  }

  void runOnOperation() override {
    for (auto tile : llvm::make_early_inc_range(getOperation().getOps<rt::TileOp>())) {
      OpBuilder builder(tile);
      emitAttention(builder, tile, {rows, vectors});
      tile.erase();
    }
  }

  Option<int64_t> rows{*this, "rows", llvm::cl::desc("rows of sums in registers"),
                       llvm::cl::init(6)};
  Option<int64_t> vectors{*this, "vectors", llvm::cl::desc("vectors of sums in a row"),
                          llvm::cl::init(1)};
};
} // namespace

std::unique_ptr<Pass> lower::createLowerAttentionPass(RegisterBlock block) {
  return std::make_unique<LowerAttention>(block);
}
