//===- PrepareFusion.cpp - every op in a form that a kernel or library has -===//
//
// From here on the listed order of dimensions is the order in memory. Each
// contraction must be a GEMM, each reduction must run along rows (the last
// dimensions) or columns (the first); where one is not, operands change order.
// A column sum is cut in two: partial sums of blocks of rows, then their sum,
// with blocks that depend on the shape alone. GEMMs in FP8 on a GPU sum over
// the last dimension of both operands, as its tensor cores need.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/rt/RT.h"
#include "dialects/tplan/Settings.h"
#include "lib/Fuse/BlockMaxima.h"
#include "lib/Fuse/Fuse.h"
#include "mlir/IR/BuiltinOps.h"

namespace tplan::fuse {
#define GEN_PASS_DEF_PREPAREFUSIONPASS
#include "lib/Fuse/Passes.h.inc"
} // namespace tplan::fuse

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

/// Dimensions of `type` by ascending rank, equal ones in their order.
Tensor reorder(Tensor type, function_ref<int(DimAttr)> rank) {
  SmallVector<DimAttr> dims(type.getDims());
  llvm::sort(dims, [&](DimAttr a, DimAttr b) {
    return std::pair(rank(a), type.find(a.getName())) < std::pair(rank(b), type.find(b.getName()));
  });
  return type.withDims(dims);
}

/// x in the order of `type`. Dimensions that stay side by side change places as one, whose lines
/// are long.
Value inOrder(NNBuilder &b, Value x, Tensor type) {
  Tensor from = typeOf(x);
  if (from == type)
    return x;
  SmallVector<DimAttr> merged;   // in the order of `type`
  SmallVector<int64_t> position; // of each in x
  int64_t next = -1;             // in x
  for (DimAttr dim : type.getDims()) {
    int64_t place = from.find(dim.getName());
    if (place == next && !dim.getBounded()) {
      merged.back() = DimAttr::get(b.getContext(), dim.getName(),
                                   merged.back().getSize() * dim.getSize(), false);
    } else {
      merged.push_back(dim);
      position.push_back(place);
    }
    next = place + 1;
  }
  auto indices = llvm::to_vector(llvm::seq(merged.size()));
  llvm::sort(indices, [&](size_t i, size_t j) { return position[i] < position[j]; });
  auto view = [&](Value v, Tensor as) -> Value {
    return typeOf(v) == as ? v : dist::ReshapeOp::create(b, v.getLoc(), as, v).getResult();
  };
  auto inX = llvm::map_to_vector(indices, [&](size_t i) { return merged[i]; });
  return view(b.broadcast(view(x, from.withDims(inX)), from.withDims(merged)), type);
}

/// Operands in f8 on a GPU: what is contracted lies innermost, in one order. The scales of blocks
/// lie with the kept dimensions innermost, those of squares with the contracted ones.
void prepareForTensorCores(ContractOp op) {
  Tensor lhs = typeOf(op.getLhs()), rhs = typeOf(op.getRhs()), result = typeOf(op.getResult());
  NNBuilder b(op.getLoc(), op);
  int n = lhs.getRank() + rhs.getRank();
  auto reordered = [&](Tensor type, bool contractedFirst) {
    return reorder(type, [&](DimAttr dim) {
      bool isKept = result.has(dim.getName());
      return (isKept != contractedFirst ? 0 : n) +
             static_cast<int>((isKept ? result : lhs).find(dim.getName()));
    });
  };
  auto scale = [&](Value scale, Tensor of) {
    bool hasEachRow = llvm::all_of(of.getDims(), [&](DimAttr dim) {
      return !result.has(dim.getName()) || typeOf(scale).has(dim.getName());
    });
    return inOrder(b, scale, reordered(typeOf(scale), hasEachRow));
  };
  Tensor type = reorder(result, [&](DimAttr dim) { return rhs.has(dim.getName()) ? 1 : 0; });
  Value product = b.create<ContractOp>(type, inOrder(b, op.getLhs(), reordered(lhs, false)),
                                       inOrder(b, op.getRhs(), reordered(rhs, false)),
                                       scale(op.getLhsScale(), lhs), scale(op.getRhsScale(), rhs),
                                       op.getFolded());
  op.replaceAllUsesWith(b.broadcast(product, result));
  op.erase();
}

