//===- BoundEvaluation.cpp - evaluation computes the rows that it has ------===//
//
// A file may end in the middle of a microbatch, and a sample is one row. So in the
// parts `evaluate` the batch becomes `at most` its size, and calls take how many are in use.
// Memory stays that of the bound.
//
// One decision: all of evaluation or nothing. Where the batch is not outermost in some
// kernel or matmul, E stays as it is: right, only slower on a last few rows.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/Parts.h"
#include "dialects/rt/RT.h"
#include "lib/Fuse/Counts.h"
#include "lib/Fuse/Fuse.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

namespace tplan::fuse {
#define GEN_PASS_DEF_BOUNDEVALUATIONPASS
#include "lib/Fuse/Passes.h.inc"
} // namespace tplan::fuse

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::fuse;

namespace {

/// The batch dimension of all values of evaluation, with its fixed size and with a bound.
struct Batch {
  DimAttr fixed, bounded;

  bool isIn(Type type) const { return llvm::is_contained(cast<Tensor>(type).getDims(), fixed); }
  bool isAbsentOrFirst(Type type) const {
    return !isIn(type) || cast<Tensor>(type).getDims().front() == fixed;
  }

  Type bound(Type type) const {
    if (!isIn(type))
      return type;
    SmallVector<DimAttr> dims(cast<Tensor>(type).getDims());
    dims.front() = bounded;
    return cast<Tensor>(type).withDims(dims);
  }
};

bool isLoopOf(rt::KernelOp kernel, DimAttr dim) {
  return llvm::is_contained(kernel.getRows(), dim) || llvm::is_contained(kernel.getCols(), dim);
}

/// Whether the batch is the outermost loop, or can become it.
bool canBound(rt::KernelOp kernel, const Batch &batch) {
  if (!isLoopOf(kernel, batch.fixed))
    return true;
  if (!kernel.getRows().empty())
    return kernel.getRows()[0] == batch.fixed;
  return kernel.getCols()[0] == batch.fixed && canMakeRows(kernel);
}

bool canBound(rt::TileOp tile, const Batch &batch) {
  auto shape = tile.getShape();
  return shape.batchDims.size() == 1 && shape.batchDims.front() == batch.fixed;
}

/// The library computes all rows, and none reads another's.
bool canBound(rt::AttentionOp attention, const Batch &batch) {
  StringRef name = batch.fixed.getName();
  return batch.isIn(attention.getArgs()[0].getType()) && name != attention.getSpec().getQuery() &&
         name != attention.getSpec().getHeads();
}

bool canBound(rt::MatmulOp matmul, const Batch &batch) {
  Type lhs = matmul.getLhs().getType(), rhs = matmul.getRhs().getType(), out = matmul.getType();
  if (!batch.isIn(out))
    return !batch.isIn(lhs) && !batch.isIn(rhs); // else it is summed over
  rt::Gemm gemm = *rt::matchGemm(cast<Tensor>(lhs), cast<Tensor>(rhs), cast<Tensor>(out));
  return gemm.batch * gemm.m % batch.fixed.getSize() == 0;
}

class Bounder {
public:
  Bounder(ModuleOp module, Batch batch) : module(module), symbols(module), batch(batch) {}

  bool canBoundAll(ArrayRef<rt::FuncOp> functions) {
    return llvm::all_of(functions, [&](rt::FuncOp func) {
      return llvm::all_of(func.getBlock().getArgumentTypes(),
                          [&](Type t) { return batch.isAbsentOrFirst(t); }) &&
             llvm::all_of(func.getBlock(), [&](Operation &op) { return canBoundOp(&op); });
    });
  }

  void bound(rt::FuncOp func) {
    for (auto launch : func.getBlock().getOps<rt::LaunchOp>())
      if (isBatched(symbols.lookup(launch.getKernel())))
        launch.setKernelAttr(boundKernel(launch.getKernelAttr()));
    auto retype = [&](Value v) { v.setType(batch.bound(v.getType())); };
    llvm::for_each(func.getBlock().getArguments(), retype);
    for (Operation &op : func.getBlock())
      llvm::for_each(op.getResults(), retype);
    func.setFunctionType(FunctionType::get(func.getContext(), func.getBlock().getArgumentTypes(),
                                           func.getReturn().getOperandTypes()));
    addCounts(func);
  }

private:
  /// Attention always has the batch (canBound).
  bool isBatched(Operation *def) {
    auto kernel = dyn_cast<rt::KernelOp>(def);
    return !kernel || isLoopOf(kernel, batch.fixed);
  }

