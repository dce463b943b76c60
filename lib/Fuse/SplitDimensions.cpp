//===- SplitDimensions.cpp - split-dimensions: blocks are dimensions everywhere ---===//
//
// Scales are for blocks of a dimension (nn.split). Where an op that computes a value and one that
// reads its blocks could be one kernel, a view between them would put the value in memory. So in a
// function that splits a dimension, all that kernels compute along it is computed in its blocks,
// and views are left where values are in memory anyway: at arguments, library calls and results.
//
// One decision: a dimension that a function splits in two ways stays as it is.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "lib/Fuse/Fuse.h"
#include "lib/Fuse/Units.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tplan::fuse {
#define GEN_PASS_DEF_SPLITDIMENSIONSPASS
#include "lib/Fuse/Passes.h.inc"
} // namespace tplan::fuse

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

/// The dimensions that a function splits, by name and size, and into blocks of how many.
class Splits {
public:
  explicit Splits(LayerOp layer) {
    for (Operation &op : layer.getBlock()) {
      if (auto split = dyn_cast<SplitOp>(op))
        add(typeOf(split.getX()), split.getDim(), split.getBy());
      else if (auto merge = dyn_cast<MergeOp>(op))
        add(typeOf(merge.getResult()), merge.getDim(), blockOf(merge));
    }
    blocks.remove_if([](auto &entry) { return entry.second == 0; });
  }

  bool empty() const { return blocks.empty(); }

  /// The dimensions of `type` that are split, in its order.
  SmallVector<std::pair<StringAttr, int64_t>> of(Tensor type) const {
    SmallVector<std::pair<StringAttr, int64_t>> found;
    for (DimAttr dim : type.getDims())
      if (auto at = blocks.find(dim); at != blocks.end())
        found.push_back({StringAttr::get(type.getContext(), dim.getName()), at->second});
    return found;
  }

  Tensor in(Tensor type) const {
    for (auto [dim, by] : of(type))
      type = splitType(type, dim, by);
    return type;
  }

private:
  static int64_t blockOf(MergeOp merge) {
    Tensor x = typeOf(merge.getX());
    return x.getDims()[x.find(innerName(merge.getDim()))].getSize();
  }

  void add(Tensor whole, StringRef dim, int64_t by) {
    auto [at, isNew] = blocks.insert({whole.getDims()[whole.find(dim)], by});
    if (!isNew && at->second != by)
      at->second = 0;
  }

  llvm::MapVector<Attribute, int64_t> blocks;
};

class Splitter {
public:
  explicit Splitter(LayerOp layer) : layer(layer), splits(layer) {}

  void run() {
    if (splits.empty())
      return;
    for (Operation &op : llvm::make_early_inc_range(layer.getBlock()))
      visit(&op);
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
  }

private:
  void visit(Operation *op) {
    if (isa<SplitOp, MergeOp>(op)) {
      Value x = split(op->getOperand(0), op);
      if (x.getType() == splits.in(typeOf(op->getResult(0))))
        return replace(op, x);
    } else if (canSplit(op)) {
      return replace(op, inBlocks(op)->getResult(0));
    }
    for (OpOperand &operand : op->getOpOperands())
      operand.set(whole(operand.get(), op));
  }

  /// Ops that kernels compute element by element, or along rows and columns.
  bool canSplit(Operation *op) {
    if (op->getNumResults() != 1 || !isa<Elemental, ReduceOp>(op) ||
        isa<IndexOp, DropoutMaskOp>(op))
      return false;
    // A sum that is added onto memory stays beside it.
    if (auto add = dyn_cast<AddOp>(op); add && fuse::addsOnto(add))
      return false;
    return llvm::any_of(op->getOperandTypes(),
                        [&](Type type) { return !splits.of(cast<Tensor>(type)).empty(); }) ||
           !splits.of(typeOf(op->getResult(0))).empty();
  }

  Operation *inBlocks(Operation *op) {
    Operation *made = OpBuilder(op).clone(*op);
    for (OpOperand &operand : made->getOpOperands())
      operand.set(split(operand.get(), made));
    made->getResult(0).setType(splits.in(typeOf(op->getResult(0))));
    return made;
  }

  void replace(Operation *op, Value by) {
    blocks[op->getResult(0)] = by;
    replaced.insert(op);
  }

  /// A value in blocks.
  Value split(Value v, Operation *reader) {
    Value &made = blocks[v];
    if (made || splits.of(typeOf(v)).empty())
      return made ? made : v;
    NNBuilder b(v.getLoc(), reader);
    b.setInsertionPointAfterValue(v);
    Value x = v;
    for (auto [dim, by] : splits.of(typeOf(v)))
      x = b.split(x, dim, by);
    return blocks[v] = x;
  }

  /// A value that is computed in blocks, as it was before.
  Value whole(Value v, Operation *reader) {
    auto found = blocks.find(v);
    if (found == blocks.end() || !replaced.contains(v.getDefiningOp()))
      return v;
    Value &made = merged[v];
    if (made)
      return made;
    NNBuilder b(v.getLoc(), reader);
    b.setInsertionPointAfterValue(found->second);
    Value x = found->second;
    for (auto [dim, by] : splits.of(typeOf(v)))
      x = b.merge(x, dim);
    return merged[v] = x;
  }

  LayerOp layer;
  Splits splits;
  llvm::DenseMap<Value, Value> blocks, merged; // of values as they were
  llvm::SetVector<Operation *> replaced;
};

struct SplitDimensionsPass : tplan::fuse::impl::SplitDimensionsPassBase<SplitDimensionsPass> {
  void runOnOperation() final {
    for (auto layer : getOperation().getOps<LayerOp>())
      Splitter(layer).run();
  }
};

} // namespace