void prepareContraction(ContractOp op) {
  Tensor lhs = typeOf(op.getLhs()), rhs = typeOf(op.getRhs()), result = typeOf(op.getResult());
  if (succeeded(rt::matchGemm(lhs, rhs, result)))
    return;
  // batch, rows, contracted x batch, contracted, columns -> batch, rows, columns.
  NNBuilder b(op.getLoc(), op);
  auto position = [&](DimAttr dim) { return static_cast<int>(result.find(dim.getName())); };
  auto group = [&](DimAttr dim, int rows, int contracted, int columns) {
    bool inL = lhs.has(dim.getName()), inR = rhs.has(dim.getName());
    int n = lhs.getRank() + rhs.getRank();
    if (!result.has(dim.getName()))
      return contracted * n + static_cast<int>(lhs.find(dim.getName()));
    return (inL && inR ? 0 : inL ? rows : columns) * n + position(dim);
  };
  Value newL = b.broadcast(op.getLhs(), reorder(lhs, [&](DimAttr d) { return group(d, 1, 2, 3); }));
  Value newR = b.broadcast(op.getRhs(), reorder(rhs, [&](DimAttr d) { return group(d, 2, 1, 3); }));
  Tensor type = reorder(result, [&](DimAttr d) { return group(d, 1, 3, 2); });
  auto scale = [&](Value scale, int rows) {
    return scale ? b.broadcast(scale, reorder(typeOf(scale),
                                              [&](DimAttr d) { return group(d, rows, 2, rows); }))
                 : Value();
  };
  Value product = b.create<ContractOp>(type, newL, newR, scale(op.getLhsScale(), 1),
                                       scale(op.getRhsScale(), 3), op.getFolded());
  op.replaceAllUsesWith(b.broadcast(product, result));
  op.erase();
}

void prepareReduction(ReduceOp op) {
  Tensor x = typeOf(op.getX()), result = typeOf(op.getResult());
  NNBuilder b(op.getLoc(), op);
  unsigned kept = result.getRank(), lost = x.getRank() - kept;
  bool alongRows = x.getDims().take_front(kept) == result.getDims();
  bool alongColumns = x.getDims().drop_front(lost) == result.getDims();
  if (alongRows)
    return;
  if (fuse::makeMaximaOfBlocks(op))
    return;
  if (!alongColumns || op.getKind() == ReduceKind::max) {
    // Kept dimensions first, in the result's order.
    Tensor type = reorder(x, [&](DimAttr d) {
      int64_t at = result.find(d.getName());
      return static_cast<int>(at < 0 ? x.getRank() : at);
    });
    op.getXMutable().assign(b.broadcast(op.getX(), type));
    return;
  }
  int64_t rows = x.getNumElements() / std::max<int64_t>(1, result.getNumElements());
  int64_t grain = fuse::partialRows(rows), tasks = (rows + grain - 1) / grain;
  SmallVector<DimAttr> dims = {DimAttr::get(b.getContext(), rt::kTaskDim, tasks, false)};
  llvm::append_range(dims, result.getDims());
  Value partial =
      b.create<rt::PartialReduceOp>(x.withDims(dims), ReduceKind::sum, op.getX(), grain);
  op.replaceAllUsesWith(b.create<ReduceOp>(result, ReduceKind::sum, partial, false).getResult());
  op.erase();
}

/// delta = sum over K of out * d_out, less d_lse, takes the place of d_lse: the tiles need it. Dao,
/// "FlashAttention-2", 2023, section 3.1.2.
void prepareAttentionGrad(AttentionGradOp op) {
  if (op->hasAttr(fuse::kLibrary))
    return; // which makes it itself
  NNBuilder b(op.getLoc(), op);
  StringRef width = typeOf(op.getOut()).getDims().back().getName();
  Type element = typeOf(op.getLse()).getElementType();
  Value delta = b.sum(b.mul(b.cast(op.getOut(), element), b.cast(op.getDOut(), element)), {width});
  if (op.getDLse())
    delta = b.sub(delta, op.getDLse());
  op.getDLseMutable().assign(delta);
}

/// A scattering kernel adds onto memory: where its rows go into no accumulator, onto zeros of its
/// own. A number keeps these zeros apart from equal ones.
void prepareScatter(LookupGradOp op, int64_t number) {
  if (op->hasOneUse())
    if (auto add = dyn_cast<AddOp>(*op->getUsers().begin());
        add && add.getRhs() == op.getResult() && isa<BlockArgument>(add.getLhs()))
      return;
  NNBuilder b(op.getLoc(), op);
  b.setInsertionPointAfter(op);
  Value zeros =
      b.create<BroadcastOp>(typeOf(op.getResult()), b.like(op.getResult(), 0)).getResult();
  zeros.getDefiningOp()->setAttr("fuse.fill", b.getI64IntegerAttr(number));
  auto sum = cast<AddOp>(b.add(zeros, op.getResult()).getDefiningOp());
  op.getResult().replaceAllUsesExcept(sum.getResult(), sum);
}

