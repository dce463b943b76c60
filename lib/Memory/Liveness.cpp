//===- Liveness.cpp - what is in memory at each point of a program --------===//
#include "lib/Memory/Liveness.h"
#include "lib/Schedule/Walk.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::memory;
using sched::ValueOp;

/// Slots, in all families, that are placed one by one.
static constexpr int64_t kMostSlots = 256;

Liveness::Liveness(sched::ProgramOp program) : program(program) {
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

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

void Liveness::Span::touch(int64_t point, int64_t live) {
  begin = begin < 0 ? point : begin;
  end = std::max(end, point);
  bytes = std::max(bytes, live);
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

/// Each block is listed once, whatever the order of the uses.
const std::vector<Liveness::Touched> &Liveness::touched(Operation *op) {
  auto [known, added] = touchedBy.try_emplace(op);
  if (!added)
    return known->second;
  llvm::MapVector<size_t, Touched> found;
  op->walk([&](sched::Step step) {
    for (const sched::Use &use : step.getUses())
      for (Value memory : use.values()) {
        ValueOp value = sched::valueOf(memory);
        if (value.getLives() == sched::Life::Always)
          continue;
        sched::FamilyOp family = value.getFamily()
                                     ? program.lookupSymbol<sched::FamilyOp>(*value.getFamily())
                                     : sched::FamilyOp();
        size_t block = blockOf.at(family ? family.getOperation() : value.getOperation());
        int64_t live = family ? static_cast<int64_t>(family.getBytes()) : liveBytes(step, value);
        Touched &touched =
            found.insert({block, {block, value.getLives(), 0, family, op}}).first->second;
        touched.bytes = std::max(touched.bytes, live);
        if (Operation *until = op->getBlock()->findAncestorOpInBlock(*step.getCompletion());
            touched.until->isBeforeInBlock(until))
          touched.until = until;
      }
  });
  std::vector<Touched> all;
  for (auto &[block, each] : found)
    all.push_back(each);
  return known->second = std::move(all);
}

/// What has been touched lives until `until`, or its last point if that is later.
void Liveness::close(llvm::DenseMap<size_t, Span> &spans, int64_t until) {
  for (auto &[block, span] : spans)
    intervals.push_back({block, span.begin, std::max(span.end, until), span.bytes});
  spans.clear();
}

void Liveness::addEntry(sched::EntryOp entry) {
  llvm::DenseMap<size_t, Span> ofEntry, ofSection;
  llvm::DenseMap<std::pair<size_t, int64_t>, Span> ofMicrobatch; // of a family
  schedule::forEachExecution(entry, [&](sched::SectionOp section, int64_t microbatch) {
    llvm::DenseMap<Operation *, int64_t> pointOf;
    for (Operation &op : section.getBody().front()) {
      pointOf[&op] = points.size();
      points.push_back({&op, microbatch});
    }
    auto touch = [&](const Touched &each, int64_t point) {
      if (each.lives == sched::Life::Entry)
        ofEntry[each.block].touch(point, each.bytes);
      else if (each.family && section.isOfTask())
        ofMicrobatch[{each.block, microbatch}].touch(point, each.bytes);
      else
        ofSection[each.block].touch(point, each.bytes);
    };
    for (Operation &op : section.getBody().front())
      for (const Touched &each : touched(&op)) {
        touch(each, pointOf[&op]);
        touch(each, pointOf[each.until]);
      }
    close(ofSection);
  });
  close(ofEntry, static_cast<int64_t>(points.size()) - 1);
  for (auto &[key, span] : ofMicrobatch) {
    auto [block, microbatch] = key;
    sched::FamilyOp family = blocks[block].family;
    intervals.push_back(
        {block + (apart ? family.getSlotOf()[microbatch] : 0), span.begin, span.end, span.bytes});
  }
}

//===----------------------------------------------------------------------===//
// Sweep
//===----------------------------------------------------------------------===//

std::string Liveness::describe(const Point &point) const {
  auto section = cast<sched::SectionOp>(point.op->getParentOp());
  auto run = dyn_cast<sched::RunOp>(point.op);
  std::string text = run ? (run.getWhat() + " of " + run.getTitle()).str()
                         : cast<sched::Step>(point.op).getTitle();
  if (section.getKind())
    return text + ", stage " + std::to_string(*section.getStage()) + ", microbatch " +
           std::to_string(point.microbatch);
  bool said = run && run.getWhat() == section.getSymName();
  return said ? text : text + ", " + section.getSymName().str();
}

void Liveness::sweep() {
  conflicts.assign(blocks.size(), llvm::BitVector(blocks.size()));
  std::vector<std::vector<size_t>> begins(points.size()), ends(points.size());
  for (auto [i, interval] : llvm::enumerate(intervals)) {
    begins[interval.begin].push_back(i);
    ends[interval.end].push_back(i);
  }
  std::vector<int64_t> live(blocks.size(), 0), users(blocks.size(), 0);
  llvm::BitVector active(blocks.size());
  int64_t sum = 0;
  for (size_t p = 0; p < points.size(); ++p) {
    for (size_t i : begins[p]) {
      const Interval &interval = intervals[i];
      live[interval.block] += interval.bytes;
      sum += interval.bytes;
      ++users[interval.block];
      active.set(interval.block);
    }
    if (!begins[p].empty())
      for (unsigned block : active.set_bits())
        conflicts[block] |= active;
    if (sum > peak) {
      peak = sum;
      peakName = describe(points[p]);
      atPeak = live;
    }
    for (size_t i : ends[p]) {
      const Interval &interval = intervals[i];
      live[interval.block] -= interval.bytes;
      sum -= interval.bytes;
      if (--users[interval.block] == 0)
        active.reset(interval.block);
    }
  }
  atPeak.resize(blocks.size(), 0);
  for (size_t i = 0; i < blocks.size(); ++i)
    conflicts[i].reset(i);
}
