//===- CompressGradients.cpp - sums of gradients in fewer bytes ---------------===//
//
// A sum over ranks is an exchange of blocks, a sum of what came, and, where all ranks want it, a
// gather. Between these a rank encodes and decodes, so what is rounded is never a partial sum of
// some ranks, and the order of ranks is that of their coordinates on every transport.
//
// Or matrices are added up as factors (Factors.h), in steps that come after some others.
//
// One decision: what is lost is kept by the rank that lost it. The second rounding, of a block of
// the sum, is lost by its owner, who adds it to its own error of that block. So what all ranks have
// sent and the sum of their errors are together the sum of all gradients.
//
//===----------------------------------------------------------------------===//
#include "dialects/dist/Kinds.h"
#include "dialects/nn/NNRuns.h"
#include "dialects/tplan/Settings.h"
#include "lib/Shard/Factors.h"
#include "lib/Shard/Member.h"
#include "lib/Shard/Shard.h"
#include "lib/Shard/Wire.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

namespace tplan::shard {
#define GEN_PASS_DEF_COMPRESSGRADIENTSPASS
#include "lib/Shard/Passes.h.inc"
} // namespace tplan::shard

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::shard;
using dist::LayoutAttr;

namespace {

/// What becomes of a value: the gradient that it ends in, and the sums over ranks on the way.
struct Way {
  std::optional<unsigned> result; // of the layer, of role CotParam
  llvm::SmallSetVector<Operation *, 2> sums;
};

Way wayOf(LayerOp layer, Value v) {
  Way way;
  llvm::SetVector<Value> reached;
  reached.insert(v);
  for (size_t i = 0; i < reached.size(); ++i)
    for (OpOperand &use : reached[i].getUses()) {
      Operation *user = use.getOwner();
      if (isa<ReturnOp>(user) && layer.getResultRole(use.getOperandNumber()) == Role::CotParam)
        way.result = use.getOperandNumber();
      auto collective = dyn_cast<dist::CollectiveOp>(user);
      if (collective && dist::factsOf(collective.getKind()).sums)
        way.sums.insert(user);
      if (isa<AddOp, CastOp, dist::CollectiveOp, dist::PlaceOp>(user))
        reached.insert(user->getResult(0));
    }
  return way;
}

/// A sum over ranks, and the gradient that it is for.
struct GradientSum {
  dist::CollectiveOp op;
  StringRef gradient; // its name in the layer
};

/// One sum, compressed.
class Exchange {
public:
  Exchange(LayerOp layer, GradientSum sum, const lang::Compress &plan, dist::MeshAttr mesh)
      : layer(layer), sum(sum.op), gradient(sum.gradient), b(sum.op.getLoc(), sum.op),
        wire(b, plan, sum.op, mesh), x(typeOf(sum.op.getX())) {}

  /// Elements of a block, or 0: what one rank sends another is no whole number of blocks.
  int64_t findBlock() {
    int64_t all = x.getNumElements(), part = all / wire.ranks;
    bool scatters = dist::factsOf(sum.getKind()).scatters();
    bool isWhole = part * wire.ranks == all &&
                   (!scatters ||
                    (typeOf(sum.getResult()).getNumElements() == part && wire.hasBlocksInOrder(x)));
    return isWhole ? wire.blockOf(part) : 0;
  }

