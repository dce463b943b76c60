//===- SchedProgram.cpp - the program, its families and values ------------===//
//
// Each check cites its constraint in Sched.td as (Cn).
//
//===----------------------------------------------------------------------===//
#include "dialects/sched/Sched.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::sched;

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

bool ProgramOp::isSplit(int64_t stage) {
  return llvm::any_of(getTaskList(),
                      [&](Task task) { return task.kind == TaskKind::I && task.stage == stage; });
}

nn::ChainOp ProgramOp::getChain(StringRef name) {
  for (auto chain : getBody().getOps<nn::ChainOp>())
    if (chain.getSymName() == name)
      return chain;
  return {};
}

namespace {
/// Position of each (kind, stage, microbatch) in the order, or -1.
struct Positions {
  int64_t stages, microbatches;
  SmallVector<int64_t> at;

  Positions(int64_t stages, int64_t microbatches)
      : stages(stages), microbatches(microbatches),
        at((getMaxEnumValForTaskKind() + 1) * stages * microbatches, -1) {}
  int64_t &operator()(Task task) {
    return at[(static_cast<int64_t>(task.kind) * stages + task.stage) * microbatches +
              task.microbatch];
  }
  bool has(TaskKind kind, int64_t stage, int64_t microbatch) {
    return (*this)({kind, static_cast<int32_t>(stage), static_cast<int32_t>(microbatch)}) >= 0;
  }
};
} // namespace

SmallVector<AnyTask, 2> tplan::sched::needsOf(Task task, int32_t before, int32_t after) {
  auto [kind, s, m, together] = task;
  switch (kind) {
  case TaskKind::F:
    if (before < 0)
      return {};
    return {{{TaskKind::ReceiveF, s, m}, {TaskKind::F, before, m}}};
  case TaskKind::W:
    return {{{TaskKind::I, s, m}}};
  case TaskKind::B:
  case TaskKind::I: {
    SmallVector<AnyTask, 2> needs = {{{TaskKind::F, s, m}}};
    if (after >= 0)
      needs.push_back(
          {{TaskKind::ReceiveB, s, m}, {TaskKind::B, after, m}, {TaskKind::I, after, m}});
    return needs;
  }
  case TaskKind::SendF:
    return {{{TaskKind::F, s, m}}};
  case TaskKind::SendB:
    return {{{TaskKind::B, s, m}, {TaskKind::I, s, m}}};
  case TaskKind::ReceiveF:
  case TaskKind::ReceiveB: // of another rank
  case TaskKind::R:        // all backwards of its stage, however these are cut
    return {};
  case TaskKind::AwaitSendF:
  case TaskKind::AwaitReceiveF:
  case TaskKind::AwaitSendB:
  case TaskKind::AwaitReceiveB:
    return {{{*awaitedBy(kind), s, m}}};
  }
  llvm_unreachable("an unknown kind of task");
}

std::string tplan::sched::describe(Task task) {
  std::string text = (stringifyTaskKind(task.kind) + " of stage " + Twine(task.stage)).str();
  return task.kind == TaskKind::R ? text : text + ", microbatch " + std::to_string(task.microbatch);
}

std::string tplan::sched::spell(Task task) {
  std::string text = std::to_string(task.stage) + stringifyTaskKind(task.kind).str();
  return task.kind == TaskKind::R ? text : text + std::to_string(task.microbatch);
}

ArrayRef<Task> tplan::sched::tasksAt(ArrayRef<Task> tasks, size_t i) {
  size_t count = 1;
  while (i + count < tasks.size() && tasks[i + count].together)
    ++count;
  return tasks.slice(i, count);
}

static LogicalResult verifyOrder(ProgramOp op, Positions &at) {
  int64_t begin = 0;                                         // of those that are done as one
  for (auto [i, task] : llvm::enumerate(op.getTaskList())) { // (C3)
    if (!task.together)
      begin = i;
    auto isBefore = [&](Task other) {
      if (isMessage(other.kind) && !isMessage(task.kind) && awaitedBy(task.kind) != other.kind)
        if (Task await = awaitOf(other); at(await) >= 0)
          other = await;
      return at(other) >= 0 && at(other) < begin;
    };
    for (const AnyTask &need : needsOf(task, op.before(task.stage), op.after(task.stage)))
      if (!llvm::any_of(need, isBefore))
        return op.emitOpError("task comes before ")
               << describe(need.back()) << ", which it needs: " << describe(task);
  }
  return success();
}

