//===- Liveness.cpp - what is in memory at each point of a program --------===//
#include "lib/Memory/Liveness.h"
#include "lib/Schedule/Walk.h"
#include "llvm/ADT/MapVector.h"
#include <numeric>

using namespace mlir;
using namespace tplan;
using namespace tplan::memory;
using sched::ValueOp;

/// Slots, in all families, that are placed one by one.
static constexpr int64_t kMostSlots = 256;

Liveness::Liveness(sched::ProgramOp program)
    : program(program), touching(schedule::touchingSteps(program)) {
  addBlocks();
  for (auto entry : program.getBody().getOps<sched::EntryOp>())
    addEntry(entry);
  sweep();
}

void Liveness::addBlocks() {
  int64_t slots = 0;
  for (auto family : program.getBody().getOps<sched::FamilyOp>())
    slots += family.getSlots();
  apart = slots <= kMostSlots;
  for (auto family : program.getBody().getOps<sched::FamilyOp>()) {
    if (auto pool = family.getPool()) {
      ArrayRef<int32_t> slots = *family.getPoolSlots();
      for (int32_t slot : slots)
        if (auto [block, isNew] = blockOfPool.insert({{*pool, slot}, blocks.size()}); isNew)
          blocks.push_back({{}, family, slot, static_cast<int64_t>(family.getBytes())});
      continue;
    }
    blockOf[family] = blocks.size();
    int64_t bytes = family.getBytes(), ofFamily = family.getSlots();
    if (!apart)
      blocks.push_back({{}, family, -1, bytes * ofFamily});
    for (int64_t slot = 0; apart && slot < ofFamily; ++slot)
      blocks.push_back({{}, family, slot, bytes});
  }
  for (auto value : program.getBody().getOps<ValueOp>())
    if (!value.getFamily() && value.getLives() != sched::Life::Always) {
      blockOf[value] = blocks.size();
      blocks.push_back({value, {}, -1, value.getTotal()});
    }
}

size_t Liveness::blockOfSlot(sched::FamilyOp family, int64_t slot) const {
  if (auto pool = family.getPool())
    return blockOfPool.at({*pool, (*family.getPoolSlots())[slot]});
  return blockOf.at(family) + (apart ? slot : 0);
}

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

void Liveness::Span::touch(int64_t point, int64_t live) {
  begin = begin < 0 ? point : begin;
  end = std::max(end, point);
  bytes = std::max(bytes, live);
}

void Liveness::Span::touch(const Span &other, int64_t first) {
  touch(first + other.begin, other.bytes);
  touch(first + other.end, other.bytes);
}

/// Live bytes of a value. A frame counts with what is live in its function; the rest of it is what
/// `plan-frames` could not use.
static int64_t liveBytes(sched::Step step, ValueOp value) {
  auto call = dyn_cast<sched::CallOp>(step.getOperation());
  if (call && call.getFrame() == value.getMemory())
    if (auto bytes = call.getFunction()->getAttrOfType<IntegerAttr>(sched::kLive))
      return bytes.getInt();
  return value.getTotal();
}

/// Each value or family is listed once of a microbatch, whatever the order of the uses.
std::vector<Liveness::Touched> Liveness::touchedBy(Operation *op) {
  llvm::MapVector<std::pair<Operation *, int64_t>, Touched> found;
  for (sched::Step step : touching.lookup(op))
    for (const sched::Use &use : step.getUses())
      for (Value memory : use.values()) {
        ValueOp value = sched::valueOf(memory);
        if (value.getLives() == sched::Life::Always)
          continue;
        sched::FamilyOp family = value.getFamily()
                                     ? program.lookupSymbol<sched::FamilyOp>(*value.getFamily())
                                     : sched::FamilyOp();
        Operation *memoryOf = family ? family.getOperation() : value.getOperation();
        int64_t shift = family ? use.shift : 0; // other memory is of no microbatch
        int64_t live = family ? static_cast<int64_t>(family.getBytes()) : liveBytes(step, value);
        Touched &touched =
            found.insert({{memoryOf, shift}, {memoryOf, value.getLives(), shift, 0, family}})
                .first->second;
        touched.bytes = std::max(touched.bytes, live);
      }
  std::vector<Touched> all;
  for (auto &[memory, each] : found)
    all.push_back(each);
  return all;
}

/// A family has that of its first slot: entries without microbatches use it.
size_t Liveness::firstBlockOf(const Touched &touched) const {
  sched::FamilyOp family = touched.family;
  return family ? blockOfSlot(family, 0) : blockOf.at(touched.of);
}

const Liveness::Section &Liveness::sectionOf(sched::SectionOp section) {
  auto [known, added] = sections.try_emplace(section);
  if (!added)
    return known->second;
  llvm::DenseMap<Operation *, int64_t> pointOf;
  for (Operation &op : section.getBody().front())
    pointOf.try_emplace(&op, pointOf.size());
  llvm::MapVector<std::pair<Operation *, int64_t>, std::pair<Touched, Span>> found;
  for (Operation &op : section.getBody().front())
    for (const Touched &each : touchedBy(&op)) {
      Span &span = found.insert({{each.of, each.shift}, {each, {}}}).first->second.second;
      span.touch(pointOf.at(&op), each.bytes);
    }
  Section &all = known->second;
  all.points = pointOf.size();
  for (auto &[memory, each] : found)
    all.touched.push_back(each);
  return all;
}

