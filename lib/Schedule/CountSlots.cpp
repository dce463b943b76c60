//===- CountSlots.cpp - count-slots: what is kept for a microbatch gets slots --===//
//
// Values that the same ops touch first and last are a family: they live equally long, so one number
// of slots, and one slot for each microbatch, serves all of them.
//
// One decision: lives are read off the uses and the order, so the same code serves every policy and
// every op: a value's life begins where it is first touched, and ends where it is touched last, by
// an op that starts there or is complete there.
//
//===----------------------------------------------------------------------===//
#include "lib/Pipeline/Slots.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Schedule/Walk.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace tplan::schedule {
#define GEN_PASS_DEF_COUNTSLOTSPASS
#include "lib/Schedule/Passes.h.inc"
} // namespace tplan::schedule

using namespace mlir;
using namespace tplan;
using namespace tplan::schedule;
using sched::Life;
using sched::ValueOp;

namespace {
/// Where a value is touched: an op of a section's body.
struct Touch {
  sched::SectionOp section;
  Operation *op = nullptr; // an op of the body: a run stands for all that it does
  bool operator==(const Touch &) const = default;
};

/// All values that begin and end at the same ops.
struct Family {
  Touch first, last;
  SmallVector<ValueOp> values;
  int64_t bytes = 0; // of one microbatch
  int64_t firstMicrobatch = 0;
  std::vector<pipeline::Lifetime> lives; // by microbatch, from the first on
};

class SlotCounter {
public:
  explicit SlotCounter(sched::ProgramOp program)
      : program(program), b(OpBuilder::atBlockBegin(&program.getBody().front())) {}

  LogicalResult count() {
    if (failed(checkOnce()))
      return failure();
    findTouches();
    for (auto value : llvm::make_early_inc_range(program.getBody().getOps<ValueOp>()))
      if (value.getLives() == Life::Microbatch && failed(addToFamily(value)))
        return failure();
    llvm::MapVector<std::tuple<int, int, int64_t>, SmallVector<Family *>> alike;
    for (auto &[key, family] : families) {
      if (failed(findLives(family)))
        return failure();
      alike[likenessOf(family)].push_back(&family);
    }
    for (auto &[likeness, group] : alike)
      if (failed(emit(group)))
        return failure();
    return success();
  }

private:
  sched::ProgramOp program;
  OpBuilder b;
  llvm::DenseMap<std::pair<int, int64_t>, std::vector<int64_t>>
      positions;                                              // positions of a task, by microbatch
  llvm::DenseMap<Operation *, SmallVector<Touch, 4>> touches; // where values are touched
  llvm::MapVector<std::pair<Operation *, Operation *>, Family> families;
  llvm::StringSet<> names;
  int64_t numPools = 0;

  static std::pair<int, int64_t> taskOf(sched::SectionOp section) {
    return {static_cast<int>(*section.getKind()), *section.getStage()};
  }
  int64_t positionOf(const Touch &touch, int64_t microbatch) {
    return positions[taskOf(touch.section)][microbatch];
  }

  void findTouches();
  LogicalResult checkOnce();
  std::pair<Touch, Touch> endsOf(ArrayRef<Touch> touched, int64_t microbatch);
  LogicalResult addToFamily(ValueOp value);
  std::string nameOf(Family &family);
  static std::tuple<int, int, int64_t> likenessOf(Family &family);
  LogicalResult refuseBytes(int64_t stage);
  LogicalResult findLives(Family &family);
  LogicalResult emit(ArrayRef<Family *> alike);
  LogicalResult emit(Family &family, const pipeline::Slots &slots, ArrayRef<int32_t> poolSlots);
};
} // namespace