/// (C1)
static LogicalResult verifyTogether(ProgramOp op) {
  bool mayBe = false; // whether the task before may be done together with another
  for (Task task : op.getTaskList()) {
    bool isOrdered = factsOf(task.kind).isOrdered;
    if (task.together && !(mayBe && isOrdered))
      return op.emitOpError("only F, B, I and W are done together, found ") << describe(task);
    mayBe = isOrdered;
  }
  return success();
}

SectionOp ProgramOp::findSection(TaskKind kind, int64_t stage) {
  for (auto section : getBody().getOps<SectionOp>())
    if (section.isOf(kind, stage) && !section.isOfPair() && !section.getFirst() &&
        !section.getLast() && !section.getEarly())
      return section;
  return {};
}

/// (C8)
static LogicalResult verifyHeld(ProgramOp op) {
  if (!op.getHolds())
    return success();
  ArrayRef<int64_t> held = *op.getHolds();
  bool inRange = llvm::all_of(held, [&](int64_t stage) {
    return stage >= 0 && stage < static_cast<int64_t>(op.getStages());
  });
  if (held.empty() || !inRange || !llvm::is_sorted(held, std::less_equal<int64_t>()))
    return op.emitOpError("holds stages of the step, ascending, found ") << op.getHoldsAttr();
  return success();
}

/// (C2): where a message is started all are, and each has its await.
static LogicalResult verifyAwaits(ProgramOp op, Positions &at) {
  bool isStarted =
      llvm::any_of(op.getTaskList(), [](Task task) { return awaitedBy(task.kind).has_value(); });
  for (Task task : op.getTaskList())
    if (isStarted && isMessage(task.kind) && at(awaitOf(task)) < 0)
      return op.emitOpError("starts messages, and one has no await: ") << describe(task);
  return success();
}

/// (C2): each stage that the program holds is done, and what its neighbours leave comes.
static LogicalResult verifyComplete(ProgramOp op, Positions &at) {
  for (int64_t s = 0, stages = op.getStages(); s < stages; ++s) {
    if (!op.holds(s))
      continue;
    auto [first, end] = op.getMicrobatchesOf(s);
    int64_t before = op.before(s), after = op.after(s);
    bool isAbove = before >= 0 && !op.holds(before), isBelow = after >= 0 && !op.holds(after);
    for (int64_t m = first; m < end; ++m) {
      bool b = at.has(TaskKind::B, s, m), i = at.has(TaskKind::I, s, m);
      if (!at.has(TaskKind::F, s, m) || b == i || i != at.has(TaskKind::W, s, m))
        return op.emitOpError("needs F, and B or both I and W, of stage ")
               << s << ", microbatch " << m;
      if (b != at.has(TaskKind::B, s, first))
        return op.emitOpError("the backward of a stage is whole for some microbatches and in parts "
                              "for others: stage ")
               << s << ", microbatch " << m;
      for (auto [kind, isNeeded] :
           {std::pair(TaskKind::ReceiveF, isAbove), std::pair(TaskKind::SendB, isAbove),
            std::pair(TaskKind::SendF, isBelow), std::pair(TaskKind::ReceiveB, isBelow)})
        if (at.has(kind, s, m) != isNeeded)
          return op.emitOpError("messages go between stages of unlike ranks, one for each "
                                "microbatch; ")
                 << (isNeeded ? "lacks " : "has ")
                 << describe({kind, static_cast<int32_t>(s), static_cast<int32_t>(m)});
    }
  }
  return success();
}

/// (C2) and (C3) of sums over ranks: one R of a stage, after all of its backwards.
static LogicalResult verifyReductions(ProgramOp op) {
  llvm::SmallDenseSet<int64_t> reduced; // stages
  for (Task task : op.getTaskList()) {
    if (task.kind == TaskKind::R) {
      if (task.microbatch != op.getMicrobatchesOf(task.stage).first)
        return op.emitOpError("R is done once a step and has the first microbatch of its stage, "
                              "found ")
               << describe(task) << " with " << task.microbatch;
      reduced.insert(task.stage);
    } else if ((task.kind == TaskKind::B || task.kind == TaskKind::W) &&
               reduced.contains(task.stage)) {
      return op.emitOpError("a stage is reduced after all of its backwards, found after that ")
             << describe(task);
    }
  }
  return success();
}

