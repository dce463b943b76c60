//===- PlanFrames.cpp - a place for each value inside its function --------===//
//
// A value lives in the frame, in an argument's memory that it updates, or in
// the caller's memory for a result. Calls that may work in place form groups of
// values with one memory: a group ends where a value is read again later.
//
// One decision: the places that the in-place rule demands are tried first, and
// where one would overwrite a value that is still read, a copy is inserted and
// the function is looked at again. Fuse leaves functions that need none.
//
//===----------------------------------------------------------------------===//
#include "lib/Memory/Frames.h"
#include "lib/Memory/Memory.h"
#include "lib/Memory/Pack.h"
#include "mlir/IR/Builders.h"

namespace tplan::memory {
#define GEN_PASS_DEF_PLANFRAMESPASS
#include "lib/Memory/Passes.h.inc"
} // namespace tplan::memory

using namespace mlir;
using namespace tplan;
using namespace tplan::memory;
using sched::PlaceAttr;
using sched::PlaceKind;

/// Whether the call adds onto the operand: then they must be one memory.
static bool mustAlias(Operation *op, unsigned result) {
  auto call = dyn_cast<rt::Call>(op);
  return call && call.mustAlias(result);
}

void FramePlanner::numberOps() {
  number.clear();
  lastUse.clear();
  int64_t n = 0;
  for (Operation &op : func.getBlock()) {
    number[&op] = n;
    for (Value operand : op.getOperands())
      lastUse[operand] = n;
    ++n;
  }
  // Who reads a block reads memory of the whole, and the other way round.
  for (Operation &op : llvm::reverse(func.getBlock())) {
    if (rt::SliceOp slice = asView(&op))
      lastUse[slice.getX()] = std::max(lastUse[slice.getX()], lastUse[slice.getResult()]);
    if (auto join = dyn_cast<rt::JoinOp>(op)) {
      int64_t last = lastUse[join.getResult()];
      for (Value part : join.getParts())
        last = std::max(last, lastUse[part]);
      lastUse[join.getResult()] = last;
      for (Value part : join.getParts())
        lastUse[part] = last;
    }
  }
  findBuckets();
}

int64_t FramePlanner::completion(Operation *op) {
  auto collective = dyn_cast<rt::CollectiveOp>(op);
  return number[collective ? collective.getCompletion() : op];
}

/// What one collective of a bucket reads lives until the last of them, what one writes from the
/// first; what is started, until its await.
void FramePlanner::findBuckets() {
  liveUntil = lastUse;
  for (auto collective : func.getBlock().getOps<rt::CollectiveOp>())
    for (Value value : {collective.getX(), collective.getResult()}) {
      int64_t &end = liveUntil[value];
      end = std::max(end, completion(collective));
    }
  begins.clear();
  SmallVector<rt::CollectiveOp> bucket;
  auto close = [&]() {
    for (rt::CollectiveOp op : bucket) {
      int64_t &end = liveUntil[op.getX()];
      end = std::max(end, number[bucket.back()]);
      begins[op] = number[bucket.front()];
    }
    bucket.clear();
  };
  for (Operation &op : func.getBlock()) {
    if (sched::endsBucket(bucket, &op))
      close();
    if (auto collective = dyn_cast<rt::CollectiveOp>(op))
      bucket.push_back(collective);
  }
  close();
}

Value FramePlanner::copyBefore(Operation *op, Value value) {
  OpBuilder b(op);
  return rt::CopyOp::create(b, op->getLoc(), value.getType(), value).getResult();
}

/// Whether what reads the value's memory, other than an op, is complete only after that op.
bool FramePlanner::isInFlight(Value value, Operation *except) {
  for (Operation *user : value.getUsers()) {
    rt::SliceOp view = asView(user);
    if (user != except &&
        (completion(user) > number[except] || (view && isInFlight(view.getResult(), except))))
      return true;
  }
  auto join = value.getDefiningOp<rt::JoinOp>();
  return join &&
         llvm::any_of(join.getParts(), [&](Value part) { return isInFlight(part, except); });
}

/// A result joins its operand's group where the operand is not read again.
bool FramePlanner::formGroups() {
  groups.clear();
  groupOf.clear();
  blocks.clear();
  for (Operation &op : func.getBlock().without_terminator()) {
    llvm::SmallDenseSet<Value> taken;
    for (OpResult result : op.getResults()) {
      if (!isa<nn::Tensor>(result.getType()) || nestBlock(&op, result))
        continue;
      int64_t n = number[&op], alias = aliasOf(&op, result.getResultNumber());
      Value from = alias >= 0 ? op.getOperand(alias) : Value();
      bool own = from && from.getDefiningOp() && !blocks.contains(from) && lastUse[from] == n &&
                 !taken.contains(from) && llvm::count(op.getOperands(), from) == 1 &&
                 !isInFlight(from, &op) && nn::bytesOf(from) == nn::bytesOf(result);
      if (from && !own && mustAlias(&op, result.getResultNumber()) && from.getDefiningOp()) {
        op.setOperand(alias, copyBefore(&op, from));
        return false;
      }
      size_t g = groups.size();
      if (own) {
        taken.insert(from);
        g = groupOf[from];
      } else {
        groups.push_back({});
        groups[g].begin = begins.count(&op) ? begins[&op] : n;
        groups[g].bytes = nn::bytesOf(result);
      }
      groups[g].values.push_back(result);
      groups[g].end = std::max({groups[g].end, n, liveUntil.lookup(result)});
      groupOf[result] = g;
    }
  }
  return nestParts();
}