/// Looks at the sections of tasks only: what evaluations touch lives in a slot of training.
void SlotCounter::findTouches() {
  int64_t position = -1;
  for (sched::Task task : program.getTaskList()) {
    position += task.together ? 0 : 1;
    auto &ofTask = positions[{static_cast<int>(task.kind), task.stage}];
    ofTask.resize(program.getMicrobatches());
    ofTask[task.microbatch] = position;
  }
  auto touching = touchingSteps(program);
  for (auto section : program.getBody().getOps<sched::SectionOp>()) {
    if (!section.getKind())
      continue;
    for (Operation &op : section.getBody().front())
      for (sched::Step step : touching.lookup(&op))
        for (const sched::Use &use : step.getUses())
          for (Value value : use.values()) {
            SmallVector<Touch, 4> &known = touches[value.getDefiningOp()];
            if (Touch touch{section, &op}; known.empty() || known.back() != touch)
              known.push_back(touch);
          }
  }
}

/// A value that the step touches and each microbatch has its own of, or null.
static ValueOp valueOfMicrobatch(sched::Step step) {
  for (const sched::Use &use : step.getUses())
    for (Value value : use.values())
      if (ValueOp memory = sched::valueOf(value); memory.getLives() == Life::Microbatch)
        return memory;
  return {};
}

/// In an entry with tasks, what belongs to none has no microbatch.
LogicalResult SlotCounter::checkOnce() {
  auto isTasks = [](sched::ExecuteAttr item) { return item.getTimes() == sched::Times::Tasks; };
  for (auto entry : program.getBody().getOps<sched::EntryOp>()) {
    if (llvm::none_of(entry.getSections().getAsRange<sched::ExecuteAttr>(), isTasks))
      continue;
    LogicalResult result = success();
    forEachStep(entry, [&](sched::Step step, int64_t) {
      if (failed(result) || step->getParentOfType<sched::SectionOp>().isOfTask())
        return;
      if (ValueOp value = valueOfMicrobatch(step))
        result = step->emitOpError("belongs to no task, so it cannot touch a value that each "
                                   "microbatch has its own of: ")
                 << value.getName();
    });
    if (failed(result))
      return failure();
  }
  return success();
}

/// Where a microbatch touches a value first and last.
std::pair<Touch, Touch> SlotCounter::endsOf(ArrayRef<Touch> touched, int64_t microbatch) {
  auto isBefore = [&](const Touch &a, const Touch &b) {
    return a.section == b.section ? a.op->isBeforeInBlock(b.op)
                                  : positionOf(a, microbatch) < positionOf(b, microbatch);
  };
  auto [first, last] = std::minmax_element(touched.begin(), touched.end(), isBefore);
  return {*first, *last};
}

/// What no task touches is for evaluations alone, or for nobody. A family says once for all
/// microbatches where it begins and ends.
LogicalResult SlotCounter::addToFamily(ValueOp value) {
  SmallVector<Touch, 4> &found = touches[value];
  if (found.empty()) {
    value.setLives(Life::Section);
    if (value->use_empty())
      value.erase();
    return success();
  }
  auto [begin, end] = program.getMicrobatchesOf(*found.front().section.getStage());
  auto ends = endsOf(found, begin);
  for (int64_t m = begin + 1; m < end; ++m)
    if (endsOf(found, m) != ends)
      return emitError(program.getLoc(), "tasks that touch one value come in the same order for "
                                         "each microbatch, and those of ")
             << value.getName() << " do not, for microbatch " << m;
  Family &family = families[{ends.first.op, ends.second.op}];
  std::tie(family.first, family.last) = ends;
  family.values.push_back(value);
  return success();
}

/// A value's own name, or what leaves several: "block[0..7], F to B".
std::string SlotCounter::nameOf(Family &family) {
  std::string name = family.values.front().getName();
  if (auto run = dyn_cast<sched::RunOp>(family.first.op); run && family.values.size() > 1)
    name = (run.getTitle() + ", " + sched::stringifyTaskKind(*family.first.section.getKind()) +
            " to " + sched::stringifyTaskKind(*family.last.section.getKind()))
               .str();
  std::string unlike = name;
  for (int64_t n = 2; !names.insert(unlike).second; ++n)
    unlike = name + " (" + std::to_string(n) + ")";
  return unlike;
}