  bool canBoundOp(Operation *op) {
    if (!llvm::all_of(op->getResultTypes(), [&](Type t) { return batch.isAbsentOrFirst(t); }))
      return false;
    if (auto matmul = dyn_cast<rt::MatmulOp>(op))
      return canBound(matmul, batch);
    if (auto attention = dyn_cast<rt::AttentionOp>(op))
      return canBound(attention, batch);
    auto launch = dyn_cast<rt::LaunchOp>(op);
    if (!launch)
      return true;
    Operation *def = symbols.lookup(launch.getKernel());
    if (auto tile = dyn_cast<rt::TileOp>(def))
      return canBound(tile, batch);
    return canBound(cast<rt::KernelOp>(def), batch);
  }

  /// The kernel for some rows; the one for all of them stays for the other parts.
  FlatSymbolRefAttr boundKernel(FlatSymbolRefAttr symbol) {
    Attribute &made = kernels[symbol];
    if (made)
      return cast<FlatSymbolRefAttr>(made);
    Operation *copy = symbols.lookup(symbol.getValue())->clone();
    auto renamed = StringAttr::get(module.getContext(), symbol.getValue() + ".rows");
    SymbolTable::setSymbolName(copy, renamed);
    symbols.insert(copy);
    if (auto kernel = dyn_cast<rt::KernelOp>(copy))
      boundLoops(kernel);
    auto type = cast<TypeAttr>(copy->getAttr("function_type")).getValue();
    auto function = cast<FunctionType>(type);
    auto bounded = [&](TypeRange types) {
      return llvm::map_to_vector(types, [&](Type t) { return batch.bound(t); });
    };
    copy->setAttr("function_type", TypeAttr::get(FunctionType::get(
                                       module.getContext(), bounded(function.getInputs()),
                                       bounded(function.getResults()))));
    made = FlatSymbolRefAttr::get(copy);
    return cast<FlatSymbolRefAttr>(made);
  }

  void boundLoops(rt::KernelOp kernel) {
    if (kernel.getRows().empty())
      makeRows(kernel);
    SmallVector<Attribute> rows(kernel.getRows().getValue());
    rows.front() = batch.bounded;
    kernel.setRowsAttr(ArrayAttr::get(module.getContext(), rows));
    if (kernel.getSkeleton() == rt::Skeleton::Transpose) // squares have a fixed height
      kernel.setSkeleton(rt::Skeleton::Map);
  }

  ModuleOp module;
  SymbolTable symbols;
  Batch batch;
  DenseMap<Attribute, Attribute> kernels; // the bounded kernel, by the kernel for all rows
};

struct BoundEvaluationPass : tplan::fuse::impl::BoundEvaluationPassBase<BoundEvaluationPass> {
  void runOnOperation() final {
    ChainOp train;
    for (auto chain : getOperation().getOps<ChainOp>())
      if (chain.getLosses())
        train = chain;
    DimAttr rows = train ? train.getBatch() : DimAttr();
    if (!rows || rows.getSize() == 1)
      return;
    Batch batch{rows, DimAttr::get(&getContext(), rows.getName(), rows.getSize(), true)};

    nn::PartTable<rt::FuncOp> parts(getOperation());
    llvm::SetVector<rt::FuncOp> functions;
    for (auto run : train.getOps<RunOp>())
      for (auto callee : run.getCallees().getAsRange<FlatSymbolRefAttr>())
        if (rt::FuncOp func = parts.lookup(callee, nn::Part::Evaluate))
          functions.insert(func);
    Bounder bounder(getOperation(), batch);
    if (!bounder.canBoundAll(functions.getArrayRef()))
      return;
    llvm::for_each(functions, [&](rt::FuncOp func) { bounder.bound(func); });
    rt::eraseUnusedKernels(getOperation()); // kernels that only evaluation used
  }
};

} // namespace