  /// With `keeps` the rank keeps what is lost.
  void exchangeBlocks(int64_t elements, bool keeps) {
    DimAttr from = wire.dim(kFrom, 1), to = wire.dim(kTo, wire.ranks);
    DimAttr blocks = wire.dim(kBlocks, x.getNumElements() / wire.ranks / elements);
    DimAttr block = wire.dim(kBlock, elements);
    Tensor shape = tensor({from, to, blocks, block});
    Value sent =
        b.cast(b.create<dist::ReshapeOp>(shape.withElement(x.getElementType()), sum.getX()),
               b.getF32Type());
    Value error = keeps ? layer.addArg(labelOfError(), shape, layer.getLoc()) : Value();
    if (keeps)
      sent = b.add(sent, error);
    Sent first = wire.encode(sent);
    SmallVector<Value> came = llvm::map_to_vector(first.parts, [&](Value part) {
      return wire.exchange(part, dist::CollectiveKind::AllToAll);
    });
    Value total = b.sum(wire.decode(came), {kFrom}); // [to 1, blocks, block]
    Value lost = keeps ? b.sub(sent, first.read) : Value();
    Value made = total;
    if (!dist::factsOf(sum.getKind()).scatters()) {
      Sent second = wire.encode(total);
      if (keeps)
        lost = b.add(lost, own(b.sub(total, second.read), shape));
      SmallVector<Value> all = llvm::map_to_vector(second.parts, [&](Value part) {
        return wire.exchange(part, dist::CollectiveKind::AllGather);
      });
      made = wire.decode(all);
    }
    finish(made, typeOf(sum.getResult()), lost);
  }

  /// What each rank has of what is added up, as a matrix, or null: factors of it save too little.
  Tensor findMatrix(int64_t rank) { return matrixOf(x, rank); }

  /// The rank keeps what is lost.
  void exchangeFactors(Tensor matrix, int64_t rank) {
    Value sent =
        b.cast(b.create<dist::ReshapeOp>(matrix.withElement(x.getElementType()), sum.getX()),
               b.getF32Type());
    sent = b.add(sent, layer.addArg(labelOfError(), matrix, layer.getLoc()));
    auto [made, lost] = sumByFactors(b, layer, sent, rank, sum.getAxes(), gradient);
    finish(made, x, lost);
  }

private:
  /// Puts the sum [..], of which the rank may want a block, in the place of the collective.
  void finish(Value made, Tensor shape, Value lost) {
    Tensor result = typeOf(sum.getResult());
    made = b.create<dist::ReshapeOp>(shape.withElement(result.getElementType()),
                                     b.cast(made, result.getElementType()));
    if (typeOf(made) != result)
      made = b.create<dist::SliceOp>(result, made, sum.getAxes(), sum.getDimAttr());
    if (lost)
      layer.addResult(labelOfError(), lost);
    sum.getResult().replaceAllUsesWith(made);
    sum.erase();
  }

  Tensor tensor(ArrayRef<DimAttr> dims) {
    return Tensor::get(b.getContext(), dims, b.getF32Type());
  }

  Label labelOfError() { return labelOfState(b.getContext(), gradient, dist::kErrorSlot); }

  /// What the rank loses of its own block, [to 1, blocks, block], as a part of what it sends, which
  /// has `shape`.
  Value own(Value lost, Tensor shape) {
    Value block = b.create<dist::ReshapeOp>(tensor(typeOf(lost).getDims().drop_front()), lost);
    Value isOwn = b.compare(CmpKind::eq, b.index(wire.dim(kTo, wire.ranks)),
                            memberOf(layer, dist::axesOf(sum.getAxes())));
    return b.select(b.broadcast(isOwn, shape), b.broadcast(block, shape), b.like(block, 0));
  }

