//===- Check.cpp - is an order of tasks legal? ----------------------------------===//
//
// One decision: dependencies and deadlock are found by playing the order. Each rank is a process
// that does its list. The first task that cannot run at the end is the fault.
//
//===----------------------------------------------------------------------===//
#include "lib/Pipeline/Check.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace tplan;
using namespace tplan::pipeline;
using sched::AnyTask;
using sched::describe;

std::string Fault::where() const {
  std::string text = rank < 0 ? "" : "rank " + std::to_string(rank);
  return at.empty() ? text : text + (text.empty() ? "" : ", ") + at;
}

static Fault faultAt(llvm::StringRef rule, int32_t rank, Task task, const llvm::Twine &message) {
  return {rule.str(), message.str() + describe(task), rank, spell(task)};
}

namespace {
using Done = TaskTable<int64_t>; // the place in which it was done, or -1

/// A rank that does its list; tasks that are done together as one.
struct Player {
  llvm::ArrayRef<Task> tasks;
  const Pipeline &pipeline;
  size_t next = 0;

  bool hasEnded() const { return next >= tasks.size(); }
  llvm::ArrayRef<Task> now() const { return sched::tasksAt(tasks, next); }
  /// The first of those that come next for which something is missing, and that.
  std::optional<std::pair<Task, Task>> findMissing(const Done &done) const {
    for (Task task : now())
      for (const AnyTask &need : pipeline.needsOf(task))
        if (llvm::none_of(need, [&](Task each) { return done[each] >= 0; }))
          return std::pair(task, need.back());
    return std::nullopt;
  }
  bool isReady(const Done &done) const { return !hasEnded() && !findMissing(done); }
  llvm::ArrayRef<Task> go(Done &done, int64_t &place) {
    llvm::ArrayRef<Task> these = now();
    next += these.size();
    for (Task task : these)
      done[task] = place++;
    return these;
  }
};

std::vector<Player> playersOf(const Orders &orders, const Pipeline &pipeline) {
  std::vector<Player> players;
  for (const RankOrder &tasks : orders)
    players.push_back({tasks, pipeline});
  return players;
}
} // namespace

//===----------------------------------------------------------------------===//
// Complete
//===----------------------------------------------------------------------===//

/// Each task stands once, on its rank.
static std::optional<Fault> checkPlaces(const Orders &orders, const Pipeline &pipeline,
                                        Done &seen) {
  if (static_cast<int32_t>(orders.size()) != pipeline.ranks())
    return Fault{"ranks", "the order must have " + std::to_string(pipeline.ranks()) +
                              " ranks, found " + std::to_string(orders.size())};
  for (auto [rank, tasks] : llvm::enumerate(orders))
    for (const Task &task : tasks) {
      if (!pipeline.has(task.stage, task.microbatch) ||
          pipeline.rankOf(task.stage) != static_cast<int32_t>(rank))
        return faultAt("placement", rank, task,
                       "task stands in the list of rank " + llvm::Twine(rank) + ": ");
      if (seen[task] >= 0)
        return faultAt("twice", rank, task, "task is done twice: ");
      if (task.together && &task == &tasks.front())
        return faultAt("together", rank, task,
                       "there is no task before it that it is done together with: ");
      seen[task] = 0;
    }
  return std::nullopt;
}