static LogicalResult verifyTasks(ProgramOp op) {
  int64_t stages = op.getStages(), microbatches = op.getMicrobatches();
  if (op.getTasks().size() % 3 || stages < 1 || microbatches < 1) // (C1)
    return op.emitOpError("needs at least one stage and microbatch, and triples as tasks");
  int64_t chains = op.getChains();
  if (chains < 1 || stages % chains || microbatches % chains) // (C9)
    return op.emitOpError("has chains that divide its stages and microbatches, found ") << chains;
  if (failed(verifyHeld(op)))
    return failure();
  Positions at(stages, microbatches);
  SmallVector<bool> held;
  SmallVector<std::pair<int64_t, int64_t>> goThrough; // microbatches, by stage
  for (int64_t stage = 0; stage < stages; ++stage) {
    held.push_back(op.holds(stage));
    goThrough.push_back(op.getMicrobatchesOf(stage));
  }
  for (auto [i, task] : llvm::enumerate(op.getTaskList())) {
    if (!symbolizeTaskKind(static_cast<uint32_t>(task.kind)))
      return op.emitOpError("no such kind of task: ") << static_cast<int32_t>(task.kind);
    if (task.stage < 0 || task.stage >= stages || !held[task.stage] ||
        task.microbatch < goThrough[task.stage].first ||
        task.microbatch >= goThrough[task.stage].second)
      return op.emitOpError("no such stage or microbatch: ") << describe(task);
    if (at(task) >= 0) // (C2)
      return op.emitOpError("task stands twice: ") << describe(task);
    at(task) = i;
  }
  return failure(failed(verifyTogether(op)) || failed(verifyComplete(op, at)) ||
                 failed(verifyAwaits(op, at)) || failed(verifyOrder(op, at)) ||
                 failed(verifyReductions(op)));
}

/// (C4)
static LogicalResult verifyBody(ProgramOp op) {
  llvm::SmallDenseSet<Attribute> keys;
  for (Operation &nested : op.getBody().front()) {
    if (!isa<nn::ChainOp, FamilyOp, ValueOp, SectionOp, EntryOp>(nested))
      return op.emitOpError("holds chains, families, values, sections and entries, found ")
             << nested.getName();
    if (auto value = dyn_cast<ValueOp>(nested); value && !keys.insert(value.getKey()).second)
      return value.emitOpError("key stands twice: ") << value.getName();
  }
  return success();
}

/// (C5) and (C6)
static LogicalResult verifyPlaces(ProgramOp op) {
  llvm::MapVector<StringAttr, std::pair<FamilyOp, int64_t>> filled;
  for (auto family : op.getBody().getOps<FamilyOp>())
    filled[family.getSymNameAttr()] = {family, 0};
  auto isInArena = [&](int64_t at, int64_t bytes) {
    return at >= 0 && at + bytes <= static_cast<int64_t>(*op.getArena());
  };
  for (auto value : op.getBody().getOps<ValueOp>()) {
    if (FlatSymbolRefAttr name = value.getFamilyAttr()) {
      auto found = filled.find(name.getAttr());
      if (found == filled.end())
        return value.emitOpError("there is no family: ") << name.getValue();
      found->second.second += value.getTotal();
    } else if (op.getArena() && (!value.getAt() || !isInArena(*value.getAt(), value.getTotal()))) {
      return value.emitOpError("lies outside of the arena of bytes ") << *op.getArena();
    }
  }
  for (auto &[name, sum] : filled) {
    auto [family, bytes] = sum;
    int64_t slot = family.getBytes();
    if (bytes != slot)
      return family.emitOpError("bytes must be the sum of its values, ")
             << bytes << ", found " << slot;
    if (op.getArena() && (!family.getAt() || !llvm::all_of(*family.getAt(), [&](int64_t at) {
          return isInArena(at, slot);
        })))
      return family.emitOpError("lies outside of the arena of bytes ") << *op.getArena();
  }
  return success();
}

