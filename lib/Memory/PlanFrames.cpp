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
#include "dialects/rt/RT.h"
#include "lib/Memory/Memory.h"
#include "lib/Memory/Pack.h"
#include "lib/Schedule/Chain.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tplan;
using sched::PlaceAttr;

namespace {

/// Values that share one piece of memory, in the order of their definition.
struct Group {
  SmallVector<Value> values;
  int64_t begin = 0, end = 0; // numbers of operations, both included
  int64_t bytes = 0;
  std::string kind = "frame"; // or arg, result
  int64_t n = 0;              // offset, or number
};

/// A value that is the rank's own block of another one's memory, or without axes all of it.
struct Nested {
  Value of;
  ArrayAttr axes;
  int64_t bytes; // of one block
};

class FramePlanner {
public:
  explicit FramePlanner(rt::FuncOp func) : func(func) {}

  /// Places all values; inserts copies until every place is legal.
  void plan() {
    while (!analyse())
      ;
    packFrame();
    writeAttributes();
  }

private:
  rt::FuncOp func;
  DenseMap<Operation *, int64_t> number;
  DenseMap<Value, int64_t> lastUse, liveUntil;
  DenseMap<Operation *, int64_t> begins; // of collectives that wait for others
  std::vector<Group> groups;
  DenseMap<Value, size_t> groupOf;
  DenseMap<Value, Nested> blocks;

  std::optional<Nested> blockOfSum(rt::CollectiveOp sum);
  std::optional<Nested> blockOfSlice(rt::SliceOp slice);
  bool nestBlock(Operation *op, OpResult result);
  bool viewIsReadFrom(BlockArgument arg, int64_t begin);
  void nestOperands();
  void nestOperand(rt::CollectiveOp gather);
  PlaceAttr placeOf(Value value);
  bool analyse();
  void numberOps();
  void findBuckets();
  bool formGroups();
  bool placeReturns();
  bool checkAccumulators();
  bool mayOverwrite(const Group &group, BlockArgument arg);
  void packFrame();
  void writeAttributes();
  Value copyBefore(Operation *op, Value value);
};

int64_t bytesOf(Value value) { return cast<nn::Tensor>(value.getType()).getBytes(); }

/// Whether the call adds onto the operand: then they must be one memory.
bool mustAlias(Operation *op, unsigned result) {
  auto call = dyn_cast<rt::Call>(op);
  return call && call.mustAlias(result);
}

int64_t aliasOf(Operation *op, unsigned result) {
  auto call = dyn_cast<rt::Call>(op);
  return call ? call.getAlias(result) : -1;
}

} // namespace

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
  findBuckets();
}

/// Collectives that follow each other are issued together: what one reads lives until the last
/// of them, what one writes from the first.
void FramePlanner::findBuckets() {
  liveUntil = lastUse;
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
    auto slice = dyn_cast<rt::SliceOp>(op);
    auto collective = dyn_cast<rt::CollectiveOp>(op);
    bool reads = collective && llvm::any_of(bucket, [&](rt::CollectiveOp other) {
                   return rt::dependsOn(collective, other);
                 });
    if (reads || !(collective || isa<rt::PlaceOp>(op) || (slice && slice.getView())))
      close();
    if (collective)
      bucket.push_back(collective);
  }
  close();
}

Value FramePlanner::copyBefore(Operation *op, Value value) {
  OpBuilder b(op);
  return rt::CopyOp::create(b, op->getLoc(), value.getType(), value).getResult();
}

/// A result joins its operand's group where the operand is not read again.
bool FramePlanner::formGroups() {
  groups.clear();
  groupOf.clear();
  blocks.clear();
  for (Operation &op : func.getBlock().without_terminator()) {
    llvm::SmallDenseSet<Value> taken;
    for (OpResult result : op.getResults()) {
      if (nestBlock(&op, result))
        continue;
      int64_t n = number[&op], alias = aliasOf(&op, result.getResultNumber());
      Value from = alias >= 0 ? op.getOperand(alias) : Value();
      bool own = from && from.getDefiningOp() && !blocks.contains(from) && lastUse[from] == n &&
                 !taken.contains(from) && llvm::count(op.getOperands(), from) == 1 &&
                 bytesOf(from) == bytesOf(result);
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
        groups[g].bytes = bytesOf(result);
      }
      groups[g].values.push_back(result);
      groups[g].end = std::max({groups[g].end, n, liveUntil.lookup(result)});
      groupOf[result] = g;
    }
  }
  return true;
}

