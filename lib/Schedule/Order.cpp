//===- Order.cpp - checks an order of tasks, merges it, counts its slots --===//
//
// One decision: dependencies and deadlock are found by playing the order. Each rank is a process
// that does its list. The first task that cannot run at the end is the fault. A receive is an item
// of its own, which stands where the peer sends (placeMessages), so that no send has to wait for
// the task that reads what it brings.
//
//===----------------------------------------------------------------------===//
#include "lib/Schedule/Policy.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <algorithm>

using namespace mlir;
using namespace tplan::schedule;
using tplan::sched::AnyTask;
using tplan::sched::describe;
using tplan::sched::needsOf;

namespace {
/// A task as a number.
uint64_t keyOf(Task task) {
  return static_cast<uint64_t>(task.kind) << 60 |
         static_cast<uint64_t>(static_cast<uint32_t>(task.stage)) << 32 |
         static_cast<uint32_t>(task.microbatch);
}

class TaskSet {
public:
  bool insert(Task task) { return keys.insert(keyOf(task)).second; }
  bool has(Task task) const { return keys.contains(keyOf(task)); }

private:
  llvm::DenseSet<uint64_t> keys;
};
using Report = llvm::function_ref<InFlightDiagnostic()>;

bool isBackward(TaskKind kind) { return kind == TaskKind::B || kind == TaskKind::I; }

/// Whether all that the task needs is in `done`; otherwise `missing` is set.
bool isReady(Task task, const TaskSet &done, int64_t stages, Task &missing) {
  for (const AnyTask &need : needsOf(task, stages)) {
    missing = need.back();
    if (llvm::none_of(need, [&](Task t) { return done.has(t); }))
      return false;
  }
  return true;
}
} // namespace

//===----------------------------------------------------------------------===//
// Complete
//===----------------------------------------------------------------------===//

