//===- NestBlocks.cpp - values that are a block of another one's memory ---===//
//
// What ranks share has one block for each of them. A view of the own block, a sum over ranks that
// leaves or fills it, and what is gathered lie in the whole, so nothing is copied into or out of
// it.
//
//===----------------------------------------------------------------------===//
#include "dialects/dist/Kinds.h"
#include "lib/Memory/Frames.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::memory;
using sched::PlaceKind;

/// Where the block of a value is put after sums over ranks, which scatter it once or once more
/// each; none where the value is used otherwise.
static rt::PlaceOp placeAfter(Value value, bool scattered) {
  while (value.hasOneUse()) {
    Operation *user = *value.getUsers().begin();
    if (auto place = dyn_cast<rt::PlaceOp>(user))
      return scattered && place.getX() == value ? place : rt::PlaceOp();
    auto sum = dyn_cast<rt::CollectiveOp>(user);
    const dist::KindFacts *facts = sum ? &dist::factsOf(sum.getKind()) : nullptr;
    bool scatters = facts && facts->scatters();
    if (!facts || (!scatters && !facts->sumsInPlace()))
      break;
    scattered |= scatters;
    value = sum.getResult();
  }
  return {};
}

/// What a reduce-scatter leaves of memory, or of a block that another one left.
static std::optional<Nested> blockOf(const Nested &from, rt::CollectiveOp scatter) {
  int64_t bytes = nn::bytesOf(scatter.getResult());
  if (!from.axes)
    return Nested{from.of, scatter.getAxes(), bytes};
  auto mesh = dist::meshOf(scatter->getParentOfType<ModuleOp>());
  if (from.bytes != bytes * mesh.sizeOf(dist::axesOf(scatter.getAxes())))
    return std::nullopt;
  dist::Axes axes = dist::axesOf(from.axes);
  llvm::append_range(axes, dist::axesOf(scatter.getAxes()));
  return Nested{from.of, dist::arrayOf(scatter->getContext(), axes), bytes};
}

/// The result of a sum over ranks lies where its operand does, if it ends as a block of that
/// memory: in all of an argument, in the block that a reduce-scatter leaves, or on that block.
std::optional<Nested> FramePlanner::blockOfSum(rt::CollectiveOp sum) {
  Value x = sum.getX();
  bool scatters = dist::factsOf(sum.getKind()).scatters();
  auto known = asView(x.getDefiningOp()) ? blocks.end() : blocks.find(x);
  Nested from = known == blocks.end() ? Nested{x, {}, 0} : known->second;
  rt::PlaceOp place = placeAfter(sum.getResult(), scatters || from.axes);
  if (!place || place.getWhole() != from.of)
    return std::nullopt;
  if (scatters)
    return blockOf(from, sum);
  if (known != blocks.end())
    return from;
  auto isExpected = [&](Operation *user) { return user == sum || user == place; };
  return isa<BlockArgument>(x) && llvm::all_of(x.getUsers(), isExpected) ? std::optional(from)
                                                                         : std::nullopt;
}

/// A slice that ends as a block of an argument is written there, if nobody reads the argument any
/// more.
std::optional<Nested> FramePlanner::blockOfSlice(rt::SliceOp slice) {
  rt::PlaceOp place = placeAfter(slice.getResult(), /*scattered=*/true);
  auto whole = place ? dyn_cast<BlockArgument>(place.getWhole()) : BlockArgument();
  if (!whole || place.getAxes() != slice.getAxes() || viewIsReadFrom(whole, number[slice]))
    return std::nullopt;
  auto isBefore = [&](Operation *user) {
    return user == place || completion(user) < number[slice];
  };
  if (!llvm::all_of(whole.getUsers(), isBefore))
    return std::nullopt;
  return Nested{whole, slice.getAxes(), nn::bytesOf(slice.getResult())};
}

/// Results that are a block of their operand's memory: views, sums that end there, slices that end
/// there.
bool FramePlanner::nestBlock(Operation *op, OpResult result) {
  std::optional<Nested> block;
  if (auto slice = dyn_cast<rt::SliceOp>(op)) {
    auto of = blocks.find(slice.getX());
    bool isOfBlock = slice.getView() && !slice.getShift() && of != blocks.end();
    bool isWhole = slice.getAxes().empty();
    // A block of a block is copied, unless it is all of it.
    if (isOfBlock && !isWhole)
      slice.setView(false);
    block = isOfBlock && isWhole ? of->second
            : slice.getView()    ? Nested{slice.getX(), slice.getAxes(), nn::bytesOf(result),
                                          slice.getShiftAttr().getInt()}
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

static bool hasView(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) { return asView(user); });
}

