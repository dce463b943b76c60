//===- Localize.cpp - global sizes become those of one rank ---------------===//
//
// One function serves all ranks: what depends on the rank is a scalar, its member number along the
// axes that cut a dimension. It makes positions logical, and ids those of the rank's part of a
// table; what lies after a dimension's end is masked where it would count.
//
// One decision: padding of weights, gradients and states is zero, padding of anything else is
// whatever was computed. So sums and contractions mask what they read, a contraction leaves zeros
// where it writes, and anything else that is added onto a gradient or becomes a state is masked.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/nn/NNRuns.h"
#include "lib/Shard/Borders.h"
#include "lib/Shard/Member.h"
#include "lib/Shard/Rules.h"
#include "lib/Shard/Shard.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tplan::shard {
#define GEN_PASS_DEF_LOCALIZEPASS
#include "lib/Shard/Passes.h.inc"
} // namespace tplan::shard

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::shard;
using dist::Axes;
using dist::LayoutAttr;

namespace {

/// One function from global to local sizes.
class LayerLocalizer {
public:
  LayerLocalizer(LayerOp layer, const Placement &placement) : layer(layer), placement(placement) {}

  void run() {
    SmallVector<Operation *> ops;
    for (Operation &op : layer.getBlock().without_terminator())
      ops.push_back(&op);
    // Layouts and sizes of the original values are needed later, so first of all they are kept.
    for (BlockArgument arg : layer.getArguments())
      keep(arg);
    for (Operation *op : ops)
      for (Value v : op->getResults())
        keep(v);
    for (BlockArgument arg : layer.getArguments())
      arg.setType(localOf(arg));
    for (Operation *op : ops)
      localize(op);
    maskStored();
    takeTypesOfBody(layer);
  }

private:
  void keep(Value v) { known[v] = {typeOf(v), dist::layoutOf(v)}; }
  Tensor globalOf(Value v) { return known[v].first; }
  LayoutAttr layoutOf(Value v) { return known[v].second; }
  Tensor localOf(Value v) { return placement.localType(globalOf(v), layoutOf(v)); }

  void localize(Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case<ReduceOp>([&](ReduceOp reduce) {
          bool isMax = reduce.getKind() == ReduceKind::max;
          mask(reduce.getXMutable(), isMax ? -std::numeric_limits<double>::infinity() : 0,
               [&](StringRef dim) { return !globalOf(reduce.getResult()).has(dim); });
        })
        .Case<ContractOp>([&](ContractOp contract) {
          for (OpOperand &operand : contract->getOpOperands())
            mask(operand, 0, [](StringRef) { return true; });
        })
        .Case<LookupOp>([&](LookupOp lookup) {
          mask(lookup.getIdsMutable(), -1, [](StringRef) { return true; });
          lookup.getIdsMutable().assign(
              idsHere(lookup, lookup.getIds(), lookup.getDim(), lookup.getTable()));
        })
        .Case<LookupGradOp>([&](LookupGradOp grad) {
          // Padding in the rows that are added goes nowhere, padding within a row goes into the
          // table's padding.
          mask(grad.getIdsMutable(), -1, [](StringRef) { return true; });
          mask(grad.getCotangentMutable(), 0,
               [&](StringRef dim) { return globalOf(grad.getResult()).has(dim); });
          grad.getIdsMutable().assign(
              idsHere(grad, grad.getIds(), grad.getDim(), grad.getResult()));
        })
        .Case<DropoutMaskOp>([&](DropoutMaskOp drop) { localizeDropout(drop); })
        .Case<AuditOp>([&](AuditOp audit) { localizeAudit(audit); });
    for (Value v : op->getResults())
      v.setType(localOf(v));
    if (auto index = dyn_cast<IndexOp>(op)) {
      localizeIndex(index);
    } else if (auto own = dyn_cast<dist::OwnOp>(op)) {
      NNBuilder b(op->getLoc(), op);
      Value first = b.compare(CmpKind::eq, memberOf(layer, dist::axesOf(own.getAxes())),
                              b.number(0, b.getI32Type()));
      replace(own, b.select(first, own.getX(), b.like(own.getX(), 0)));
    }
  }

  void replace(Operation *op, Value by) {
    known[by] = {globalOf(op->getResult(0)), layoutOf(op->getResult(0))};
    if (Operation *made = by.getDefiningOp())
      made->setAttr(dist::kLayouts, ArrayAttr::get(op->getContext(), {layoutOf(by)}));
    op->getResult(0).replaceAllUsesWith(by);
    op->erase();
  }

  /// Logical position of the rank's first element along a dimension.
  Value start(NNBuilder &b, ArrayRef<StringAttr> axes, DimAttr dim) {
    return axes.empty() ? b.number(0, b.getI32Type())
                        : b.mul(memberOf(layer, axes),
                                b.number(placement.mesh.blockOf(dim, axes), b.getI32Type()));
  }

