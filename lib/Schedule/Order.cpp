//===- Order.cpp - checks an order of tasks, merges it, counts its slots --===//
//
// One decision: dependencies and deadlock are found by playing the order. Each
// stage is a process that does its list; a send waits for its receiver. What
// cannot go on at the end is the fault.
//
//===----------------------------------------------------------------------===//
#include "lib/Schedule/Policy.h"
#include "mlir/IR/Diagnostics.h"
#include <algorithm>
#include <map>
#include <set>

using namespace mlir;
using namespace tplan::schedule;
using tplan::sched::describe;

namespace {
struct Less {
  bool operator()(const Task &a, const Task &b) const {
    return std::tuple(a.kind, a.stage, a.microbatch) < std::tuple(b.kind, b.stage, b.microbatch);
  }
};
using TaskSet = std::set<Task, Less>;
using Report = llvm::function_ref<InFlightDiagnostic()>;

bool isBackward(TaskKind kind) { return kind == TaskKind::B || kind == TaskKind::I; }

/// One of several tasks: a backward is done whole or in parts.
using AnyOf = SmallVector<Task, 2>;

/// What a task needs, all of it.
SmallVector<AnyOf, 2> needsOf(Task task, int64_t stages) {
  auto [kind, s, m] = task;
  if (kind == TaskKind::F)
    return s ? SmallVector<AnyOf, 2>{{{TaskKind::F, s - 1, m}}} : SmallVector<AnyOf, 2>{};
  if (kind == TaskKind::W)
    return {{{TaskKind::I, s, m}}};
  SmallVector<AnyOf, 2> needs = {{{TaskKind::F, s, m}}};
  if (s + 1 < stages)
    needs.push_back({{TaskKind::B, s + 1, m}, {TaskKind::I, s + 1, m}});
  return needs;
}

/// Whether all that the task needs is in `done`; otherwise `missing` is set.
bool isReady(Task task, const TaskSet &done, int64_t stages, Task &missing) {
  for (const AnyOf &need : needsOf(task, stages)) {
    missing = need.back();
    if (llvm::none_of(need, [&](Task t) { return done.count(t) != 0; }))
      return false;
  }
  return true;
}
} // namespace

//===----------------------------------------------------------------------===//
// Complete
//===----------------------------------------------------------------------===//

static LogicalResult checkComplete(ArrayRef<StageOrder> order, int64_t stages, int64_t microbatches,
                                   Report emitError) {
  if (static_cast<int64_t>(order.size()) != stages)
    return emitError() << "the order must have " << stages << " stages, found " << order.size();
  TaskSet seen;
  for (int64_t s = 0; s < stages; ++s)
    for (Task task : order[s]) {
      if (task.stage != s || task.microbatch < 0 || task.microbatch >= microbatches)
        return emitError() << "task stands in the list of stage " << s << ": " << describe(task);
      if (!seen.insert(task).second)
        return emitError() << "task is done twice: " << describe(task);
    }
  for (int32_t s = 0; s < stages; ++s)
    for (int32_t m = 0; m < microbatches; ++m) {
      auto has = [&](TaskKind kind) { return seen.count({kind, s, m}) != 0; };
      auto lacks = [&](TaskKind kind) {
        return emitError() << "task is missing: " << describe({kind, s, m});
      };
      if (!has(TaskKind::F))
        return lacks(TaskKind::F);
      if (has(TaskKind::B) && (has(TaskKind::I) || has(TaskKind::W)))
        return emitError() << "backward is done both whole and in parts: "
                           << describe({TaskKind::B, s, m});
      if (has(TaskKind::I) != has(TaskKind::W))
        return lacks(has(TaskKind::I) ? TaskKind::W : TaskKind::I);
      if (!has(TaskKind::B) && !has(TaskKind::I))
        return lacks(TaskKind::B);
    }
  return success();
}

//===----------------------------------------------------------------------===//
// First in, first out
//===----------------------------------------------------------------------===//

/// The microbatches of a stage's forward or backward tasks, in its order.
static std::vector<int32_t> messages(const StageOrder &order, bool backward) {
  std::vector<int32_t> list;
  for (Task task : order)
    if (backward ? isBackward(task.kind) : task.kind == TaskKind::F)
      list.push_back(task.microbatch);
  return list;
}

