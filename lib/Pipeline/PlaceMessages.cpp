//===- PlaceMessages.cpp - when ranks send and receive ----------------------===//
//
// Plays the orders of all ranks in time, with a backward that takes as long as two forwards. A rank
// that has done a task whose result goes to another rank sends it before anything else; the other
// one takes it once it has done the task that it is at. All messages have one order, that of their
// times, and each rank has its own in this order. So no rank waits for ever, not even where a send
// blocks until it is received.
//
// One decision: a receive stands where the receiver is at rest, not where the sender sends. Before
// a backward that runs while its input's successor is still made, it would make the backward wait:
// 1F1B would take F + 2B for each microbatch instead of F + B.
//
//===----------------------------------------------------------------------===//
#include "lib/Pipeline/Check.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <deque>
#include <tuple>

using namespace tplan;
using namespace tplan::pipeline;

namespace {

struct Rank {
  llvm::ArrayRef<Task> tasks;
  size_t next = 0;
  double free = 0;        // when it has done its last task or message
  std::deque<Task> sends; // tasks whose results are to go
};

class MessagePlacer {
public:
  MessagePlacer(const Orders &orders, const Pipeline &pipeline)
      : pipeline(pipeline), programs(orders.size()), arrived(pipeline, false) {
    for (const RankOrder &tasks : orders)
      ranks.push_back({tasks, 0, 0, {}});
  }

  Orders place() {
    while (std::optional<Event> event = findNext()) {
      if (event->isTask)
        doTask(event->rank, event->at);
      else
        send(event->rank, event->at);
    }
    return std::move(programs);
  }

private:
  struct Event {
    double at;
    bool isTask;
    size_t rank;
    bool operator<(const Event &other) const {
      return std::tie(at, isTask, rank) < std::tie(other.at, other.isTask, other.rank);
    }
  };

  const Pipeline &pipeline;
  std::vector<Rank> ranks;
  Orders programs;
  TaskTable<char> arrived; // what a task has made is where it is needed
  const Costs costs = UnitCosts();

  /// The rank that takes what a task has made, if it is another one.
  std::optional<size_t> receiverOf(Task task) const {
    int32_t to = pipeline.receiverOf({task.kind, task.stage, task.microbatch});
    if (to < 0 || pipeline.rankOf(to) == pipeline.rankOf(task.stage))
      return std::nullopt;
    return pipeline.rankOf(to);
  }

  bool isReady(const Rank &rank) const {
    return rank.next < rank.tasks.size() && rank.sends.empty() &&
           llvm::all_of(
               sched::tasksAt(rank.tasks, rank.next),
               [&](Task task) {
                 return llvm::all_of(pipeline.needsOf(task), [&](const sched::AnyTask &need) {
                   return llvm::any_of(need, [&](Task each) { return arrived[each]; });
                 });
               });
  }

  /// The earliest task or message that can begin; messages first.
  std::optional<Event> findNext() const {
    std::optional<Event> first;
    for (auto [i, rank] : llvm::enumerate(ranks)) {
      Event event = {rank.free, true, i};
      if (!rank.sends.empty())
        event = {std::max(rank.free, ranks[*receiverOf(rank.sends.front())].free), false, i};
      else if (!isReady(rank))
        continue;
      if (!first || event < *first)
        first = event;
    }
    return first;
  }

  void doTask(size_t number, double at) {
    Rank &rank = ranks[number];
    rank.free = at;
    for (Task task : sched::tasksAt(rank.tasks, rank.next)) {
      programs[number].push_back(task);
      rank.free += costs.task(task.kind, task.stage);
      ++rank.next;
      if (receiverOf(task))
        rank.sends.push_back(task);
      else
        arrived[task] = true;
    }
  }

  void send(size_t number, double at) {
    Task made = ranks[number].sends.front();
    ranks[number].sends.pop_front();
    size_t to = *receiverOf(made);
    TaskKind sends = made.kind == TaskKind::F ? TaskKind::SendF : TaskKind::SendB;
    programs[number].push_back({sends, made.stage, made.microbatch});
    programs[to].push_back({sched::factsOf(sends).otherEnd,
                            pipeline.receiverOf({made.kind, made.stage, made.microbatch}),
                            made.microbatch});
    arrived[made] = true;
    ranks[number].free = ranks[to].free = at;
  }
};
} // namespace

Orders pipeline::placeMessages(const Orders &orders, const Pipeline &pipeline) {
  return MessagePlacer(orders, pipeline).place();
}