  /// Logical positions of the rank's elements along a dimension that is `local` here.
  Value positions(NNBuilder &b, DimAttr local, ArrayRef<StringAttr> axes, DimAttr dim) {
    return b.index(local, axes.empty() ? Value() : start(b, axes, dim));
  }

  void localizeIndex(IndexOp op) {
    DimAttr dim = globalOf(op.getResult()).getDims().front();
    ArrayRef<StringAttr> axes = layoutOf(op.getResult()).axesOf(dim.getName());
    if (axes.empty())
      return;
    NNBuilder b(op.getLoc(), op);
    replace(op, positions(b, typeOf(op.getResult()).getDims().front(), axes, dim));
  }

  void localizeDropout(DropoutMaskOp op) {
    Tensor type = globalOf(op.getResult());
    LayoutAttr layout = layoutOf(op.getResult());
    if (layout.getShards().empty() && localOf(op.getResult()) == type)
      return;
    NNBuilder b(op.getLoc(), op);
    SmallVector<int64_t> sizes;
    SmallVector<Value> starts;
    SmallVector<Attribute> pieces;
    for (auto [dim, local] : llvm::zip(type.getDims(), localOf(op.getResult()).getDims())) {
      sizes.push_back(dim.getSize());
      starts.push_back(start(b, layout.axesOf(dim.getName()), dim));
      pieces.push_back(b.getDenseI64ArrayAttr({local.getSize()}));
    }
    op.setWhole(sizes);
    op.getStartsMutable().assign(starts);
    op.setPiecesAttr(b.getArrayAttr(pieces));
  }

  void localizeAudit(AuditOp op) {
    SmallVector<int64_t> sizes;
    SmallVector<Attribute> axes;
    for (DimAttr dim : globalOf(op.getResult()).getDims()) {
      sizes.push_back(dim.getSize());
      axes.push_back(
          dist::arrayOf(op.getContext(), layoutOf(op.getResult()).axesOf(dim.getName())));
    }
    op.setWhole(sizes);
    op.setAxesAttr(ArrayAttr::get(op.getContext(), axes));
  }

  /// Ids of rows that the rank has, as its own positions; others are padding (-1), whose row is
  /// zero.
  Value idsHere(Operation *op, Value ids, StringRef dim, Value table) {
    ArrayRef<StringAttr> axes = layoutOf(table).axesOf(dim);
    if (axes.empty())
      return ids;
    Tensor type = globalOf(table);
    DimAttr rows = type.getDims()[type.find(dim)];
    NNBuilder b(op->getLoc(), op);
    int64_t block = placement.mesh.blockOf(rows, axes);
    Value zero = b.number(0, b.getI32Type());
    Value here = b.sub(ids, start(b, axes, rows));
    Value below = b.compare(CmpKind::lt, here, b.number(block, b.getI32Type()));
    // An id below zero stays padding, though it may have wrapped to a position.
    Value inside = b.select(b.compare(CmpKind::ge, here, zero), here, b.number(-1, b.getI32Type()));
    inside = b.select(b.compare(CmpKind::ge, ids, zero), inside, b.number(-1, b.getI32Type()));
    return b.select(below, inside, b.number(-1, b.getI32Type()));
  }

  bool isPadded(DimAttr dim, LayoutAttr layout) {
    ArrayRef<StringAttr> axes = layout.axesOf(dim.getName());
    return placement.mesh.blockOf(dim, axes) * placement.mesh.sizeOf(axes) != dim.getSize();
  }

  /// Whether what lies after the end of a dimension is zero.
  bool hasZeroPadding(Value v, StringRef dim) {
    if (auto arg = dyn_cast<BlockArgument>(v)) {
      Role role = layer.getArgRole(arg.getArgNumber());
      return role == Role::Param || role == Role::CotParam || role == Role::State;
    }
    Operation *op = v.getDefiningOp();
    if (isa<ContractOp, LookupGradOp>(op))
      return true;
    if (ConstantOp number = numberOf(op))
      return number.getValue().isZero();
    if (isa<CastOp, dist::CollectiveOp, dist::SliceOp>(op))
      return hasZeroPadding(op->getOperand(0), dim);
    auto found = masked.find(v);
    return found != masked.end() && llvm::is_contained(found->second, dim);
  }

  /// Puts `neutral` after the end of those padded dimensions of an operand that count.
  void mask(OpOperand &operand, double neutral, function_ref<bool(StringRef)> counts) {
    Value v = operand.get();
    Tensor type = globalOf(v);
    LayoutAttr layout = layoutOf(v);
    if (layout.getRows()) // of a weight and what belongs to it: squares of zeros
      return;
    for (DimAttr dim : type.getDims()) {
      if (!isPadded(dim, layout) || !counts(dim.getName()) ||
          (neutral == 0 && hasZeroPadding(operand.get(), dim.getName())))
        continue;
      NNBuilder b(operand.getOwner()->getLoc(), operand.getOwner());
      ArrayRef<StringAttr> axes = layout.axesOf(dim.getName());
      DimAttr local = typeOf(v).getDims()[typeOf(v).find(dim.getName())];
      Value position = positions(b, local, axes, dim);
      Value inside = b.compare(CmpKind::lt, position, b.number(dim.getSize(), b.getI32Type()));
      Tensor shape = typeOf(v);
      Value kept = b.create<SelectOp>(shape, inside, operand.get(), b.like(v, neutral));
      known[kept] = {type, layout};
      kept.getDefiningOp()->setAttr(dist::kLayouts, b.getArrayAttr({layout}));
      if (neutral == 0) {
        masked[kept] = masked.lookup(operand.get());
        masked[kept].push_back(dim.getName());
      }
      operand.set(kept);
    }
  }