/// Whether a group may be in the memory of an argument: once the group has begun, nothing reads the
/// argument except the call that updates it.
bool FramePlanner::mayOverwrite(const Group &group, BlockArgument arg) {
  if (nn::bytesOf(arg) != group.bytes || viewIsReadFrom(arg, group.begin))
    return false;
  auto first = cast<OpResult>(group.values.front());
  for (OpOperand &use : arg.getUses()) {
    if (completion(use.getOwner()) < group.begin)
      continue;
    bool updates =
        use.getOwner() == first.getOwner() && aliasOf(first.getOwner(), first.getResultNumber()) ==
                                                  static_cast<int64_t>(use.getOperandNumber());
    if (!updates)
      return false;
  }
  return true;
}

/// Gives the groups of returned values their places.
bool FramePlanner::placeReturns() {
  rt::ReturnOp ret = func.getReturn();
  for (auto [i, value] : llvm::enumerate(ret.getOperands())) {
    std::optional<unsigned> updated = func.findUpdatedArg(i);
    auto arg = dyn_cast<BlockArgument>(value);
    if (arg && updated && arg.getArgNumber() == *updated)
      continue;                       // unchanged where it is
    auto found = groupOf.find(value); // a view has no group
    Group *group = found == groupOf.end() ? nullptr : &groups[found->second];
    bool free = group && group->kind == PlaceKind::Frame;
    if (free && updated)
      free = mayOverwrite(*group, func.getBlock().getArgument(*updated));
    if (!free) {
      ret->setOperand(i, copyBefore(ret, value));
      return false;
    }
    group->kind = updated ? PlaceKind::Arg : PlaceKind::Result;
    group->n = updated ? *updated : i;
  }
  return true;
}

/// Where a call adds onto an argument that its result does not update, it adds onto a copy instead.
bool FramePlanner::checkAccumulators() {
  for (Operation &op : func.getBlock().without_terminator())
    for (OpResult result : op.getResults()) {
      if (!isa<nn::Tensor>(result.getType()))
        continue;
      int64_t alias = aliasOf(&op, result.getResultNumber());
      auto arg = alias >= 0 ? dyn_cast<BlockArgument>(op.getOperand(alias)) : BlockArgument();
      if (!arg || !mustAlias(&op, result.getResultNumber()))
        continue;
      const Group &group = groups[groupOf.find(result)->second];
      if (group.kind == PlaceKind::Arg && group.n == arg.getArgNumber())
        continue;
      op.setOperand(alias, copyBefore(&op, arg));
      return false;
    }
  return true;
}

bool FramePlanner::analyse() {
  numberOps();
  if (!formGroups() || !placeReturns() || !checkAccumulators())
    return false;
  nestOperands();
  return true;
}

void FramePlanner::packFrame() {
  SmallVector<Group *> frame;
  for (Group &group : groups)
    if (group.kind == PlaceKind::Frame)
      frame.push_back(&group);
  SmallVector<int64_t> bytes;
  std::vector<llvm::BitVector> conflicts(frame.size(), llvm::BitVector(frame.size()));
  for (auto [i, a] : llvm::enumerate(frame)) {
    bytes.push_back(a->bytes);
    for (auto [j, b] : llvm::enumerate(frame))
      if (i != j && a->begin <= b->end && b->begin <= a->end)
        conflicts[i].set(j);
  }
  int64_t live = 0;
  for (int64_t n = 0, e = number.size(); n < e; ++n) {
    int64_t sum = 0;
    for (Group *group : frame)
      if (group->begin <= n && n <= group->end)
        sum += sched::alignUp(group->bytes);
    live = std::max(live, sum);
  }
  memory::Packing packing = memory::pack(bytes, conflicts, live);
  for (auto [group, offset] : llvm::zip(frame, packing.offsets))
    group->n = offset;

  Builder b(func.getContext());
  func->setAttr(sched::kFrame, b.getI64IntegerAttr(packing.bytes));
  func->setAttr(sched::kLive, b.getI64IntegerAttr(live));
}

PlaceAttr FramePlanner::placeOf(Value value) {
  if (auto block = blocks.find(value); block != blocks.end()) {
    PlaceAttr whole = placeOf(block->second.of);
    if (whole.getAxes() && block->second.axes)
      llvm::reportFatalInternalError("a block of a block has no place");
    return PlaceAttr::get(func.getContext(), whole.getKind(), whole.getN(), block->second.axes,
                          block->second.bytes, block->second.shift);
  }
  if (auto arg = dyn_cast<BlockArgument>(value))
    return PlaceAttr::get(func.getContext(), PlaceKind::Arg, arg.getArgNumber(), {}, 0, 0);
  const Group &group = groups[groupOf.find(value)->second];
  return PlaceAttr::get(func.getContext(), *group.kind, group.n, {}, 0, 0);
}

void FramePlanner::writeAttributes() {
  for (Operation &op : func.getBlock().without_terminator()) {
    SmallVector<Attribute> places;
    for (Value result : op.getResults())
      if (isa<nn::Tensor>(result.getType()))
        places.push_back(placeOf(result));
    // Only weights and gradients have memory for the blocks of all ranks.
    if (isa<rt::PlaceOp>(op) && cast<PlaceAttr>(places[0]).getKind() != PlaceKind::Arg)
      llvm::reportFatalInternalError("a block is placed in memory that has no room for it");
    op.setAttr(sched::kPlaces, ArrayAttr::get(func.getContext(), places));
  }
}

namespace {
struct PlanFramesPass : tplan::memory::impl::PlanFramesPassBase<PlanFramesPass> {
  void runOnOperation() final {
    for (auto func : getOperation().getOps<rt::FuncOp>())
      FramePlanner(func).plan();
  }
};
} // namespace
