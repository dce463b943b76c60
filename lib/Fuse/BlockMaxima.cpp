//===- BlockMaxima.cpp - maxima over blocks of rows ---------------------------===//
//
// Scales of columns are for blocks of rows. A row kernel finds the maxima of a task's rows as it
// goes, so a block is a task, and a maximum has no order, so any tasks give the same.
//
// One decision: where a kernel also adds up rows, its tasks are those of the sum, which fix its
// order; where these are smaller than a block, its maxima are put together by a second kernel. So
// are those of long blocks, which would leave few tasks.
//
//===----------------------------------------------------------------------===//
#include "lib/Fuse/BlockMaxima.h"
#include "dialects/dist/Dist.h"
#include "dialects/nn/NNBuilder.h"
#include "dialects/rt/RT.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

/// At least 32, and as many as leave 512 partial sums. A GPU has at least a block for each, and
/// with few blocks its memory is not busy (docs/measurements.md, On a GPU).
int64_t fuse::partialRows(int64_t rows) { return std::max<int64_t>(32, (rows + 511) / 512); }

static int64_t elementsOf(ArrayRef<DimAttr> dims) {
  int64_t count = 1;
  for (DimAttr dim : dims)
    count *= dim.getSize();
  return count;
}

/// The last dimensions that an operand and the result of a reduction have in common.
static ArrayRef<DimAttr> innerDims(ReduceOp op) {
  ArrayRef<DimAttr> x = typeOf(op.getX()).getDims(), result = typeOf(op.getResult()).getDims();
  size_t count = 0;
  while (count < result.size() && x[x.size() - 1 - count] == result[result.size() - 1 - count])
    ++count;
  return x.take_back(count);
}

/// How many rows each maximum is over, where a reduction takes them of blocks of rows that follow
/// each other, in columns; else 0.
static int64_t rowsOfBlock(ReduceOp op) {
  constexpr int64_t kLeastColumns = 8; // that fill a vector
  ArrayRef<DimAttr> x = typeOf(op.getX()).getDims(), result = typeOf(op.getResult()).getDims();
  ArrayRef<DimAttr> inner = innerDims(op), outer = result.drop_back(inner.size());
  bool isBlock = x.take_front(outer.size()) == outer;
  bool bounded = llvm::any_of(x, [](DimAttr dim) { return dim.getBounded(); });
  if (op.getKind() != ReduceKind::max || !isBlock || bounded || elementsOf(inner) < kLeastColumns)
    return 0;
  return elementsOf(x.drop_front(outer.size()).drop_back(inner.size()));
}

/// What kernels that compute v read: arguments, and what calls give.
static llvm::SmallPtrSet<Value, 8> sourcesOf(Value v) {
  llvm::SmallPtrSet<Value, 8> sources;
  llvm::SetVector<Value> work;
  work.insert(v);
  for (unsigned i = 0; i < work.size(); ++i) {
    Operation *op = work[i].getDefiningOp();
    if (op && isa<Elemental, ReduceOp, dist::ReshapeOp>(op))
      work.insert(op->operand_begin(), op->operand_end());
    else
      sources.insert(work[i]);
  }
  return sources;
}

/// Whether a sum over the same rows reads nothing that the maximum does not: then one kernel may
/// have both.
static bool hasSumBeside(ReduceOp op) {
  auto isSum = [&](Operation &other) {
    auto reduce = dyn_cast<ReduceOp>(other);
    auto partial = dyn_cast<rt::PartialReduceOp>(other);
    if (reduce) // over rows
      return reduce.getKind() == ReduceKind::sum && typeOf(reduce.getResult()).getRank() &&
             typeOf(reduce.getX()).getDims() == typeOf(op.getX()).getDims() &&
             innerDims(reduce).size() == typeOf(reduce.getResult()).getDims().size();
    return partial && partial.getKind() == ReduceKind::sum &&
           typeOf(partial.getX()).getDims() == typeOf(op.getX()).getDims();
  };
  llvm::SmallPtrSet<Value, 8> mine = sourcesOf(op.getX());
  return llvm::any_of(*op->getBlock(), [&](Operation &other) {
    return isSum(other) && llvm::all_of(sourcesOf(other.getOperand(0)),
                                        [&](Value source) { return mine.contains(source); });
  });
}

