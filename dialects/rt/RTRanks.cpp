//===- RTRanks.cpp - what calls between ranks move ------------------------===//
#include "dialects/dist/Kinds.h"
#include "dialects/rt/RT.h"
#include "include/tplan/collectives.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::rt;
using dist::CollectiveKind;
using nn::DimAttr;
using nn::Tensor;
using nn::typeOf;

/// Product of the sizes of dimensions [begin, end).
static int64_t product(Tensor type, int64_t begin, int64_t end) {
  int64_t n = 1;
  for (DimAttr dim : type.getDims().slice(begin, end - begin))
    n *= dim.getSize();
  return n;
}

/// Blocks of `block` in the array `whole` along a dimension, or as rows.
static BlockShape blocks(Tensor whole, Tensor block, StringAttr dim) {
  BlockShape shape;
  shape.whole = whole.getNumElements();
  if (!dim) {
    shape.inner = block.getNumElements();
    return shape;
  }
  int64_t at = block.find(dim);
  shape.outer = product(block, 0, at);
  shape.inner = product(block, at, block.getRank());
  return shape;
}

/// in [outer, n, middle, inner, last] -> out [outer, middle, n, inner, last], or the reverse.
static BlockShape exchange(Tensor in, Tensor out, StringRef leaves, StringRef cuts) {
  BlockShape shape;
  shape.whole = in.getNumElements();
  int64_t from = in.find(leaves), to = in.find(cuts);
  shape.splitLast = from < to;
  int64_t first = std::min(from, to), second = std::max(from, to);
  // What both sides have of a block: the smaller size of each dimension.
  shape.outer = product(in, 0, first);
  int64_t firstSize = std::min(in.getDims()[first].getSize(), out.getDims()[first].getSize());
  int64_t secondSize = std::min(in.getDims()[second].getSize(), out.getDims()[second].getSize());
  shape.middle = firstSize * product(in, first + 1, second);
  shape.inner = secondSize;
  shape.last = product(in, second + 1, in.getRank());
  return shape;
}

BlockShape CollectiveOp::getShape() {
  Tensor in = typeOf(getX()), out = typeOf(getResult());
  const dist::KindFacts &facts = dist::factsOf(getKind());
  if (facts.exchanges())
    return exchange(in, out, *getDim(), *getTo());
  if (facts.scatters())
    return blocks(in, out, getDimAttr());
  if (facts.completes())
    return blocks(out, in, getDimAttr());
  BlockShape shape;
  shape.inner = shape.whole = in.getNumElements();
  return shape;
}

BlockShape SliceOp::getShape() { return blocks(typeOf(getX()), typeOf(getResult()), getDimAttr()); }

bool rt::dependsOn(CollectiveOp op, CollectiveOp other) {
  SmallVector<Value> work = {op.getX()};
  while (!work.empty()) {
    Operation *source = work.pop_back_val().getDefiningOp();
    if (source == other.getOperation())
      return true;
    if (isa_and_nonnull<SliceOp, PlaceOp, JoinOp>(source))
      llvm::append_range(work, source->getOperands());
  }
  return false;
}

static tp_collective described(CollectiveKind kind, const BlockShape &shape,
                               ArrayRef<int32_t> sources) {
  tp_collective what = {};
  what.kind = dist::factsOf(kind).runtime;
  what.outer = shape.outer, what.inner = shape.inner;
  what.middle = shape.middle, what.last = shape.last;
  what.whole = shape.whole;
  what.source = sources.data();
  return what;
}

int64_t rt::bytesSent(CollectiveKind kind, const BlockShape &shape, int64_t elementBytes,
                      int64_t members, ArrayRef<int32_t> sources) {
  tp_collective what = described(kind, shape, sources);
  return tp_most_bytes_sent(&what, members, elementBytes);
}

int64_t rt::bytesOfScratch(dist::CollectiveKind kind, const BlockShape &shape, int64_t elementBytes,
                           int64_t members) {
  tp_collective what = described(kind, shape, {});
  return tp_device_scratch(&what, members, elementBytes);
}

static int64_t members(CollectiveOp op) {
  return dist::meshOf(op->getParentOfType<ModuleOp>()).sizeOf(dist::axesOf(op.getAxes()));
}

static int64_t elementBytes(CollectiveOp op) {
  return nn::elementBytes(typeOf(op.getX()).getElementType());
}

void CollectiveOp::getAsmResultNames(function_ref<void(Value, StringRef)> setName) {
  if (Value event = getEvent())
    setName(event, "event");
}

Operation *CollectiveOp::getCompletion() {
  Value event = getEvent();
  return event && event.hasOneUse() ? *event.getUsers().begin() : getOperation();
}