static LogicalResult checkFifo(ArrayRef<StageOrder> order, int64_t stages, Report emitError) {
  for (bool backward : {false, true})
    for (int32_t s = 0; s + 1 < stages; ++s) {
      int32_t from = backward ? s + 1 : s, to = backward ? s : s + 1;
      std::vector<int32_t> sent = messages(order[from], backward);
      std::vector<int32_t> received = messages(order[to], backward);
      auto [a, b] = std::mismatch(sent.begin(), sent.end(), received.begin());
      if (a == sent.end())
        continue;
      TaskKind kind = TaskKind::F;
      for (Task task : order[to])
        if (backward && isBackward(task.kind))
          kind = task.kind;
      return emitError() << "stage " << from << " sends microbatch " << *a << " where stage " << to
                         << " receives another: " << describe({kind, to, *b});
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Playing
//===----------------------------------------------------------------------===//

namespace {
/// Where a stage stands: before its task `next`, or in the send behind it.
struct Process {
  size_t next = 0;
  bool sending = false;
};

/// The task that receives what `task` sends, if it sends.
std::optional<std::pair<int32_t, bool>> receiverOf(Task task, int64_t stages) {
  if (task.kind == TaskKind::F && task.stage + 1 < stages)
    return std::pair(task.stage + 1, false);
  if (isBackward(task.kind) && task.stage > 0)
    return std::pair(task.stage - 1, true);
  return std::nullopt;
}

/// Whether the process stands before the task that receives from `task`.
bool receives(const StageOrder &order, const Process &process, Task from, bool backward) {
  if (process.sending || process.next >= order.size())
    return false;
  Task task = order[process.next];
  return task.microbatch == from.microbatch &&
         (backward ? isBackward(task.kind) : task.kind == TaskKind::F);
}
} // namespace

static LogicalResult play(ArrayRef<StageOrder> order, int64_t stages, Report emitError) {
  std::vector<Process> processes(stages);
  TaskSet computed, done; // done: its message has arrived, too
  for (bool moved = true; moved;) {
    moved = false;
    for (int64_t s = 0; s < stages; ++s) {
      Process &process = processes[s];
      if (process.next >= order[s].size())
        continue;
      Task task = order[s][process.next], missing;
      if (!process.sending) {
        if (!isReady(task, done, stages, missing))
          continue;
        computed.insert(task);
        process.sending = true;
      }
      auto receiver = receiverOf(task, stages);
      if (receiver &&
          !receives(order[receiver->first], processes[receiver->first], task, receiver->second))
        continue;
      done.insert(task);
      process = {process.next + 1, false};
      moved = true;
    }
  }
  for (int64_t s = 0; s < stages; ++s) {
    if (processes[s].next >= order[s].size())
      continue;
    Task task = order[s][processes[s].next], missing;
    if (processes[s].sending)
      continue;
    isReady(task, computed, stages, missing);
    // What an earlier list position should have done is an order error of this
    // stage; what another stage holds back is a deadlock.
    if (missing.stage == s)
      return emitError() << "task comes before " << describe(missing)
                         << ", which it needs: " << describe(task);
  }
  for (int64_t s = 0; s < stages; ++s)
    if (processes[s].next < order[s].size()) {
      InFlightDiagnostic diag = emitError() << "deadlock: the stages wait for each other at "
                                            << describe(order[s][processes[s].next]);
      for (int64_t other = 0; other < stages; ++other)
        if (processes[other].next < order[other].size())
          diag.attachNote() << "stage " << other
                            << (processes[other].sending ? " sends the result of "
                                                         : " waits for what it needs for ")
                            << describe(order[other][processes[other].next]);
      return diag;
    }
  return success();
}

LogicalResult tplan::schedule::checkOrder(ArrayRef<StageOrder> order, int64_t stages,
                                          int64_t microbatches, Report emitError) {
  return failure(failed(checkComplete(order, stages, microbatches, emitError)) ||
                 failed(checkFifo(order, stages, emitError)) ||
                 failed(play(order, stages, emitError)));
}

std::vector<Task> tplan::schedule::mergeOrders(ArrayRef<StageOrder> order, int64_t stages,
                                               int64_t microbatches) {
  std::vector<Task> merged;
  std::vector<size_t> next(stages, 0);
  std::map<Task, int64_t, Less> position;
  TaskSet done;
  while (true) {
    int64_t best = -1, newest = -1;
    for (int64_t s = 0; s < stages; ++s) {
      Task missing;
      if (next[s] >= order[s].size() || !isReady(order[s][next[s]], done, stages, missing))
        continue;
      int64_t age = 0; // since when it could be done
      for (const AnyOf &need : needsOf(order[s][next[s]], stages))
        for (Task task : need)
          if (auto it = position.find(task); it != position.end())
            age = std::max(age, it->second + 1);
      if (age > newest) {
        best = s;
        newest = age;
      }
    }
    if (best < 0)
      return merged;
    Task task = order[best][next[best]++];
    position[task] = merged.size();
    merged.push_back(task);
    done.insert(task);
  }
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

Slots tplan::schedule::countSlots(ArrayRef<Lifetime> lifetimes) {
  std::vector<size_t> byBegin(lifetimes.size());
  for (size_t i = 0; i < byBegin.size(); ++i)
    byBegin[i] = i;
  llvm::sort(byBegin, [&](size_t a, size_t b) {
    return std::pair(lifetimes[a].begin, a) < std::pair(lifetimes[b].begin, b);
  });
  Slots slots;
  slots.slotOf.resize(lifetimes.size());
  std::vector<int64_t> freeAfter; // by slot
  for (size_t i : byBegin) {
    auto slot = llvm::find_if(freeAfter, [&](int64_t end) { return end < lifetimes[i].begin; });
    if (slot == freeAfter.end())
      slot = freeAfter.insert(freeAfter.end(), 0);
    *slot = lifetimes[i].end;
    slots.slotOf[i] = slot - freeAfter.begin();
  }
  slots.count = freeAfter.size();
  return slots;
}