namespace {
/// The maxima of one reduction.
class Maxima {
public:
  explicit Maxima(ReduceOp op) : op(op), b(op.getLoc(), op), result(typeOf(op.getResult())) {}

  void replace(int64_t block);

private:
  Tensor ofRows(Tensor type, StringRef name, int64_t count) {
    SmallVector<DimAttr> dims = {DimAttr::get(b.getContext(), name, count, false)};
    llvm::append_range(dims, innerDims(op));
    return type.withDims(dims);
  }
  Value maxima(Value of, int64_t from, int64_t each) {
    return b.create<rt::PartialReduceOp>(ofRows(typeOf(of), rt::kTaskDim, from / each),
                                         ReduceKind::max, of, each);
  }
  bool follows(Operation &next, const DenseMap<Value, Value> &found);
  void findWhatFollows(Value ofTasks);

  ReduceOp op;
  NNBuilder b;
  Tensor result;
};
} // namespace

void Maxima::replace(int64_t block) {
  Tensor x = typeOf(op.getX());
  int64_t rows = elementsOf(x.getDims()) / elementsOf(innerDims(op));
  int64_t grain = fuse::partialRows(rows), parts = rows / grain;
  constexpr int64_t kMost = 256; // rows of a task
  bool inParts = grain < block && block % grain == 0 && (block > kMost || hasSumBeside(op));
  if (!inParts)
    return findWhatFollows(maxima(op.getX(), rows, block));
  Value each =
      b.create<dist::ReshapeOp>(ofRows(x, "part.rows", parts), maxima(op.getX(), rows, grain));
  findWhatFollows(maxima(each, parts, block / grain));
}

/// Whether an op computes each element from one maximum, or from what follows from it.
bool Maxima::follows(Operation &next, const DenseMap<Value, Value> &found) {
  if (!isa<Elemental>(next) || next.getNumResults() != 1 ||
      typeOf(next.getResult(0)).getDims() != result.getDims())
    return false;
  auto isKnown = [&](Value v) { return found.contains(v); };
  return llvm::any_of(next.getOperands(), isKnown) &&
         llvm::all_of(next.getOperands(),
                      [&](Value v) { return isKnown(v) || typeOf(v).isScalar(); });
}

/// In memory maxima by task are the result. Others read what follows through a view.
void Maxima::findWhatFollows(Value ofTasks) {
  DenseMap<Value, Value> found = {{op.getResult(), ofTasks}};
  SmallVector<Operation *> before = {op};
  for (Operation &next : llvm::make_range(std::next(op->getIterator()), op->getBlock()->end())) {
    if (!follows(next, found))
      continue;
    OpBuilder at(&next);
    Operation *copy = at.clone(next);
    for (OpOperand &operand : copy->getOpOperands())
      if (Value known = found.lookup(operand.get()))
        operand.set(known);
    copy->getResult(0).setType(
        typeOf(ofTasks).withElement(typeOf(next.getResult(0)).getElementType()));
    found[next.getResult(0)] = copy->getResult(0);
    before.push_back(&next);
  }
  llvm::SmallPtrSet<Operation *, 16> replaced(before.begin(), before.end());
  for (Operation *each : llvm::reverse(before)) {
    Value old = each->getResult(0), ofTask = found[old];
    if (llvm::any_of(old.getUsers(), [&](Operation *user) { return !replaced.contains(user); })) {
      OpBuilder at(each->getContext());
      at.setInsertionPointAfterValue(ofTask);
      old.replaceAllUsesWith(
          dist::ReshapeOp::create(at, each->getLoc(), old.getType(), ofTask).getResult());
    }
    replaced.erase(each);
    each->erase();
  }
}

bool fuse::makeMaximaOfBlocks(ReduceOp op) {
  int64_t block = rowsOfBlock(op);
  if (block)
    Maxima(op).replace(block);
  return block;
}