/// Where the block is put that sums over ranks make of a value, one of which scatters it; none
/// where it is used otherwise.
static rt::PlaceOp placeBehind(Value value, bool scattered) {
  while (value.hasOneUse()) {
    Operation *user = *value.getUsers().begin();
    if (auto place = dyn_cast<rt::PlaceOp>(user))
      return scattered && place.getX() == value ? place : rt::PlaceOp();
    auto sum = dyn_cast<rt::CollectiveOp>(user);
    bool scatters = sum && sum.getKind() == dist::CollectiveKind::ReduceScatter;
    if (!sum || (scatters ? scattered : sum.getKind() != dist::CollectiveKind::AllReduce))
      break;
    scattered |= scatters;
    value = sum.getResult();
  }
  return {};
}

/// What a sum over ranks makes lies where its operand does, if it ends as a block of that memory:
/// in all of an argument, in the block that a reduce-scatter leaves, or on that block.
std::optional<Nested> FramePlanner::blockOfSum(rt::CollectiveOp sum) {
  Value x = sum.getX();
  bool scatters = sum.getKind() == dist::CollectiveKind::ReduceScatter;
  auto slice = x.getDefiningOp<rt::SliceOp>();
  auto known = slice && slice.getView() ? blocks.end() : blocks.find(x);
  Nested from = known == blocks.end() ? Nested{x, {}, 0} : known->second;
  rt::PlaceOp place = placeBehind(sum.getResult(), scatters || from.axes);
  if (!place || place.getWhole() != from.of || (scatters && from.axes))
    return std::nullopt;
  if (scatters)
    return Nested{from.of, sum.getAxes(), bytesOf(sum.getResult())};
  if (known != blocks.end())
    return from;
  auto isExpected = [&](Operation *user) { return user == sum || user == place; };
  return isa<BlockArgument>(x) && llvm::all_of(x.getUsers(), isExpected) ? std::optional(from)
                                                                         : std::nullopt;
}

/// A slice that ends as a block of an argument is written there, if nobody reads the argument any
/// more.
std::optional<Nested> FramePlanner::blockOfSlice(rt::SliceOp slice) {
  rt::PlaceOp place = placeBehind(slice.getResult(), /*scattered=*/true);
  auto whole = place ? dyn_cast<BlockArgument>(place.getWhole()) : BlockArgument();
  if (!whole || place.getAxes() != slice.getAxes() || viewIsReadFrom(whole, number[slice]))
    return std::nullopt;
  auto isBefore = [&](Operation *user) { return user == place || number[user] < number[slice]; };
  if (!llvm::all_of(whole.getUsers(), isBefore))
    return std::nullopt;
  return Nested{whole, slice.getAxes(), bytesOf(slice.getResult())};
}

/// Results that are a block of their operand's memory: views, sums that end there, slices that do.
bool FramePlanner::nestBlock(Operation *op, OpResult result) {
  std::optional<Nested> block;
  if (auto slice = dyn_cast<rt::SliceOp>(op)) {
    if (slice.getView() && blocks.contains(slice.getX())) // a block of a block is copied
      slice.setView(false);
    block = slice.getView() ? Nested{slice.getX(), slice.getAxes(), bytesOf(result)}
                            : blockOfSlice(slice);
  } else if (auto collective = dyn_cast<rt::CollectiveOp>(op)) {
    block = blockOfSum(collective);
  }
  if (!block)
    return false;
  blocks[result] = *block;
  if (auto group = groupOf.find(block->of); group != groupOf.end())
    groups[group->second].end = std::max(groups[group->second].end, liveUntil.lookup(result));
  return true;
}

/// Whether a view of an argument is read at or behind operation `begin`, but to be put where
/// it is.
bool FramePlanner::viewIsReadFrom(BlockArgument arg, int64_t begin) {
  return llvm::any_of(blocks, [&](auto &entry) {
    Value view = entry.first;
    return entry.second.of == arg && llvm::any_of(view.getUses(), [&](OpOperand &use) {
             auto place = dyn_cast<rt::PlaceOp>(use.getOwner());
             return number[use.getOwner()] >= begin && !(place && place.getWhole() == arg);
           });
  });
}

/// What is gathered is written straight to its place in the whole, where nothing is in its way.
void FramePlanner::nestOperands() {
  for (auto gather : func.getBlock().getOps<rt::CollectiveOp>())
    if (gather.getKind() == dist::CollectiveKind::AllGather && gather.getShape().isContiguous())
      nestOperand(gather);
}