static std::optional<Fault> checkComplete(const Orders &orders, const Pipeline &pipeline) {
  Done seen(pipeline, -1);
  if (std::optional<Fault> fault = checkPlaces(orders, pipeline, seen))
    return fault;
  for (int32_t s = 0; s < pipeline.stages(); ++s)
    for (int32_t m = pipeline.chainOf(s).begin; m < pipeline.chainOf(s).end; ++m) {
      auto has = [&](TaskKind kind) { return seen[{kind, s, m}] >= 0; };
      auto lacks = [&](TaskKind kind) {
        return faultAt("missing", pipeline.rankOf(s), {kind, s, m}, "task is missing: ");
      };
      if (!has(TaskKind::F))
        return lacks(TaskKind::F);
      if (has(TaskKind::B) && (has(TaskKind::I) || has(TaskKind::W)))
        return faultAt("twice", pipeline.rankOf(s), {TaskKind::B, s, m},
                       "backward is done both whole and in parts: ");
      if (has(TaskKind::I) != has(TaskKind::W))
        return lacks(has(TaskKind::I) ? TaskKind::W : TaskKind::I);
      if (!has(TaskKind::B) && !has(TaskKind::I))
        return lacks(TaskKind::B);
    }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// First in, first out
//===----------------------------------------------------------------------===//

/// The forward or backward tasks of a stage, in the order of its rank.
static std::vector<Task> tasksOf(const RankOrder &order, int32_t stage, bool backward) {
  std::vector<Task> list;
  for (Task task : order)
    if (task.stage == stage && (backward ? leavesCotangent(task.kind) : task.kind == TaskKind::F))
      list.push_back(task);
  return list;
}

/// Stages hand on microbatches in the order in which the next ones take them.
static std::optional<Fault> checkFifo(const Orders &orders, const Pipeline &pipeline) {
  for (bool backward : {false, true})
    for (int32_t from = 0; from < pipeline.stages(); ++from) {
      int32_t to = backward ? pipeline.before(from) : pipeline.after(from);
      if (to < 0)
        continue;
      std::vector<Task> sent = tasksOf(orders[pipeline.rankOf(from)], from, backward);
      std::vector<Task> taken = tasksOf(orders[pipeline.rankOf(to)], to, backward);
      auto [a, b] = std::mismatch(sent.begin(), sent.end(), taken.begin(),
                                  [](Task x, Task y) { return x.microbatch == y.microbatch; });
      if (a != sent.end())
        return faultAt("fifo", pipeline.rankOf(to), *b,
                       "stage " + llvm::Twine(from) + " sends microbatch " +
                           llvm::Twine(a->microbatch) + " where stage " + llvm::Twine(to) +
                           " receives another: ");
    }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Playing
//===----------------------------------------------------------------------===//

namespace {
struct Waiting {
  Task task, missing;
};
} // namespace

Ring pipeline::findRing(llvm::ArrayRef<int32_t> awaited) {
  auto waits = [&](int32_t rank) {
    return rank >= 0 && rank < static_cast<int32_t>(awaited.size()) && awaited[rank] >= 0;
  };
  int32_t rank = 0;
  while (rank < static_cast<int32_t>(awaited.size()) && !waits(rank))
    ++rank;
  Ring ring;
  while (waits(rank) && !llvm::is_contained(ring.ranks, rank)) {
    ring.ranks.push_back(rank);
    rank = awaited[rank];
  }
  ring.isClosed = waits(rank);
  if (!ring.ranks.empty())
    ring.ranks.erase(ring.ranks.begin(),
                     ring.isClosed ? llvm::find(ring.ranks, rank) : std::prev(ring.ranks.end()));
  return ring;
}

/// A backward that is needed, of the kind that the orders have.
static Task inOrders(Task missing, const Orders &orders, const Pipeline &pipeline) {
  Task whole = {TaskKind::B, missing.stage, missing.microbatch};
  bool isWhole = leavesCotangent(missing.kind) &&
                 llvm::any_of(orders[pipeline.rankOf(missing.stage)], [&](Task each) {
                   return each.kind == whole.kind && each.stage == whole.stage &&
                          each.microbatch == whole.microbatch;
                 });
  return isWhole ? whole : missing;
}

static std::optional<Fault> play(const Orders &orders, const Pipeline &pipeline) {
  std::vector<Player> players = playersOf(orders, pipeline);
  Done done(pipeline, -1);
  int64_t place = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (Player &player : players)
      while (player.isReady(done))
        moved = !player.go(done, place).empty();
  }
  std::vector<std::optional<Waiting>> waiting(players.size()); // the first of each rank
  for (auto [rank, player] : llvm::enumerate(players)) {
    if (player.hasEnded())
      continue;
    auto [task, needed] = *player.findMissing(done);
    Task missing = inOrders(needed, orders, pipeline);
    // What an earlier list position should have done is an order error of this rank; what another
    // rank holds back is a deadlock.
    if (pipeline.rankOf(missing.stage) == static_cast<int32_t>(rank))
      return faultAt("order", rank, task,
                     "task comes before " + describe(missing) + ", which it needs: ");
    waiting[rank] = {task, missing};
  }
  if (llvm::none_of(waiting, [](auto &each) { return each.has_value(); }))
    return std::nullopt;
  std::vector<int32_t> awaited;
  for (auto &each : waiting)
    awaited.push_back(each ? pipeline.rankOf(each->missing.stage) : -1);
  std::vector<int32_t> ring = findRing(awaited).ranks;
  Fault fault = faultAt("deadlock", ring.front(), waiting[ring.front()]->task,
                        "deadlock: ranks wait for each other at ");
  for (int32_t rank : ring)
    fault.notes.push_back("rank " + std::to_string(rank) + " waits in " +
                          describe(waiting[rank]->task) + " for " +
                          describe(waiting[rank]->missing));
  return fault;
}

std::optional<Fault> pipeline::checkOrders(const Orders &orders, const Pipeline &pipeline) {
  if (std::optional<Fault> fault = checkComplete(orders, pipeline))
    return fault;
  if (std::optional<Fault> fault = checkFifo(orders, pipeline))
    return fault;
  return play(orders, pipeline);
}

std::vector<Task> pipeline::mergeOrders(const Orders &orders, const Pipeline &pipeline) {
  std::vector<Task> merged;
  std::vector<Player> players = playersOf(orders, pipeline);
  Done done(pipeline, -1);
  int64_t place = 0;
  auto ageOf = [&](const Player &player) { // since when it could go on
    int64_t age = 0;
    for (Task task : player.now())
      for (const AnyTask &need : pipeline.needsOf(task))
        for (Task needed : need)
          age = std::max(age, done[needed] + 1);
    return age;
  };
  while (true) {
    Player *best = nullptr;
    int64_t newest = -1;
    for (Player &player : players)
      if (player.isReady(done))
        if (int64_t age = ageOf(player); age > newest) {
          best = &player;
          newest = age;
        }
    if (!best)
      return merged;
    llvm::append_range(merged, best->go(done, place));
  }
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

std::vector<Program> pipeline::programsOf(const Orders &withMessages, const Pipeline &pipeline) {
  TaskTable<char> inParts(pipeline, 0);
  for (const RankOrder &order : withMessages)
    for (Task task : order)
      if (task.kind == TaskKind::I)
        inParts[task] = 1;
  auto backwardOf = [&](int32_t stage, int32_t m) {
    Task input = {TaskKind::I, stage, m};
    return inParts[input] ? input : Task{TaskKind::B, stage, m};
  };
  std::vector<Program> programs;
  for (const RankOrder &order : withMessages) {
    Program program;
    for (size_t i = 0; i < order.size(); i += sched::tasksAt(order, i).size()) {
      auto [kind, stage, m, together] = order[i];
      if (!sched::isMessage(kind)) {
        program.push_back({sched::tasksAt(order, i).vec(), {}});
        continue;
      }
      const sched::TaskFacts &facts = sched::factsOf(kind);
      int32_t other = sched::peerOf(order[i], pipeline.before(stage), pipeline.after(stage));
      int32_t maker = facts.sends ? stage : other;
      Task made = facts.isForward ? Task{TaskKind::F, maker, m} : backwardOf(maker, m);
      program.push_back({{}, {{facts.sends, pipeline.rankOf(other), made}}});
    }
    programs.push_back(std::move(program));
  }
  return programs;
}

std::string pipeline::spell(const Message &message) {
  return (message.sends ? "S>" : "R<") + std::to_string(message.peer) + ":" + spell(message.made);
}
