//===- PartKernels.cpp - kernels of parts of what others do -----------------===//
#include "lib/Overlap/PartKernels.h"
#include "dialects/sched/Sched.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::overlap;
using nn::DimAttr;
using nn::Tensor;
using nn::typeOf;

rt::KernelOp overlap::kernelOf(rt::LaunchOp launch) {
  return dyn_cast_or_null<rt::KernelOp>(
      SymbolTable::lookupNearestSymbolFrom(launch, launch.getKernelAttr()));
}

/// The type of a part of an argument or result: what does not have the dimension is whole, and of
/// sums of tasks a part has those of its tasks. None where that is no part.
static Tensor partOf(Tensor whole, const Cut &cut) {
  if (whole.has(rt::kTaskDim))
    return Cut{rt::kTaskDim, cut.parts, false}.partOf(whole);
  return whole.has(cut.dim) ? cut.partOf(whole) : whole;
}

/// Whether a kernel computes rows of the outermost dimension one by one, and its tasks, where it
/// adds rows up, are of one part each.
static bool isRowByRow(rt::KernelOp kernel, const Cut &cut) {
  using rt::AccessKind;
  bool isLocal = llvm::all_of(kernel.getAccesses().getAsRange<rt::AccessAttr>(), [&](auto access) {
    return llvm::is_contained({AccessKind::Identity, AccessKind::Rotate, AccessKind::Repeat},
                              access.getKind()) &&
           access.getDim() != cut.dim;
  });
  bool hasRows =
      kernel.getSkeleton() == rt::Skeleton::Map || kernel.getSkeleton() == rt::Skeleton::Row;
  bool adds = false, isPlain = true;
  for (Operation &op : kernel.getBody().front()) {
    adds |= isa<rt::ColReduceOp>(op);
    isPlain &= !isa<rt::PositionOp, rt::RandomOp>(op);
  }
  int64_t rowsOfPart = kernel.getNumRows() / cut.parts;
  return isLocal && hasRows && isPlain && (!adds || rowsOfPart % kernel.getGrain() == 0);
}

bool overlap::canLaunchInParts(rt::LaunchOp launch, const Cut &cut) {
  if (launch.getOnto() || launch.getCount())
    return false;
  rt::KernelOp kernel = kernelOf(launch);
  auto tile = dyn_cast_or_null<rt::TileOp>(
      SymbolTable::lookupNearestSymbolFrom(launch, launch.getKernelAttr()));
  bool isTile = tile && tile.getSpec().getQuery() != cut.dim && tile.getSpec().getKey() != cut.dim;
  auto hasPart = [&](Type type) { return static_cast<bool>(partOf(cast<Tensor>(type), cut)); };
  auto isCut = [&](Type type) { return partOf(cast<Tensor>(type), cut) != cast<Tensor>(type); };
  return (kernel ? isRowByRow(kernel, cut) : isTile) &&
         llvm::all_of(launch.getArgs().getTypes(), hasPart) &&
         llvm::all_of(launch.getResultTypes(), isCut) &&
         llvm::all_of(launch.getResultTypes(), hasPart);
}

/// Types or loops of a part.
static SmallVector<Type> partsOf(ArrayRef<Type> wholes, const Cut &cut) {
  return llvm::map_to_vector(wholes,
                             [&](Type type) -> Type { return partOf(cast<Tensor>(type), cut); });
}
static ArrayAttr partsOf(ArrayAttr loops, const Cut &cut) {
  Builder b(loops.getContext());
  SmallVector<Attribute> dims;
  for (auto dim : loops.getAsRange<DimAttr>())
    dims.push_back(dim.getName() == cut.dim
                       ? DimAttr::get(b.getContext(), cut.dim, dim.getSize() / cut.parts, false)
                       : dim);
  return b.getArrayAttr(dims);
}

rt::LaunchOp PartKernels::launch(OpBuilder &b, rt::LaunchOp whole, const Cut &cut,
                                 ValueRange args) {
  Operation *all = SymbolTable::lookupNearestSymbolFrom(whole, whole.getKernelAttr());
  std::string name = (whole.getKernel() + ".part" + Twine(cut.parts)).str();
  Operation *&part = kernels[name];
  if (!part) {
    OpBuilder at(all);
    at.setInsertionPointAfter(all);
    part = at.clone(*all);
    SymbolTable::setSymbolName(part, name);
    auto type = cast<FunctionType>(all->getAttrOfType<TypeAttr>("function_type").getValue());
    auto typeOfPart =
        b.getFunctionType(partsOf(type.getInputs(), cut), partsOf(type.getResults(), cut));
    part->setAttr("function_type", TypeAttr::get(typeOfPart));
    if (auto kernel = dyn_cast<rt::KernelOp>(part)) {
      kernel.setRowsAttr(partsOf(kernel.getRows(), cut));
      kernel.setColsAttr(partsOf(kernel.getCols(), cut));
    }
  }
  SmallVector<Type> results = partsOf(llvm::to_vector(whole.getResultTypes()), cut);
  return rt::LaunchOp::create(b, whole.getLoc(), results, name, args, Value(), Value(),
                              whole.getInPlace());
}

void PartKernels::eraseUnused(ModuleOp module) {
  llvm::StringSet<> used;
  module.walk([&](rt::LaunchOp launch) { used.insert(launch.getKernel()); });
  for (auto &entry : kernels)
    if (!used.contains(SymbolTable::getSymbolName(entry.second).getValue()))
      entry.second->erase();
  kernels.clear();
}