void FramePlanner::nestOperand(rt::CollectiveOp gather) {
  Value x = gather.getX(), whole = gather.getResult();
  auto own = groupOf.find(x);
  if (own == groupOf.end() || lastUse[x] != number[gather])
    return;
  Group &from = groups[own->second], &to = groups[groupOf[whole]];
  if (from.kind != "frame" || from.values.size() != 1)
    return;
  int64_t begin = from.begin, members = dist::meshOf(func->getParentOfType<ModuleOp>())
                                            .sizeOf(dist::axesOf(gather.getAxes()));
  if (bytesOf(x) % sched::kAlign)
    return;
  bool fits = members * bytesOf(x) == bytesOf(whole);
  if (to.kind == "arg") {
    BlockArgument arg = func.getBlock().getArgument(to.n);
    fits |= func.getArgRole(to.n) == nn::Role::Param; // has memory for all blocks
    auto made = cast<OpResult>(x);
    int64_t alias = aliasOf(made.getOwner(), made.getResultNumber());
    for (OpOperand &use : arg.getUses())
      fits &= number[use.getOwner()] < begin;
    // The old block may be read by the call that writes the new one in its place.
    for (auto &[view, block] : blocks)
      if (block.of == arg && lastUse.lookup(view) >= begin)
        fits &= lastUse.lookup(view) == begin && alias >= 0 &&
                made.getOwner()->getOperand(alias) == view;
  }
  if (!fits)
    return;
  blocks[x] = {whole, gather.getAxes(), bytesOf(x)};
  to.begin = std::min(to.begin, begin);
  from.kind = "block";
}

/// Whether a group may be in the memory of an argument: nothing reads the
/// argument once the group has begun, but the call that updates it.
bool FramePlanner::mayOverwrite(const Group &group, BlockArgument arg) {
  if (bytesOf(arg) != group.bytes || viewIsReadFrom(arg, group.begin))
    return false;
  auto first = cast<OpResult>(group.values.front());
  for (OpOperand &use : arg.getUses()) {
    int64_t at = number[use.getOwner()];
    if (at < group.begin)
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
    std::optional<unsigned> updated = schedule::inPlaceArg(func, i);
    auto arg = dyn_cast<BlockArgument>(value);
    if (arg && updated && arg.getArgNumber() == *updated)
      continue;                       // unchanged where it is
    auto found = groupOf.find(value); // a view has no group
    Group *group = found == groupOf.end() ? nullptr : &groups[found->second];
    bool free = group && group->kind == "frame";
    if (free && updated)
      free = mayOverwrite(*group, func.getBlock().getArgument(*updated));
    if (!free) {
      ret->setOperand(i, copyBefore(ret, value));
      return false;
    }
    group->kind = updated ? "arg" : "result";
    group->n = updated ? *updated : i;
  }
  return true;
}

/// Where a call adds onto an argument that its result does not update, it adds
/// onto a copy.
bool FramePlanner::checkAccumulators() {
  for (Operation &op : func.getBlock().without_terminator())
    for (OpResult result : op.getResults()) {
      int64_t alias = aliasOf(&op, result.getResultNumber());
      auto arg = alias >= 0 ? dyn_cast<BlockArgument>(op.getOperand(alias)) : BlockArgument();
      if (!arg || !mustAlias(&op, result.getResultNumber()))
        continue;
      const Group &group = groups[groupOf.find(result)->second];
      if (group.kind == "arg" && group.n == arg.getArgNumber())
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
    if (group.kind == "frame")
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
    return PlaceAttr::get(func.getContext(), whole.getKind(), whole.getN(), block->second.axes,
                          block->second.bytes);
  }
  if (auto arg = dyn_cast<BlockArgument>(value))
    return PlaceAttr::get(func.getContext(), "arg", arg.getArgNumber(), {}, 0);
  const Group &group = groups[groupOf.find(value)->second];
  return PlaceAttr::get(func.getContext(), group.kind, group.n, {}, 0);
}

void FramePlanner::writeAttributes() {
  for (Operation &op : func.getBlock().without_terminator()) {
    SmallVector<Attribute> places;
    for (Value result : op.getResults())
      places.push_back(placeOf(result));
    // Only weights and gradients have memory for the blocks of all ranks.
    if (isa<rt::PlaceOp>(op) && cast<PlaceAttr>(places[0]).getKind() != "arg")
      llvm::reportFatalInternalError("a block is placed in memory that has no room for it");
    op.setAttr(sched::kPlaces, ArrayAttr::get(func.getContext(), places));
  }
}

namespace {
struct PlanFrames : PassWrapper<PlanFrames, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanFrames)
  StringRef getArgument() const final { return "plan-frames"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<sched::SchedDialect>();
  }
  void runOnOperation() final {
    for (auto func : getOperation().getOps<rt::FuncOp>())
      FramePlanner(func).plan();
  }
};
} // namespace

std::unique_ptr<Pass> tplan::memory::createPlanFramesPass() {
  return std::make_unique<PlanFrames>();
}