  LayerOp layer;
  dist::CollectiveOp sum;
  StringRef gradient;
  NNBuilder b;
  Wire wire;
  Tensor x;
};

/// How the first steps do what a part `reduce` does: without compression.
void keepForEarlySteps(LayerOp layer, LayerOp before) {
  OpBuilder b(layer);
  auto early = cast<LayerOp>(b.clone(*before));
  early.setPart(Part::EarlyReduce);
  early.setSymName(partSymbol(layer.getWholeLayer().getValue(), Part::EarlyReduce));
}

struct CompressGradientsPass
    : tplan::shard::impl::CompressGradientsPassBase<CompressGradientsPass> {
  void runOnOperation() final {
    lang::Settings settings(getOperation());
    if (!settings.plan.compress)
      return markAllAnalysesPreserved();
    SymbolTable symbols(getOperation());
    const lang::Compress &plan = *settings.plan.compress;
    bool hasCompressed = false;
    for (auto layer : llvm::to_vector(getOperation().getOps<LayerOp>())) {
      OwningOpRef<LayerOp> before = plan.start ? layer.clone() : LayerOp();
      bool isCompressed = false;
      for (GradientSum sum : sumsOf(layer, plan))
        isCompressed |= compress(symbols, layer, sum, plan);
      if (isCompressed && before)
        keepForEarlySteps(layer, *before);
      hasCompressed |= isCompressed;
    }
    if (!hasCompressed && plan.format == lang::Compression::PowerSGD)
      emitWarning(settings.planLine("compress"))
          << "no sum of a gradient is compressed: two factors have more than half of the elements "
             "of each weight, or stages share all weights; choose a smaller rank, or drop the "
             "line, "
             "found "
          << plan.rank;
    else if (!hasCompressed)
      emitWarning(settings.planLine("compress"))
          << "no sum of a gradient is compressed: what one rank sends another is no whole number "
             "of blocks; choose a smaller block, or drop the line";
  }

private:
  dist::MeshAttr mesh() { return dist::meshOf(getOperation()); }

  /// Sums of gradients over some of the plan's axes; of two that follow each other the second.
  SmallVector<GradientSum> sumsOf(LayerOp layer, const lang::Compress &plan) {
    SmallVector<GradientSum> sums;
    for (auto op : layer.getBlock().getOps<dist::CollectiveOp>()) {
      if (!isOver(plan, op, mesh()) || !dist::factsOf(op.getKind()).sums ||
          op.getReduction() != ReduceKind::sum)
        continue;
      Way way = wayOf(layer, op.getResult());
      if (way.result && way.sums.empty())
        sums.push_back({op, layer.getResultName(*way.result)});
    }
    return sums;
  }

  /// Whether the sum could be compressed.
  bool compress(SymbolTable &symbols, LayerOp layer, GradientSum sum, const lang::Compress &plan) {
    bool keeps = layer.getPart() == Part::Reduce;
    ParamOp param = paramOf(symbols, layer, sum.gradient);
    Exchange exchange(layer, sum, plan, mesh());
    bool hasFactors = plan.format == lang::Compression::PowerSGD;
    int64_t block = hasFactors ? 0 : exchange.findBlock();
    Tensor matrix = hasFactors ? exchange.findMatrix(plan.rank) : Tensor();
    if ((!block && !matrix) || (keeps && !param) || (plan.start && hasShared(symbols, layer)))
      return false;
    dist::Axes axes = dist::axesOf(sum.op.getAxes());
    LayoutAttr layout = dist::layoutOf(sum.op.getX()).settled();
    if (matrix)
      exchange.exchangeFactors(matrix, plan.rank);
    else
      exchange.exchangeBlocks(block, keeps);
    if (!keeps)
      return true;
    MLIRContext *context = &getContext();
    auto type = cast<Tensor>(cast<TypeAttr>(param->getAttr(dist::kGlobal)).getValue());
    SmallVector<DimAttr> dims = {
        DimAttr::get(context, dist::kErrorDim, mesh().sizeOf(axes), false)};
    llvm::append_range(dims, type.getDims());
    param->setAttr(dist::kErrorType,
                   TypeAttr::get(Tensor::get(context, dims, Float32Type::get(context))));
    param->setAttr(dist::kError, layout.withAxes(StringAttr::get(context, dist::kErrorDim), axes));
    return true;
  }

  /// Whether several stages have parts of a gradient of the layer's, which is then summed after the
  /// tasks, in all steps alike.
  bool hasShared(SymbolTable &symbols, LayerOp layer) {
    for (unsigned i = 0, e = layer.getNumResults(); i < e; ++i)
      if (layer.getResultRole(i) == Role::CotParam)
        if (ParamOp param = paramOf(symbols, layer, layer.getResultName(i));
            param && symbols.lookup(partSymbol(sumOfStages(param.getSymName()), Part::Reduce)))
          return true;
    return false;
  }
};
} // namespace