/// (C4) of families: who has a slot of a pool, in the order of the tasks.
static LogicalResult verifyPools(ProgramOp op) {
  llvm::MapVector<int64_t, SmallVector<FamilyOp>> pools;
  for (auto family : op.getBody().getOps<FamilyOp>())
    if (family.getPool())
      pools[*family.getPool()].push_back(family);
  using Ends = std::pair<TaskKind, int64_t>;
  for (auto &[pool, families] : pools) {
    llvm::DenseMap<int32_t, std::pair<FamilyOp, int64_t>> holders;
    llvm::MapVector<std::pair<int, int64_t>, SmallVector<FamilyOp>> begin, end;
    for (FamilyOp family : families) {
      if (family.getBytes() != families.front().getBytes())
        return family.emitOpError("families of a pool have slots of the same bytes, ")
               << families.front().getBytes() << ", found " << family.getBytes();
      Ends first = {family.getProducer(), family.getProducerStage()},
           last = {family.getReader(), family.getReaderStage()};
      begin[{static_cast<int>(first.first), first.second}].push_back(family);
      end[{static_cast<int>(last.first), last.second}].push_back(family);
    }
    SmallVector<int32_t> released; // by what is done as one
    for (Task task : op.getTaskList()) {
      if (!task.together)
        for (int32_t slot : std::exchange(released, {}))
          holders.erase(slot);
      std::pair<int, int64_t> of = {static_cast<int>(task.kind), task.stage};
      auto slotIn = [&](FamilyOp family) {
        return (*family.getPoolSlots())[family.getSlotOf()[task.microbatch]];
      };
      for (FamilyOp family : begin.lookup(of))
        if (auto [held, isNew] = holders.insert({slotIn(family), {family, task.microbatch}});
            !isNew && held->second != std::pair(family, static_cast<int64_t>(task.microbatch)))
          return family.emitOpError("microbatches share a slot of a pool while both are live: ")
                 << held->second.second << " of " << held->second.first.getSymName() << " and "
                 << task.microbatch;
      for (FamilyOp family : end.lookup(of))
        released.push_back(slotIn(family));
    }
  }
  return success();
}

/// (C7)
static LogicalResult verifySections(ProgramOp op) {
  auto executesTasks = [](EntryOp entry) {
    return llvm::any_of(entry.getSections().getAsRange<ExecuteAttr>(),
                        [](ExecuteAttr item) { return item.getTimes() == Times::Tasks; });
  };
  if (llvm::none_of(op.getBody().getOps<EntryOp>(), executesTasks))
    return success();
  llvm::SmallDenseSet<std::pair<int, int64_t>> known, executed;
  for (auto section : op.getBody().getOps<SectionOp>())
    if (section.getKind() && !section.isOfPair())
      known.insert({static_cast<int>(*section.getKind()), section.getStage().value_or(-1)});
  for (int64_t i = 0, e = op.getNumTasks(); i < e; ++i) {
    Task task = op.getTask(i);
    if (!known.contains({static_cast<int>(task.kind), task.stage}))
      return op.emitOpError("has no section for ") << describe(task);
    executed.insert({static_cast<int>(task.kind), task.stage});
  }
  for (auto section : op.getBody().getOps<SectionOp>())
    if (section.getKind() &&
        !executed.contains({static_cast<int>(*section.getKind()), section.getStage().value_or(-1)}))
      return section.emitOpError("is of a task that no entry executes: ") << section.getSymName();
  return success();
}

LogicalResult ProgramOp::verify() { return verifyTasks(*this); }

LogicalResult ProgramOp::verifyRegions() {
  return failure(failed(verifyBody(*this)) || failed(verifyPlaces(*this)) ||
                 failed(verifyPools(*this)) || failed(verifySections(*this)));
}

//===----------------------------------------------------------------------===//
// Families and values
//===----------------------------------------------------------------------===//

/// (C2): walks the tasks; a slot is taken from the producer to the last reader. Where tasks are
/// done together, all is taken before anything is free.
static LogicalResult verifySlots(FamilyOp family, ProgramOp program) {
  SmallVector<int64_t> holder(family.getSlots(), -1);
  ArrayRef<int32_t> slotOf = family.getSlotOf();
  std::pair<TaskKind, int64_t> producer = {family.getProducer(), family.getProducerStage()},
                               reader = {family.getReader(), family.getReaderStage()};
  SmallVector<int32_t, 2> read; // microbatches, by what is done as one
  auto release = [&] {
    for (int32_t microbatch : read)
      if (int64_t &held = holder[slotOf[microbatch]]; held == microbatch)
        held = -1;
    read.clear();
  };
  for (Task task : program.getTaskList()) {
    if (!task.together)
      release();
    std::pair<TaskKind, int64_t> of = {task.kind, task.stage};
    if (of == producer) {
      int64_t &held = holder[slotOf[task.microbatch]];
      if (held >= 0 && held != task.microbatch)
        return family.emitOpError("microbatches share a slot while both are live: ")
               << held << " and " << task.microbatch;
      held = task.microbatch;
    }
    if (of == reader)
      read.push_back(task.microbatch);
  }
  return success();
}