LogicalResult CollectiveOp::verify() {
  if (failed(dist::verifyAxes(*this, getAxes()))) // (C1)
    return failure();
  Value event = getEvent();
  if (!event)
    return success();
  Operation *await = getCompletion();
  if (!isa<AwaitOp>(await) || await->getBlock() != (*this)->getBlock()) // (C2)
    return emitOpError("is started, and its event needs one await, found ")
           << llvm::range_size(event.getUses());
  for (Operation *user : getResult().getUsers())
    if (user->isBeforeInBlock(await))
      return emitOpError("is started, and read before its await by ") << user->getName();
  for (OpOperand &use : getX().getUses()) {
    Operation *user = use.getOwner();
    if (!(*this)->isBeforeInBlock(user) || !user->isBeforeInBlock(await))
      continue;
    auto call = dyn_cast<Call>(user);
    for (unsigned i = 0, e = call ? user->getNumResults() : 0; i < e; ++i)
      if (call.mustAlias(i) && call.getAlias(i) == static_cast<int64_t>(use.getOperandNumber()))
        return emitOpError("is started, and what it reads is added to before its await by ")
               << user->getName();
  }
  return success();
}
LogicalResult SliceOp::verify() {
  if ((!getView() || !getAxes().empty()) && failed(dist::verifyAxes(*this, getAxes()))) // (C1)
    return failure();
  int64_t shift = getShiftAttr().getInt();
  if (shift < 0 || (shift && !getView())) // (C2)
    return emitOpError("only a view has a shift, which is not negative, found ") << shift;
  return success();
}
LogicalResult JoinOp::verify() {
  if (!getAxes().empty() && failed(dist::verifyAxes(*this, getAxes()))) // (C1)
    return failure();
  if (getParts().empty() || !llvm::all_equal(getParts().getTypes())) // (C2)
    return emitOpError("needs parts of one type, found ") << getParts().getTypes();
  auto parts = static_cast<int64_t>(getParts().size());
  if (parts * nn::bytesOf(getParts().front()) != nn::bytesOf(getResult()))
    return emitOpError("needs parts that fill ") << getResult().getType() << ", found " << parts
                                                 << " of " << getParts().front().getType();
  auto module = (*this)->getParentOfType<ModuleOp>();
  if (getAxes().empty() || !module || !module->hasAttr(dist::kMesh))
    return success();
  int64_t members = dist::meshOf(module).sizeOf(dist::axesOf(getAxes()));
  if (parts != members) // (C3)
    return emitOpError("needs a part for each of ") << members << " members, found " << parts;
  return success();
}
LogicalResult PlaceOp::verify() { return dist::verifyPlace(*this, getAxes()); }

int64_t CollectiveOp::getBytes() {
  auto sources = getSources();
  return bytesSent(getKind(), getShape(), elementBytes(*this), members(*this),
                   sources ? *sources : ArrayRef<int32_t>());
}

int64_t CollectiveOp::getBytesStaged() {
  tp_collective what = described(getKind(), getShape(), {});
  int64_t most = 0;
  for (int64_t member = 0, count = members(*this); member < count; ++member)
    most = std::max(most, tp_mpi_bytes_staged(&what, count, member, elementBytes(*this)));
  return most;
}

int64_t CollectiveOp::getBytesOfScratch() {
  return bytesOfScratch(getKind(), getShape(), elementBytes(*this), members(*this));
}

int64_t CollectiveOp::getFlops() { return 0; }
int64_t CollectiveOp::getAlias(unsigned) { return dist::factsOf(getKind()).sumsInPlace() ? 0 : -1; }
bool CollectiveOp::mustAlias(unsigned) { return false; }
Category CollectiveOp::getCategory() { return Category::Collective; }

int64_t SliceOp::getFlops() { return 0; }
int64_t SliceOp::getBytes() { return getView() ? 0 : 2 * typeOf(getResult()).getBytes(); }
int64_t SliceOp::getAlias(unsigned) { return -1; }
bool SliceOp::mustAlias(unsigned) { return false; }
Category SliceOp::getCategory() { return Category::Copy; }

int64_t JoinOp::getFlops() { return 0; }
int64_t JoinOp::getBytes() { return 0; }
int64_t JoinOp::getAlias(unsigned) { return -1; }
bool JoinOp::mustAlias(unsigned) { return false; }
Category JoinOp::getCategory() { return Category::Copy; }

int64_t PlaceOp::getFlops() { return 0; }
int64_t PlaceOp::getBytes() { return 2 * typeOf(getX()).getBytes(); }
int64_t PlaceOp::getAlias(unsigned) { return 1; }
bool PlaceOp::mustAlias(unsigned) { return true; }
Category PlaceOp::getCategory() { return Category::Copy; }
