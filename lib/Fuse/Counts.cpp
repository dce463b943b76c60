//===- Counts.cpp - dimensions of `at most` some size in rt ---------------===//
#include "lib/Fuse/Counts.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

/// The dimension with a bound: a kernel's outermost loop, else outermost in the results.
static DimAttr boundOf(Operation *op) {
  if (auto launch = dyn_cast<rt::LaunchOp>(op))
    if (auto kernel =
            SymbolTable::lookupNearestSymbolFrom<rt::KernelOp>(op, launch.getKernelAttr()))
      for (DimAttr dim : kernel.getRows().getAsRange<DimAttr>())
        return dim.getBounded() ? dim : DimAttr();
  for (Type type : op->getResultTypes()) {
    ArrayRef<DimAttr> dims = cast<Tensor>(type).getDims();
    if (!dims.empty() && dims.front().getBounded())
      return dims.front();
  }
  return {};
}

static Value countInUse(rt::FuncOp func, DimAttr dim) {
  Label label = labelOfCount(func.getContext(), Role::Scalar, dim.getName());
  if (std::optional<unsigned> i = func.findArg(label.role, label.name))
    return func.getArgument(*i);
  auto type = Tensor::get(func.getContext(), {}, IntegerType::get(func.getContext(), 64));
  return func.addArg(label, type, func.getLoc());
}

void fuse::addCounts(rt::FuncOp func) {
  for (Operation &op : func.getBlock()) {
    auto launch = dyn_cast<rt::LaunchOp>(op);
    auto matmul = dyn_cast<rt::MatmulOp>(op);
    DimAttr dim = launch || matmul ? boundOf(&op) : DimAttr();
    if (dim && launch)
      launch.getCountMutable().assign(countInUse(func, dim));
    else if (dim)
      matmul.getCountMutable().assign(countInUse(func, dim));
  }
}

bool fuse::canMakeRows(rt::KernelOp kernel) {
  return kernel.getRows().empty() && !kernel.getCols().empty() &&
         llvm::is_contained({rt::Skeleton::Map, rt::Skeleton::Row}, kernel.getSkeleton());
}

void fuse::makeRows(rt::KernelOp kernel) {
  Builder b(kernel.getContext());
  bool sums = kernel.getSkeleton() == rt::Skeleton::Row;
  ArrayRef<Attribute> columns = kernel.getCols().getValue();
  size_t moved = sums ? columns.size() : 1;
  kernel.setRowsAttr(b.getArrayAttr(columns.take_front(moved)));
  kernel.setColsAttr(b.getArrayAttr(columns.drop_front(moved)));
  kernel.setGrain(1);
  if (!sums)
    return;
  kernel.setSkeleton(rt::Skeleton::Column);
  for (auto sum : llvm::make_early_inc_range(kernel.getBody().getOps<rt::RowReduceOp>())) {
    OpBuilder builder(sum);
    sum.replaceAllUsesWith(
        rt::ColReduceOp::create(builder, sum.getLoc(), sum.getKind(), sum.getX()).getResult());
    sum.erase();
  }
}