/// Families that may have one pool: as large, with ends of the same kinds. Those of one stage that
/// are alike live at the same times, so a pool serves unlike stages.
std::tuple<int, int, int64_t> SlotCounter::likenessOf(Family &family) {
  return {static_cast<int>(*family.first.section.getKind()),
          static_cast<int>(*family.last.section.getKind()), family.bytes};
}

LogicalResult SlotCounter::refuseBytes(int64_t stage) {
  return emitError(program.getLoc(), "a rank holds at most 16 TiB of what one task leaves to "
                                     "another; recompute or use smaller microbatches, found "
                                     "more in stage ")
         << stage;
}

/// One value is not larger than split-microbatches allows; layers, and later slots, multiply it.
LogicalResult SlotCounter::findLives(Family &family) {
  int64_t stage = *family.first.section.getStage();
  auto [begin, end] = program.getMicrobatchesOf(stage);
  family.firstMicrobatch = begin;
  for (int64_t m = begin; m < end; ++m)
    family.lives.push_back({positionOf(family.first, m), positionOf(family.last, m)});
  for (ValueOp value : family.values) {
    int64_t most = nn::kMostBytes - family.bytes;
    if (value.getStride() > most / static_cast<int64_t>(value.getCount()))
      return refuseBytes(stage);
    family.bytes += value.getTotal();
  }
  return success();
}

/// Slots of a family alone, or of several together where that takes fewer.
LogicalResult SlotCounter::emit(ArrayRef<Family *> alike) {
  std::vector<pipeline::Lifetime> lives;
  std::vector<pipeline::Slots> alone;
  int64_t apart = 0;
  for (Family *family : alike) {
    llvm::append_range(lives, family->lives);
    alone.push_back(pipeline::countSlots(family->lives));
    apart += alone.back().count;
  }
  pipeline::Slots together = pipeline::countSlots(lives);
  bool isPool = together.count < apart;
  numPools += isPool;
  size_t next = 0;
  for (auto [family, own] : llvm::zip(alike, alone)) {
    SmallVector<int32_t> poolSlots;
    if (isPool) {
      ArrayRef<int32_t> of = ArrayRef(together.slotOf).slice(next, family->lives.size());
      poolSlots.assign(of.begin(), of.end());
      llvm::sort(poolSlots);
      poolSlots.erase(llvm::unique(poolSlots), poolSlots.end());
      own.count = poolSlots.size();
      for (auto [slot, inPool] : llvm::zip(own.slotOf, of))
        slot = llvm::lower_bound(poolSlots, inPool) - poolSlots.begin();
    }
    next += family->lives.size();
    if (failed(emit(*family, own, poolSlots)))
      return failure();
  }
  return success();
}

LogicalResult SlotCounter::emit(Family &family, const pipeline::Slots &slots,
                                ArrayRef<int32_t> poolSlots) {
  auto [kind, stage] = taskOf(family.first.section);
  if (family.bytes > nn::kMostBytes / slots.count)
    return refuseBytes(stage);
  std::vector<int32_t> slotOf(program.getMicrobatches(), 0); // of the other chain's: any
  llvm::copy(slots.slotOf, slotOf.begin() + family.firstMicrobatch);
  bool isPool = !poolSlots.empty();
  auto op = sched::FamilyOp::create(
      b, program.getLoc(), nameOf(family), *family.first.section.getKind(), stage,
      *family.last.section.getKind(), *family.last.section.getStage(), slots.count, family.bytes,
      slotOf, isPool ? b.getI64IntegerAttr(numPools - 1) : IntegerAttr(),
      isPool ? b.getDenseI32ArrayAttr(poolSlots) : DenseI32ArrayAttr(), DenseI64ArrayAttr());
  for (ValueOp value : family.values)
    value.setFamilyAttr(FlatSymbolRefAttr::get(op.getSymNameAttr()));
  return success();
}

namespace {
struct CountSlotsPass : tplan::schedule::impl::CountSlotsPassBase<CountSlotsPass> {
  void runOnOperation() final {
    for (auto program : getOperation().getOps<sched::ProgramOp>())
      if (failed(SlotCounter(program).count()))
        return signalPassFailure();
  }
};
} // namespace
