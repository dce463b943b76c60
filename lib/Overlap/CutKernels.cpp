//===- CutKernels.cpp - what lies between two exchanges in chunks -----------===//
//
// A sum in chunks is followed by kernels, and these by a gather in chunks. Done whole, such a
// kernel waits for all chunks of the sum, and all chunks of the gather wait for it; done in parts,
// a chunk goes from one exchange to the next while others are exchanged.
//
// One decision: a kernel is cut where it reads what was made in parts, or makes what is read in
// parts; so parts go on until something needs all rows, such as the gradient of a weight.
//
//===----------------------------------------------------------------------===//
#include "lib/Overlap/Chunks.h"
#include "lib/Overlap/PartKernels.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::overlap;
using nn::Tensor;
using nn::typeOf;

/// The parts of which a value was made, if these are those of the cut.
static OperandRange madeOf(Value value, const Cut &cut) {
  auto join = value.getDefiningOp<rt::JoinOp>();
  bool isCut = join && join.getAxes().empty() && typeOf(value).has(cut.dim) &&
               typeOf(join.getParts().front()) == cut.partOf(typeOf(value));
  return isCut ? join.getParts() : OperandRange(nullptr, 0);
}

/// The slice, if it is part of a value in such parts.
static rt::SliceOp asPart(Operation *op, Value of, const Cut &cut) {
  auto slice = dyn_cast<rt::SliceOp>(op);
  bool isPart = slice && slice.getView() && slice.getAxes().empty() &&
                typeOf(slice.getResult()) == cut.partOf(typeOf(of));
  return isPart ? slice : rt::SliceOp();
}

static bool isBesideParts(rt::LaunchOp launch, const Cut &cut) {
  auto readsParts = [&](Value arg) { return !madeOf(arg, cut).empty(); };
  auto isReadInParts = [&](Value result) {
    return llvm::any_of(result.getUsers(), [&](Operation *user) {
      return typeOf(result).has(cut.dim) && asPart(user, result, cut);
    });
  };
  return llvm::any_of(launch.getArgs(), readsParts) ||
         llvm::any_of(launch.getResults(), isReadInParts);
}

/// Replaces a value by its parts, and where all of it is read, by these joined.
static void replaceByParts(OpBuilder &b, Value whole, ArrayRef<Value> parts, const Cut &cut) {
  for (Operation *user : llvm::make_early_inc_range(whole.getUsers()))
    if (rt::SliceOp slice = typeOf(whole).has(cut.dim) ? asPart(user, whole, cut) : rt::SliceOp()) {
      slice.replaceAllUsesWith(parts[slice.getShiftAttr().getInt()]);
      slice.erase();
    }
  if (!whole.use_empty())
    whole.replaceAllUsesWith(
        rt::JoinOp::create(b, whole.getLoc(), whole.getType(), parts, b.getArrayAttr({})));
}

/// What is read as a whole, too, lives on: no part of it is memory for a result, and no part of the
/// launch need wait for that reader.
static void dropSharedPlaces(rt::LaunchOp launch) {
  SmallVector<int64_t> inPlace;
  ArrayRef<int64_t> pairs = launch.getInPlace();
  for (size_t i = 0; i + 1 < pairs.size(); i += 2)
    if (launch.getArgs()[pairs[i]].hasOneUse())
      llvm::append_values(inPlace, pairs[i], pairs[i + 1]);
  launch.setInPlace(inPlace);
}

static void launchInParts(rt::LaunchOp launch, const Cut &cut, PartKernels &kernels) {
  OpBuilder b(launch);
  dropSharedPlaces(launch);
  SmallVector<SmallVector<Value>> parts(launch->getNumResults());
  for (int64_t i = 0; i < cut.parts; ++i) {
    SmallVector<Value> args;
    for (Value arg : launch.getArgs()) {
      OperandRange made = madeOf(arg, cut);
      if (!typeOf(arg).has(cut.dim))
        args.push_back(arg);
      else if (!made.empty())
        args.push_back(made[i]);
      else
        args.push_back(viewOfPart(b, arg, cut, b.getArrayAttr({}), i));
    }
    rt::LaunchOp part = kernels.launch(b, launch, cut, args);
    for (auto [of, result] : llvm::zip(parts, part.getResults()))
      of.push_back(result);
  }
  for (auto [whole, of] : llvm::zip(launch.getResults(), parts))
    replaceByParts(b, whole, of, cut);
  launch.erase();
}

void overlap::cutKernels(rt::FuncOp func, const Cut &cut, PartKernels &kernels) {
  for (auto launch : llvm::make_early_inc_range(func.getBlock().getOps<rt::LaunchOp>()))
    if (canLaunchInParts(launch, cut) && isBesideParts(launch, cut))
      launchInParts(launch, cut, kernels);
  for (auto join : llvm::make_early_inc_range(func.getBlock().getOps<rt::JoinOp>()))
    if (join->use_empty())
      join.erase();
}