static LogicalResult checkComplete(ArrayRef<RankOrder> order, const Pipeline &pipeline,
                                   Report emitError) {
  int64_t stages = pipeline.stages(), microbatches = pipeline.microbatches;
  if (static_cast<int64_t>(order.size()) != pipeline.ranks())
    return emitError() << "the order must have " << pipeline.ranks() << " ranks, found "
                       << order.size();
  TaskSet seen;
  for (auto [rank, tasks] : llvm::enumerate(order))
    for (Task task : tasks) {
      if (task.stage < 0 || task.stage >= stages || pipeline.rankOf[task.stage] != int64_t(rank) ||
          task.microbatch < 0 || task.microbatch >= microbatches)
        return emitError() << "task stands in the list of rank " << rank << ": " << describe(task);
      if (!seen.insert(task))
        return emitError() << "task is done twice: " << describe(task);
    }
  for (int32_t s = 0; s < stages; ++s)
    for (int32_t m = 0; m < microbatches; ++m) {
      auto has = [&](TaskKind kind) { return seen.has({kind, s, m}); };
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

/// The microbatches of a stage's forward or backward tasks, in the order of its rank.
static std::vector<int32_t> messages(const RankOrder &order, int32_t stage, bool backward) {
  std::vector<int32_t> list;
  for (Task task : order)
    if (task.stage == stage && (backward ? isBackward(task.kind) : task.kind == TaskKind::F))
      list.push_back(task.microbatch);
  return list;
}

static LogicalResult checkFifo(ArrayRef<RankOrder> order, const Pipeline &pipeline,
                               Report emitError) {
  auto orderOf = [&](int32_t stage) -> const RankOrder & { return order[pipeline.rankOf[stage]]; };
  for (bool backward : {false, true})
    for (int32_t s = 0; s + 1 < pipeline.stages(); ++s) {
      int32_t from = backward ? s + 1 : s, to = backward ? s : s + 1;
      std::vector<int32_t> sent = messages(orderOf(from), from, backward);
      std::vector<int32_t> received = messages(orderOf(to), to, backward);
      auto [a, b] = std::mismatch(sent.begin(), sent.end(), received.begin());
      if (a == sent.end())
        continue;
      TaskKind kind = TaskKind::F;
      for (Task task : orderOf(to))
        if (backward && task.stage == to && isBackward(task.kind))
          kind = task.kind;
      return emitError() << "stage " << from << " sends microbatch " << *a << " where stage " << to
                         << " receives another: " << describe({kind, to, *b});
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Playing
//===----------------------------------------------------------------------===//

static LogicalResult play(ArrayRef<RankOrder> order, const Pipeline &pipeline, Report emitError) {
  int64_t stages = pipeline.stages();
  std::vector<size_t> next(order.size(), 0);
  TaskSet done;
  Task missing;
  for (bool moved = true; moved;) {
    moved = false;
    for (auto [rank, tasks] : llvm::enumerate(order))
      for (size_t &at = next[rank]; at < tasks.size() && isReady(tasks[at], done, stages, missing);
           ++at) {
        done.insert(tasks[at]);
        moved = true;
      }
  }
  std::vector<Task> waiting; // the first of each rank
  for (auto [rank, tasks] : llvm::enumerate(order)) {
    if (next[rank] >= tasks.size())
      continue;
    Task task = tasks[next[rank]];
    isReady(task, done, stages, missing);
    // What an earlier list position should have done is an order error of this
    // rank; what another rank holds back is a deadlock.
    if (pipeline.rankOf[missing.stage] == int64_t(rank))
      return emitError() << "task comes before " << describe(missing)
                         << ", which it needs: " << describe(task);
    waiting.push_back(task);
  }
  if (waiting.empty())
    return success();
  InFlightDiagnostic diag = emitError() << "deadlock: the stages wait for each other at "
                                        << describe(waiting.front());
  for (Task task : waiting)
    diag.attachNote() << "stage " << task.stage << " waits for what it needs for "
                      << describe(task);
  return diag;
}

LogicalResult tplan::schedule::checkOrder(ArrayRef<RankOrder> order, const Pipeline &pipeline,
                                          Report emitError) {
  return failure(failed(checkComplete(order, pipeline, emitError)) ||
                 failed(checkFifo(order, pipeline, emitError)) ||
                 failed(play(order, pipeline, emitError)));
}

std::vector<Task> tplan::schedule::mergeOrders(ArrayRef<RankOrder> order, int64_t stages) {
  std::vector<Task> merged;
  std::vector<size_t> next(order.size(), 0);
  llvm::DenseMap<uint64_t, int64_t> position;
  TaskSet done;
  while (true) {
    int64_t best = -1, newest = -1;
    for (auto [list, tasks] : llvm::enumerate(order)) {
      Task missing;
      if (next[list] >= tasks.size() || !isReady(tasks[next[list]], done, stages, missing))
        continue;
      int64_t age = 0; // since when it could be done
      for (const AnyTask &need : needsOf(tasks[next[list]], stages))
        for (Task task : need)
          if (auto it = position.find(keyOf(task)); it != position.end())
            age = std::max(age, it->second + 1);
      if (age > newest) {
        best = list;
        newest = age;
      }
    }
    if (best < 0)
      return merged;
    Task task = order[best][next[best]++];
    position[keyOf(task)] = merged.size();
    merged.push_back(task);
    done.insert(task);
  }
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// The message that carries on what a task has left, where the neighbour that needs it is on
/// another rank: as it is sent and as it is received.
static std::optional<std::pair<Task, Task>> messageOf(Task task, ArrayRef<int32_t> rankOf) {
  auto [kind, s, m] = task;
  bool forward = kind == TaskKind::F;
  int32_t to = forward ? s + 1 : s - 1;
  if ((!forward && !isBackward(kind)) || to < 0 || to >= static_cast<int64_t>(rankOf.size()) ||
      rankOf[to] == rankOf[s])
    return std::nullopt;
  return forward ? std::pair(Task{TaskKind::SendF, s, m}, Task{TaskKind::ReceiveF, to, m})
                 : std::pair(Task{TaskKind::SendB, s, m}, Task{TaskKind::ReceiveB, to, m});
}

std::vector<RankOrder> tplan::schedule::placeMessages(ArrayRef<RankOrder> order,
                                                      const Pipeline &pipeline) {
  std::vector<size_t> next(order.size(), 0);
  std::vector<RankOrder> programs(order.size());
  TaskSet done;
  for (bool moved = true; moved;) {
    moved = false;
    for (auto [rank, tasks] : llvm::enumerate(order)) {
      Task missing;
      if (next[rank] >= tasks.size() ||
          !isReady(tasks[next[rank]], done, pipeline.stages(), missing))
        continue;
      Task task = tasks[next[rank]++];
      done.insert(task);
      moved = true;
      programs[rank].push_back(task);
      if (auto message = messageOf(task, pipeline.rankOf)) {
        programs[rank].push_back(message->first);
        programs[pipeline.rankOf[message->second.stage]].push_back(message->second);
      }
    }
  }
  return programs;
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
