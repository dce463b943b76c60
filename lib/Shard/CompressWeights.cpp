//===- CompressWeights.cpp - weights are gathered in fewer bytes --------------===//
//
// What ranks gather of a weight, each its block of rows, goes in the plan's form. All of them, the
// owner too, then compute with what came, so they have the same weight, while the owner's rows stay
// as the optimizer made them: what the form loses is lost for one use, and nothing is kept of it.
//
// One decision: a weight is compressed once on its way. Of two gathers that follow each other, over
// nodes and inside of one, or into the copy of a node and from there, the first is compressed. A
// second one would round again what is rounded, and goes where links are fast.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNRuns.h"
#include "dialects/tplan/Settings.h"
#include "lib/Shard/Member.h"
#include "lib/Shard/Shard.h"
#include "lib/Shard/Wire.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"

namespace tplan::shard {
#define GEN_PASS_DEF_COMPRESSWEIGHTSPASS
#include "lib/Shard/Passes.h.inc"
} // namespace tplan::shard

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::shard;

namespace {

/// One gather of a weight.
class Gather {
public:
  Gather(dist::CollectiveOp op, const lang::Compress &plan, int64_t ranks)
      : op(op), b(op.getLoc(), op), wire(b, plan), mine(typeOf(op.getX())),
        whole(typeOf(op.getResult())), ranks(ranks) {}

  /// Whether ranks hold the weight in blocks that follow each other, each a whole number of the
  /// form's.
  bool fits() {
    int64_t elements = mine.getNumElements();
    return wire.blockOf(elements) && elements * ranks == whole.getNumElements() && isOutermost();
  }

  void compress() {
    DimAttr to = dim(kTo, 1), block = dim(kBlock, wire.blockOf(mine.getNumElements()));
    DimAttr blocks = dim(kBlocks, mine.getNumElements() / block.getSize());
    auto shape = Tensor::get(b.getContext(), {to, blocks, block}, mine.getElementType());
    Value sent = b.cast(b.create<dist::ReshapeOp>(shape, op.getX()), b.getF32Type());
    SmallVector<Value> came =
        llvm::map_to_vector(wire.encode(sent).parts, [&](Value part) { return gather(part); });
    Value made = b.cast(wire.decode(came), whole.getElementType()); // [to ranks, blocks, block]
    op.getResult().replaceAllUsesWith(b.create<dist::ReshapeOp>(whole, made));
    op.erase();
  }

private:
  DimAttr dim(StringRef name, int64_t size) {
    return DimAttr::get(b.getContext(), name, size, false);
  }

  bool isOutermost() {
    if (!op.getDim())
      return true;
    ArrayRef<DimAttr> before = whole.getDims().take_front(whole.find(*op.getDim()));
    return llvm::all_of(before, [](DimAttr dim) { return dim.getSize() == 1; });
  }

  /// A part [to 1, ..] of each rank.
  Value gather(Value part) {
    SmallVector<DimAttr> dims(typeOf(part).getDims());
    dims.front() = dim(kTo, ranks);
    return b.create<dist::CollectiveOp>(
        Tensor::get(b.getContext(), dims, typeOf(part).getElementType()),
        dist::CollectiveKind::AllGather, part, op.getAxes(), ReduceKind::sum, b.getStringAttr(kTo),
        StringAttr(), DenseI32ArrayAttr());
  }

  dist::CollectiveOp op;
  NNBuilder b;
  Wire wire;
  Tensor mine, whole;
  int64_t ranks;
};

/// The argument that a value is, in another form or as a part; null: it is computed, or gathered.
BlockArgument sourceOf(Value v) {
  while (Operation *op = v.getDefiningOp()) {
    if (!isa<CastOp, dist::ReshapeOp, dist::SliceOp>(op))
      return {};
    v = op->getOperand(0);
  }
  return cast<BlockArgument>(v);
}

struct CompressWeightsPass : tplan::shard::impl::CompressWeightsPassBase<CompressWeightsPass> {
  void runOnOperation() final {
    lang::Settings settings(getOperation());
    if (!settings.plan.compressWeights)
      return markAllAnalysesPreserved();
    const lang::Compress &plan = *settings.plan.compressWeights;
    SymbolTable symbols(getOperation());
    DenseSet<Operation *> rounded; // copies
    bool hasCompressed = false;
    // Copies are made first, because what reads them asks how they came.
    for (bool isOfCopies : {true, false})
      for (auto layer : getOperation().getOps<LayerOp>())
        for (auto op : llvm::make_early_inc_range(layer.getBlock().getOps<dist::CollectiveOp>())) {
          if (!isGather(op, plan))
            continue;
          ParamOp copy = copyOf(symbols, layer, op.getResult());
          bool isRead = !copy && readsWeight(symbols, layer, op, rounded);
          Gather gather(op, plan, mesh().sizeOf(dist::axesOf(op.getAxes())));
          if ((isOfCopies ? !copy : !isRead) || !gather.fits())
            continue;
          gather.compress();
          hasCompressed = true;
          if (copy)
            rounded.insert(copy);
        }
    if (!hasCompressed)
      emitWarning(settings.planLine("compress"))
          << "no weight is compressed: what ranks gather is no whole number of blocks of a rank; "
             "choose a smaller block, or drop `weights`";
  }

private:
  dist::MeshAttr mesh() { return dist::meshOf(getOperation()); }

  bool isGather(dist::CollectiveOp op, const lang::Compress &plan) {
    return op.getKind() == dist::CollectiveKind::AllGather &&
           llvm::all_of(dist::axesOf(op.getAxes()), [&](StringAttr axis) {
             return llvm::is_contained(plan.axes, mesh().planAxisOf(axis));
           });
  }

  /// The copy of a weight that a value becomes, which nothing updates, or null.
  static ParamOp copyOf(SymbolTable &symbols, LayerOp layer, Value v) {
    for (OpOperand &use : v.getUses()) {
      Operation *user = use.getOwner();
      ParamOp param;
      if (isa<ReturnOp>(user) && layer.getResultRole(use.getOperandNumber()) == Role::Param)
        param = paramOf(symbols, layer, layer.getResultName(use.getOperandNumber()));
      else if (isa<CastOp, dist::CollectiveOp>(user))
        param = copyOf(symbols, layer, user->getResult(0));
      if (param && param.isCopy())
        return param;
    }
    return {};
  }

  /// Whether a gather is of a weight as its owner has it, and of no use but to be read.
  static bool readsWeight(SymbolTable &symbols, LayerOp layer, dist::CollectiveOp op,
                          const DenseSet<Operation *> &rounded) {
    BlockArgument arg = sourceOf(op.getX());
    if (!arg || layer.getArgRole(arg.getArgNumber()) != Role::Param)
      return false;
    ParamOp param = paramOf(symbols, layer, layer.getArgName(arg.getArgNumber()));
    bool updates = layer.getPart() == Part::Update || layer.getPart() == Part::Prepare;
    return param && !updates && !rounded.contains(param);
  }
};
} // namespace
