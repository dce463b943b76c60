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

/// A gather of a weight, and its copy if that is what it makes, else the weight, or a copy of it,
/// that it reads.
struct Gather {
  dist::CollectiveOp op;
  ParamOp param;
};

/// What a value is another form, or a part, of.
Value originOf(Value v) {
  while (Operation *op = v.getDefiningOp()) {
    if (!isa<CastOp, dist::ReshapeOp, dist::SliceOp>(op))
      break;
    v = op->getOperand(0);
  }
  return v;
}

struct CompressWeightsPass : tplan::shard::impl::CompressWeightsPassBase<CompressWeightsPass> {
  void runOnOperation() final {
    lang::Settings settings(getOperation());
    if (!settings.plan.compressWeights)
      return markAllAnalysesPreserved();
    const lang::Compress &plan = *settings.plan.compressWeights;
    SymbolTable symbols(getOperation());
    SmallVector<Gather> copies, reads;
    for (auto layer : getOperation().getOps<LayerOp>())
      for (auto op : layer.getBlock().getOps<dist::CollectiveOp>())
        if (op.getKind() == dist::CollectiveKind::AllGather && isOver(plan, op, mesh()))
          note(symbols, layer, op, copies, reads);
    DenseSet<Operation *> rounded; // copies
    for (Gather gather : copies)
      if (compress(gather.op, plan))
        rounded.insert(gather.param);
    bool hasCompressed = !rounded.empty();
    for (Gather gather : reads)
      if (!rounded.contains(gather.param))
        hasCompressed |= compress(gather.op, plan);
    if (!hasCompressed)
      emitWarning(settings.planLine("compress"))
          << "no weight is compressed: what ranks gather is no whole number of blocks of a rank; "
             "choose a smaller block, or drop `weights`";
  }

private:
  dist::MeshAttr mesh() { return dist::meshOf(getOperation()); }

  /// The first gather on a way, where what it makes is a copy or is only read: what a rank keeps
  /// for its next update must come as it is.
  void note(SymbolTable &symbols, LayerOp layer, dist::CollectiveOp op,
            SmallVectorImpl<Gather> &copies, SmallVectorImpl<Gather> &reads) {
    Value origin = originOf(op.getX());
    if (origin.getDefiningOp<dist::CollectiveOp>())
      return;
    if (ParamOp made = madeOf(symbols, layer, op.getResult())) {
      if (made.isCopy())
        copies.push_back({op, made});
      return;
    }
    auto arg = dyn_cast<BlockArgument>(origin);
    if (!arg || layer.getArgRole(arg.getArgNumber()) != Role::Param)
      return;
    if (ParamOp read = paramOf(symbols, layer, layer.getArgName(arg.getArgNumber())))
      reads.push_back({op, read});
  }

  /// The weight, or the copy of one, that a value becomes; null: none.
  static ParamOp madeOf(SymbolTable &symbols, LayerOp layer, Value v) {
    for (OpOperand &use : v.getUses()) {
      Operation *user = use.getOwner();
      ParamOp made;
      if (isa<ReturnOp>(user) && layer.getResultRole(use.getOperandNumber()) == Role::Param)
        made = paramOf(symbols, layer, layer.getResultName(use.getOperandNumber()));
      else if (isa<CastOp, dist::CollectiveOp>(user))
        made = madeOf(symbols, layer, user->getResult(0));
      if (made)
        return made;
    }
    return {};
  }

  /// Whether ranks hold the weight in blocks that follow each other, each a whole number of the
  /// form's; then they gather those.
  bool compress(dist::CollectiveOp op, const lang::Compress &plan) {
    NNBuilder b(op.getLoc(), op);
    Wire wire(b, plan, op, mesh());
    Tensor mine = typeOf(op.getX()), whole = typeOf(op.getResult());
    int64_t elements = mine.getNumElements(), block = wire.blockOf(elements);
    if (!block || elements * wire.ranks != whole.getNumElements() || !wire.hasBlocksInOrder(whole))
      return false;
    Tensor shape = Tensor::get(
        b.getContext(),
        {wire.dim(kTo, 1), wire.dim(kBlocks, elements / block), wire.dim(kBlock, block)},
        mine.getElementType());
    Value sent = b.cast(b.create<dist::ReshapeOp>(shape, op.getX()), b.getF32Type());
    SmallVector<Value> came = llvm::map_to_vector(wire.encode(sent).parts, [&](Value part) {
      return wire.exchange(part, dist::CollectiveKind::AllGather);
    });
    Value made = b.cast(wire.decode(came), whole.getElementType()); // [to ranks, blocks, block]
    op.getResult().replaceAllUsesWith(b.create<dist::ReshapeOp>(whole, made));
    op.erase();
    return true;
  }
};
} // namespace
