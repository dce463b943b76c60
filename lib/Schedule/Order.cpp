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

/// What is needed and not in `done`, or nothing.
std::optional<Task> missingFor(Task task, const TaskSet &done, int64_t stages) {
  for (const AnyTask &need : needsOf(task, stages))
    if (llvm::none_of(need, [&](Task t) { return done.has(t); }))
      return need.back();
  return std::nullopt;
}

/// A rank that does its list; tasks that are done together as one.
struct Player {
  ArrayRef<Task> tasks;
  size_t next = 0;

  bool hasEnded() const { return next >= tasks.size(); }
  ArrayRef<Task> now() const { return tplan::sched::tasksAt(tasks, next); }
  /// The first of those that come next for which something is missing, and that.
  std::optional<std::pair<Task, Task>> findMissing(const TaskSet &done, int64_t stages) const {
    for (Task task : now())
      if (auto missing = missingFor(task, done, stages))
        return std::pair(task, *missing);
    return std::nullopt;
  }
  bool isReady(const TaskSet &done, int64_t stages) const {
    return !hasEnded() && !findMissing(done, stages);
  }
  ArrayRef<Task> go(TaskSet &done) {
    ArrayRef<Task> these = now();
    next += these.size();
    for (Task task : these)
      done.insert(task);
    return these;
  }
};

std::vector<Player> playersOf(ArrayRef<RankOrder> order) {
  std::vector<Player> players;
  for (const RankOrder &tasks : order)
    players.push_back({tasks});
  return players;
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
    for (const Task &task : tasks) {
      if (task.stage < 0 || task.stage >= stages ||
          pipeline.rankOf[task.stage] != static_cast<int64_t>(rank) || task.microbatch < 0 ||
          task.microbatch >= microbatches)
        return emitError() << "task stands in the list of rank " << rank << ": " << describe(task);
      if (!seen.insert(task))
        return emitError() << "task is done twice: " << describe(task);
      if (task.together && &task == &tasks.front())
        return emitError() << "there is no task before it that it is done together with: "
                           << describe(task);
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
      if (has(TaskKind::B) != seen.has({TaskKind::B, s, 0}))
        return emitError() << "backward of a stage is whole for some microbatches and in parts for "
                              "others, unlike for microbatch 0: "
                           << describe({has(TaskKind::B) ? TaskKind::B : TaskKind::I, s, m});
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
  std::vector<Player> players = playersOf(order);
  TaskSet done;
  for (bool moved = true; moved;) {
    moved = false;
    for (Player &player : players)
      while (player.isReady(done, pipeline.stages()))
        moved = !player.go(done).empty();
  }
  std::vector<Task> waiting; // the first of each rank
  for (auto [rank, player] : llvm::enumerate(players)) {
    if (player.hasEnded())
      continue;
    auto [task, missing] = *player.findMissing(done, pipeline.stages());
    // What an earlier list position should have done is an order error of this
    // rank; what another rank holds back is a deadlock.
    if (pipeline.rankOf[missing.stage] == static_cast<int64_t>(rank))
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
  std::vector<Player> players = playersOf(order);
  llvm::DenseMap<uint64_t, int64_t> position;
  TaskSet done;
  auto ageOf = [&](const Player &player) { // since when it could go on
    int64_t age = 0;
    for (Task task : player.now())
      for (const AnyTask &need : needsOf(task, stages))
        for (Task needed : need)
          if (auto it = position.find(keyOf(needed)); it != position.end())
            age = std::max(age, it->second + 1);
    return age;
  };
  while (true) {
    Player *best = nullptr;
    int64_t newest = -1;
    for (Player &player : players)
      if (player.isReady(done, stages))
        if (int64_t age = ageOf(player); age > newest) {
          best = &player;
          newest = age;
        }
    if (!best)
      return merged;
    for (Task task : best->go(done)) {
      position[keyOf(task)] = merged.size();
      merged.push_back(task);
    }
  }
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// The message that carries on what a task has left, where the neighbour that needs it is on
/// another rank: as it is sent and as it is received.
static std::optional<std::pair<Task, Task>> messageOf(Task task, ArrayRef<int32_t> rankOf) {
  auto [kind, s, m, together] = task;
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
  std::vector<Player> players = playersOf(order);
  std::vector<RankOrder> programs(order.size());
  TaskSet done;
  for (bool moved = true; moved;) {
    moved = false;
    for (auto [rank, player] : llvm::enumerate(players)) {
      if (!player.isReady(done, pipeline.stages()))
        continue;
      moved = true;
      ArrayRef<Task> tasks = player.go(done);
      llvm::append_range(programs[rank], tasks);
      for (Task task : tasks)
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