void Liveness::addEntry(sched::EntryOp entry) {
  llvm::DenseMap<size_t, Span> ofEntry;                           // by block
  llvm::MapVector<Operation *, std::vector<Span>> ofMicrobatches; // by family
  size_t microbatches = program.getMicrobatches();
  schedule::forEachExecution(entry, [&](sched::SectionOp op, int64_t microbatch) {
    const Section &section = sectionOf(op);
    executions.push_back({points, op, microbatch});
    for (const auto &[each, span] : section.touched)
      if (each.lives == sched::Life::Entry) {
        ofEntry[firstBlockOf(each)].touch(span, points);
      } else if (each.family && op.isOfTask()) {
        auto &spans = ofMicrobatches[each.of];
        spans.resize(microbatches);
        spans[microbatch + each.shift].touch(span, points);
      } else {
        intervals.push_back(
            {firstBlockOf(each), points + span.begin, points + span.end, span.bytes});
      }
    points += section.points;
  });
  for (auto &[block, span] : ofEntry)
    intervals.push_back({block, span.begin, points - 1, span.bytes});
  for (auto &[op, spans] : ofMicrobatches) {
    auto family = cast<sched::FamilyOp>(op);
    for (auto [microbatch, span] : llvm::enumerate(spans))
      if (span.begin >= 0)
        intervals.push_back({blockOfSlot(family, family.getSlotOf()[microbatch]), span.begin,
                             span.end, span.bytes});
  }
}

//===----------------------------------------------------------------------===//
// Sweep
//===----------------------------------------------------------------------===//

/// Places of intervals in ascending order of one of their ends.
template <typename Interval>
static std::vector<size_t> sorted(ArrayRef<Interval> intervals, int64_t points,
                                  int64_t Interval::*end) {
  std::vector<size_t> firstAt(points + 1, 0), order(intervals.size());
  for (const Interval &each : intervals)
    ++firstAt[each.*end + 1];
  std::partial_sum(firstAt.begin(), firstAt.end(), firstAt.begin());
  for (auto [i, each] : llvm::enumerate(intervals))
    order[firstAt[each.*end]++] = i;
  return order;
}

std::string Liveness::describe(int64_t point) const {
  auto next = llvm::upper_bound(
      executions, point, [](int64_t point, const Execution &each) { return point < each.first; });
  auto [first, section, microbatch] = *std::prev(next);
  Operation *op = &*std::next(section.getBody().front().begin(), point - first);
  auto run = dyn_cast<sched::RunOp>(op);
  std::string text =
      run ? (run.getWhat() + " of " + run.getTitle()).str() : cast<sched::Step>(op).getTitle();
  if (section.getKind())
    return text + ", stage " + std::to_string(*section.getStage()) + ", microbatch " +
           std::to_string(microbatch);
  bool said = run && run.getWhat() == section.getSymName();
  return said ? text : text + ", " + section.getSymName().str();
}

void Liveness::sweep() {
  conflicts.assign(blocks.size(), llvm::BitVector(blocks.size()));
  std::vector<size_t> begins = sorted(ArrayRef(intervals), points, &Interval::begin);
  std::vector<size_t> ends = sorted(ArrayRef(intervals), points, &Interval::end);
  std::vector<int64_t> live(blocks.size(), 0), users(blocks.size(), 0);
  llvm::BitVector active(blocks.size());
  int64_t sum = 0, highest = -1;
  auto end = ends.begin();
  for (auto begin = begins.begin(); begin != begins.end();) {
    int64_t point = intervals[*begin].begin;
    for (; intervals[*end].end < point; ++end) {
      const Interval &interval = intervals[*end];
      live[interval.block] -= interval.bytes;
      sum -= interval.bytes;
      if (--users[interval.block] == 0)
        active.reset(interval.block);
    }
    auto first = begin;
    for (; begin != begins.end() && intervals[*begin].begin == point; ++begin) {
      const Interval &interval = intervals[*begin];
      live[interval.block] += interval.bytes;
      sum += interval.bytes;
      ++users[interval.block];
      active.set(interval.block);
    }
    for (auto each = first; each != begin; ++each)
      conflicts[intervals[*each].block] |= active;
    if (sum > peak) {
      peak = sum, highest = point;
      atPeak = live;
    }
  }
  if (highest >= 0)
    peakName = describe(highest);
  atPeak.resize(blocks.size(), 0);
  // The one of two blocks that began later has met the other.
  for (size_t i = 0; i < blocks.size(); ++i) {
    conflicts[i].reset(i);
    for (unsigned other : conflicts[i].set_bits())
      conflicts[other].set(i);
  }
}