LogicalResult FamilyOp::verify() {
  auto program = cast<ProgramOp>((*this)->getParentOp());
  int64_t slots = getSlots();
  if (slots < 1 || getSlotOf().size() != program.getMicrobatches()) // (C1)
    return emitOpError("needs at least one slot and a slot for each microbatch, found ")
           << slots << " slots for " << getSlotOf().size() << " microbatches";
  for (int32_t slot : getSlotOf())
    if (slot < 0 || slot >= slots)
      return emitOpError("no such slot: ") << slot;
  if (static_cast<int64_t>(getProducerStage()) >= static_cast<int64_t>(program.getStages()) ||
      static_cast<int64_t>(getReaderStage()) >= static_cast<int64_t>(program.getStages()))
    return emitOpError("names a stage that the program lacks");
  if (getAt() && static_cast<int64_t>(getAt()->size()) != slots) // (C3)
    return emitOpError("needs an offset for each slot, found ")
           << getAt()->size() << " for " << slots;
  if (getPool().has_value() != getPoolSlots().has_value() ||
      (getPool() && static_cast<int64_t>(getPoolSlots()->size()) != slots)) // (C4)
    return emitOpError("needs a slot of its pool for each of its slots");
  return verifySlots(*this, program);
}

void ValueOp::build(OpBuilder &b, OperationState &state, KeyAttr key, Owner owner, Life lives,
                    int64_t bytes, int64_t count, Type type) {
  build(b, state, key, owner, lives, bytes, count, type ? TypeAttr::get(type) : TypeAttr(),
        DenseI64ArrayAttr(), FlatSymbolRefAttr(), IntegerAttr(), /*given=*/false, RowsAttr(),
        ArrayAttr());
}

SmallVector<InstanceRange, 2> ValueOp::getInstances() {
  if (!getRanges())
    return {{0, static_cast<int64_t>(getCount())}};
  SmallVector<InstanceRange, 2> instances;
  for (size_t i = 0; i + 1 < getRanges()->size(); i += 2)
    instances.push_back({(*getRanges())[i], (*getRanges())[i + 1]});
  return instances;
}

void ValueOp::setInstances(ArrayRef<InstanceRange> instances) {
  SmallVector<int64_t> numbers;
  int64_t count = 0;
  for (InstanceRange range : instances) {
    numbers.append({range.first, range.count});
    count += range.count;
  }
  setCount(count);
  bool isPlain = instances.size() == 1 && instances.front().first == 0;
  setRangesAttr(isPlain ? DenseI64ArrayAttr() : DenseI64ArrayAttr::get(getContext(), numbers));
}

int64_t ValueOp::indexOf(int64_t instance) {
  int64_t index = 0;
  for (InstanceRange range : getInstances()) {
    if (instance >= range.first && instance < range.end())
      return index + instance - range.first;
    index += range.count;
  }
  return -1;
}

nn::Tensor ValueOp::getTensor() { return cast<nn::Tensor>(*getType()); }

void ValueOp::getAsmResultNames(function_ref<void(Value, StringRef)> setName) {
  setName(getMemory(), getKey().spell());
}

LogicalResult ValueOp::verify() {
  if (static_cast<int64_t>(getBytes()) < 0 || static_cast<int64_t>(getCount()) < 1 ||
      (getAt() && *getAt() % kAlign)) // (C1)
    return emitOpError("needs bytes of at least 0, a count of at least 1 and an offset that is a "
                       "multiple of ")
           << kAlign;
  if (getFamily() && getLives() != Life::Microbatch) // (C2)
    return emitOpError("is in a family, so it must live as long as a microbatch, found ")
           << stringifyLife(getLives());
  int64_t count = 0, end = 0;
  for (InstanceRange range : getInstances()) { // (C3)
    if (range.count < 1 || range.first < end)
      return emitOpError("ranges of instances ascend and do not overlap, found ")
             << getRangesAttr();
    count += range.count;
    end = range.end();
  }
  if (count != static_cast<int64_t>(getCount()) || (getRanges() && getRanges()->size() % 2))
    return emitOpError("ranges have all of its instances, ")
           << static_cast<int64_t>(getCount()) << ", found " << count;
  return success();
}