/// Parts of a value are made at their places in it; what cannot be is copied there.
bool FramePlanner::nestParts() {
  for (auto join : func.getBlock().getOps<rt::JoinOp>())
    for (unsigned i = 0, e = join.getParts().size(); i < e; ++i)
      if (!nestPart(join, i)) {
        join.setOperand(i, copyBefore(join, join.getParts()[i]));
        return false;
      }
  return true;
}

/// What shares memory with a part lies there, too, so nothing may overwrite the part itself.
bool FramePlanner::nestPart(rt::JoinOp join, unsigned i) {
  Value part = join.getParts()[i];
  auto own = groupOf.find(part);
  if (own == groupOf.end() || blocks.contains(part) || llvm::count(join.getParts(), part) > 1)
    return false;
  Group &from = groups[own->second], &to = groups[groupOf[join.getResult()]];
  bool isAligned = join.getParts().size() == 1 || from.bytes % sched::kAlign == 0;
  if (llvm::any_of(from.values, hasView) || from.values.back() != part || !isAligned)
    return false;
  for (Value value : from.values)
    blocks[value] = {join.getResult(), join.getAxes(), from.bytes, i};
  to.begin = std::min(to.begin, from.begin);
  to.end = std::max(to.end, from.end);
  from.kind = std::nullopt;
  return true;
}

/// Whether a view of an argument is read at operation `begin` or later, except to be put where it
/// is.
bool FramePlanner::viewIsReadFrom(BlockArgument arg, int64_t begin) {
  return llvm::any_of(blocks, [&](auto &entry) {
    Value view = entry.first;
    return entry.second.of == arg && llvm::any_of(view.getUses(), [&](OpOperand &use) {
             auto place = dyn_cast<rt::PlaceOp>(use.getOwner());
             return completion(use.getOwner()) >= begin && !(place && place.getWhole() == arg);
           });
  });
}

/// What is gathered is written straight to its place in the whole, unless something else is there.
void FramePlanner::nestOperands() {
  for (auto gather : func.getBlock().getOps<rt::CollectiveOp>())
    if (dist::factsOf(gather.getKind()).completes() && gather.getShape().isContiguous())
      nestOperand(gather);
}

void FramePlanner::nestOperand(rt::CollectiveOp gather) {
  Value x = gather.getX(), whole = gather.getResult();
  auto own = groupOf.find(x);
  if (own == groupOf.end() || blocks.contains(whole) || hasView(x) || lastUse[x] != number[gather])
    return;
  Group &from = groups[own->second], &to = groups[groupOf[whole]];
  // A block of a block has no place: of two gathers that follow each other, one operand is copied.
  auto holdsBlock = [&](auto &entry) { return entry.second.of == x && entry.second.axes; };
  if (from.kind != PlaceKind::Frame || from.values.size() != 1 || llvm::any_of(blocks, holdsBlock))
    return;
  int64_t begin = from.begin, members = dist::meshOf(func->getParentOfType<ModuleOp>())
                                            .sizeOf(dist::axesOf(gather.getAxes()));
  if (nn::bytesOf(x) % sched::kAlign)
    return;
  bool fits = members * nn::bytesOf(x) == nn::bytesOf(whole);
  if (to.kind == PlaceKind::Arg) {
    BlockArgument arg = func.getBlock().getArgument(to.n);
    fits |= func.getArgRole(to.n) == nn::Role::Param; // has memory for all blocks
    auto made = cast<OpResult>(x);
    int64_t alias = aliasOf(made.getOwner(), made.getResultNumber());
    for (OpOperand &use : arg.getUses())
      fits &= completion(use.getOwner()) < begin;
    // The old block may be read by the call that writes the new one in its place.
    for (auto &[view, block] : blocks)
      if (block.of == arg && liveUntil.lookup(view) >= begin)
        fits &= liveUntil.lookup(view) == begin && alias >= 0 &&
                made.getOwner()->getOperand(alias) == view;
  }
  if (!fits)
    return;
  blocks[x] = {whole, gather.getAxes(), nn::bytesOf(x)};
  to.begin = std::min(to.begin, begin);
  from.kind = std::nullopt;
}
