//===- Attention.cpp - lower-attention: rt.tile to vector code ------------===//
//
// Boundary of the attention kernels: arguments by address become packed memrefs,
// and the pass walks the tiles of a module.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Attention.h"
#include "lib/Lower/AttentionTiles.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
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
  MLIRContext *ctx = tile.getContext();
  Location loc = tile.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(ctx);
  auto type = FunctionType::get(ctx, {pointer, builder.getI64Type()}, {});
  auto func = func::FuncOp::create(builder, loc, tile.getSymName(), type);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(func.addEntryBlock());

  Type sum = rt::sumType(cast<nn::Tensor>(tile.getFunctionType().getInput(0)).getElementType());
  TileCode code(loc, builder, sum, block);
  SmallVector<Operand> args;
  LLVMTypeConverter converter(ctx);
  SmallVector<Type> types(tile.getFunctionType().getInputs());
  llvm::append_range(types, tile.getFunctionType().getResults());
  for (auto [i, t] : llvm::enumerate(types)) {
    auto tensor = cast<nn::Tensor>(t);
    auto memory = MemRefType::get({tensor.getNumElements()}, tensor.getElementType());
    Value slot = LLVM::GEPOp::create(code, pointer, pointer, func.getArgument(0),
                                     ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    Value address = LLVM::LoadOp::create(code, pointer, slot);
    Value descriptor = MemRefDescriptor::fromStaticShape(code, loc, converter, memory, address);
    Value cast = UnrealizedConversionCastOp::create(code, memory, descriptor).getResult(0);
    args.push_back({tensor, cast});
  }
  Value task = arith::IndexCastOp::create(code, code.getIndexType(), func.getArgument(1));
  if (tile.getPass() == rt::AttentionPass::Forward)
    emitAttentionForward(code, tile, args, task);
  else
    emitAttentionBackward(code, tile, args, task);
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
    registry.insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
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
void lower::registerLowerAttentionPass() { PassRegistration<LowerAttention>(); }