  /// Masks what is added onto gradients, and states that are updated, so that their padding stays
  /// zero. (An optimizer keeps it so by its formula: it makes zeros of zeros.)
  void maskStored() {
    for (unsigned i = 0, e = layer.getNumResults(); i < e; ++i)
      if (Role role = layer.getResultRole(i);
          role == Role::CotParam || (role == Role::State && layer.getPart() == Part::States))
        maskStored(layer.getReturn()->getOpOperand(i));
  }

  /// Masks a value after the op that computes it, before sums and exchanges of it.
  void maskStored(OpOperand &operand) {
    Operation *op = operand.get().getDefiningOp();
    // A term that lacks a dimension is repeated over its padding.
    bool repeats =
        isa_and_nonnull<AddOp>(op) && llvm::any_of(op->getOperandTypes(), [&](Type type) {
          return cast<Tensor>(type).getRank() != typeOf(operand.get()).getRank();
        });
    if (!repeats &&
        isa_and_nonnull<AddOp, CastOp, dist::CollectiveOp, dist::SliceOp, dist::PlaceOp>(op)) {
      for (OpOperand &next : op->getOpOperands())
        maskStored(next);
      return;
    }
    mask(operand, 0, [](StringRef) { return true; });
  }

  LayerOp layer;
  const Placement &placement;
  llvm::DenseMap<Value, std::pair<Tensor, LayoutAttr>> known;
  llvm::DenseMap<Value, SmallVector<StringRef, 2>> masked; // zero after the end of these
};

LogicalResult checkSize(Operation *op, Tensor type, int64_t count) {
  if (type.getBytes() <= kMostBytes / count)
    return success();
  std::string found;
  llvm::raw_string_ostream os(found);
  if (count > 1)
    os << count << " times ";
  os << "[";
  llvm::interleaveComma(type.getDims(), os,
                        [&](DimAttr dim) { os << dim.getName() << " " << dim.getSize(); });
  os << "] in " << type.getElementType();
  return emitError(op->getLoc(), "a rank holds at most 16 TiB of one value, found ") << found;
}

/// From here on sizes are those of a rank: what no rank can hold is refused.
LogicalResult checkSizes(ModuleOp module) {
  for (auto param : module.getOps<ParamOp>())
    if (failed(checkSize(param, cast<Tensor>(param.getType()), param.getCount())))
      return failure();
  WalkResult result = module.walk([](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<Tensor>(type))
        if (failed(checkSize(op, tensor, 1)))
          return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

struct LocalizePass : tplan::shard::impl::LocalizePassBase<LocalizePass> {
  void runOnOperation() final {
    if ((getOperation()->hasAttr(dist::kMesh) && failed(localize(getOperation()))) ||
        failed(checkSizes(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult localize(ModuleOp module) {
    FailureOr<Placement> placement = Placement::read(module);
    FailureOr<Borders> borders =
        failed(placement) ? FailureOr<Borders>(failure()) : Borders::read(module, *placement);
    if (failed(borders))
      return failure();
    for (auto layer : module.getOps<LayerOp>())
      LayerLocalizer(layer, *placement).run();
    for (auto chain : module.getOps<ChainOp>())
      for (Operation &op : chain.getBody().front())
        for (Value v : op.getResults())
          v.setType(placement->localType(typeOf(v), dist::layoutOf(v)));
    for (auto param : module.getOps<ParamOp>())
      localize(param, borders->weightOf(param), *placement);
    return success();
  }

  /// Keeps beside the local type what the binary's tables need of the logical tensor.
  void localize(ParamOp param, const WeightLayouts &layouts, const Placement &placement) {
    auto type = cast<Tensor>(param.getType());
    param->setAttr(dist::kGlobal, TypeAttr::get(type));
    param->setAttr(dist::kWeight, layouts.weight);
    param->setAttr(dist::kState, layouts.state);
    param->setAttr(dist::kGradient, layouts.reduced);
    if (dist::RowsAttr rows = layouts.state.getRows()) {
      Tensor block = placement.localType(type, layouts.state);
      param->setAttr(dist::kPadded, IntegerAttr::get(IntegerType::get(&getContext(), 64),
                                                     block.getNumElements() *
                                                         placement.mesh.sizeOf(rows.getAxes())));
    }
    param.setType(placement.localType(type, layouts.weight));
  }
};

} // namespace