/// A single number is narrowed before it is repeated: so a cotangent in f64 becomes f32 before
/// arrays are made of it.
void narrowEarly(CastOp cast) {
  Value x = cast.getX();
  while (auto repeat = x.getDefiningOp<BroadcastOp>())
    x = repeat.getX();
  Type from = typeOf(x).getElementType(), to = typeOf(cast.getResult()).getElementType();
  if (!typeOf(x).isScalar() || !from.isF64() || !isa<FloatType>(to))
    return;
  NNBuilder b(cast.getLoc(), cast);
  auto widened = x.getDefiningOp<CastOp>();
  bool was = widened && typeOf(widened.getX()).getElementType() == to;
  if (!was && x == cast.getX())
    return;
  Value narrow = was ? widened.getX() : b.cast(x, to);
  if (narrow.getType() != cast.getResult().getType())
    narrow = b.broadcast(narrow, typeOf(cast.getResult()));
  Operation *unread = cast;
  cast.replaceAllUsesWith(narrow);
  while (unread && isOpTriviallyDead(unread)) {
    Operation *source = unread->getOperand(0).getDefiningOp();
    unread->erase();
    unread = source;
  }
}

/// Blocks of a dimension lie in memory as the dimension does.
void makeView(Operation *op) {
  Value x = op->getOperand(0);
  if (auto other = x.getDefiningOp<dist::ReshapeOp>())
    x = other.getX(); // a view of a view is one of what that views
  OpBuilder b(op);
  if (x.getType() != op->getResult(0).getType())
    x = dist::ReshapeOp::create(b, op->getLoc(), op->getResult(0).getType(), x);
  op->getResult(0).replaceAllUsesWith(x);
  op->erase();
}

/// A value that is only repeated along dimensions which the other operand has is read as it is,
/// because operands are broadcast by name; it would be a kernel of its own.
void dropRepetition(Operation *op) {
  if (!isa<AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp>(op))
    return;
  Tensor result = typeOf(op->getResult(0));
  for (unsigned i : {0, 1}) {
    auto repeated = op->getOperand(i).getDefiningOp<BroadcastOp>();
    if (!repeated || typeOf(op->getOperand(1 - i)).getDims() != result.getDims())
      continue;
    auto place = [&](DimAttr dim) { return result.find(dim.getName()); };
    if (llvm::is_sorted(llvm::map_range(typeOf(repeated.getX()).getDims(), place)))
      op->setOperand(i, repeated.getX());
    if (repeated->use_empty())
      repeated.erase();
  }
}

struct PrepareFusionPass : tplan::fuse::impl::PrepareFusionPassBase<PrepareFusionPass> {
  void runOnOperation() final {
    SmallVector<CastOp> casts;
    getOperation().walk([&](CastOp cast) { casts.push_back(cast); });
    llvm::for_each(casts, narrowEarly);
    SmallVector<Operation *> splits;
    getOperation().walk([&](Operation *op) {
      if (isa<SplitOp, MergeOp>(op))
        splits.push_back(op);
    });
    llvm::for_each(splits, makeView);
    getOperation().walk([](dist::ReshapeOp view) {
      if (view->use_empty())
        view.erase();
    });
    getOperation().walk(dropRepetition);
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<ContractOp, ReduceOp, AttentionGradOp, LookupGradOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      if (auto grad = dyn_cast<AttentionGradOp>(op))
        prepareAttentionGrad(grad);
    bool isGpu = lang::targetOf(getOperation()).isGpu();
    for (auto [number, op] : llvm::enumerate(ops)) {
      if (auto contract = dyn_cast<ContractOp>(op)) {
        if (isGpu && contract.getLhsScale())
          prepareForTensorCores(contract);
        else
          prepareContraction(contract);
      } else if (auto reduce = dyn_cast<ReduceOp>(op))
        prepareReduction(reduce);
      else if (auto scatter = dyn_cast<LookupGradOp>(op))
        prepareScatter(scatter, number);
    }
  }
};

} // namespace
