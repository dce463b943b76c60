//===- Simulate.cpp - how long an order takes, and what it keeps -----------------===//
#include "lib/Pipeline/Simulate.h"
#include "llvm/ADT/STLExtras.h"
#include <deque>
#include <map>

using namespace tplan;
using namespace tplan::pipeline;

namespace {
/// From one rank to another: messages that are started go in the order of their sends.
struct Channel {
  std::deque<Task> sends; // that have been started, and whose end is not known
  double free = 0;
};

class Simulator {
public:
  Simulator(const Orders &orders, const Pipeline &pipeline, const Costs &costs)
      : orders(orders), pipeline(pipeline), costs(costs), endOf(pipeline, -1.0),
        postedAt(pipeline, -1.0), isStarted(pipeline, false), next(orders.size(), 0),
        freeAt(orders.size(), 0), ahead(pipeline, {}), aheadFree(orders.size(), 0) {
    result.tasks.resize(orders.size());
    result.busy.assign(orders.size(), 0);
    result.besideWaits = result.delays = result.busy;
    result.messages.resize(orders.size());
    result.ahead.resize(orders.size());
    for (const RankOrder &order : orders)
      for (Task task : order)
        if (std::optional<TaskKind> message = sched::awaitedBy(task.kind))
          isStarted[{*message, task.stage, task.microbatch}] = true;
    for (const RankOrder &order : orders)
      for (Task task : order) {
        first.try_emplace({task.kind, task.stage}, task.microbatch);
        last[{task.kind, task.stage}] = task.microbatch;
      }
  }

  Simulation run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t rank = 0; rank < orders.size(); ++rank)
        while (doNext(rank))
          moved = true;
    }
    double busy = 0;
    for (size_t rank = 0; rank < orders.size(); ++rank) {
      const std::vector<Timed> &tasks = result.tasks[rank];
      result.makespan = std::max(result.makespan, freeAt[rank]);
      result.idleInside.push_back(
          tasks.empty() ? 0 : freeAt[rank] - tasks.front().begin - result.busy[rank]);
      busy += result.busy[rank];
    }
    result.ends = freeAt;
    if (result.makespan > 0)
      result.bubbleRatio = 1 - busy / (static_cast<double>(orders.size()) * result.makespan);
    return std::move(result);
  }

private:
  const Orders &orders;
  const Pipeline &pipeline;
  const Costs &costs;
  TaskTable<double> endOf, postedAt;                           // or -1
  TaskTable<char> isStarted;                                   // messages
  std::map<std::pair<int32_t, int32_t>, Channel> channels;     // by its ranks
  std::map<std::pair<TaskKind, int32_t>, int32_t> first, last; // microbatches of such tasks
  std::vector<size_t> next;
  std::vector<double> freeAt;
  /// What was started for a task, and when that is done.
  struct Ahead {
    double seconds = 0, delay = 0, until = -1;
  };
  TaskTable<Ahead> ahead;
  std::vector<double> aheadFree; // by rank: when all that was started is done
  Simulation result;

  /// From the end of a task to where the rank of one that needs it has its result.
  double secondsBetween(Task made, Task by) const {
    if (pipeline.rankOf(made.stage) == pipeline.rankOf(by.stage))
      return 0;
    TaskKind sends = made.kind == TaskKind::F ? TaskKind::SendF : TaskKind::SendB;
    return costs.task(sends, made.stage) + costs.message(made.stage, by.stage) +
           costs.task(sched::factsOf(sends).otherEnd, by.stage);
  }

  /// When what a task needs is on its rank; nothing where that is not known yet.
  std::optional<double> readyAt(Task task) const {
    double ready = 0;
    for (const sched::AnyTask &needed : pipeline.needsOf(task)) {
      auto made = llvm::find_if(needed, [&](Task each) { return endOf[each] >= 0; });
      if (made == needed.end())
        return std::nullopt;
      ready = std::max(ready, endOf[*made] + secondsBetween(*made, task));
    }
    return ready;
  }

  /// The other end of a message, and from which stage to which it goes.
  struct Message {
    Task other;
    int32_t from, to;
  };
  Message messageOf(Task task) const {
    const sched::TaskFacts &facts = sched::factsOf(task.kind);
    int32_t peer = sched::peerOf(task, pipeline.before(task.stage), pipeline.after(task.stage));
    return {{facts.otherEnd, peer, task.microbatch},
            facts.sends ? task.stage : peer,
            facts.sends ? peer : task.stage};
  }

  bool doMessage(size_t rank, Task task) {
    Message message = messageOf(task);
    bool sends = sched::factsOf(task.kind).sends;
    double own = secondsOf(task);
    startAhead(rank, task);
    postedAt[task] = freeAt[rank] + (sends ? own : 0);
    if (isStarted[task]) {
      freeAt[rank] = postedAt[task];
      if (sends)
        channelOf(message).sends.push_back(task);
      return ++next[rank];
    }
    if (postedAt[message.other] < 0)
      return false;
    double begin = std::max(postedAt[task], postedAt[message.other]),
           end = begin + costs.message(message.from, message.to);
    if (sends)
      result.messages[rank][pipeline.rankOf(message.to)].push_back({task, begin, end});
    freeAt[rank] = endOf[task] = end + (sends ? 0 : own);
    return ++next[rank];
  }

  Channel &channelOf(const Message &message) {
    return channels[{pipeline.rankOf(message.from), pipeline.rankOf(message.to)}];
  }

  /// When the messages of a channel have come of which both ends have been posted.
  void deliver(Channel &channel) {
    while (!channel.sends.empty()) {
      Task send = channel.sends.front();
      Message message = messageOf(send);
      if (postedAt[message.other] < 0)
        return;
      double begin = std::max({channel.free, postedAt[send], postedAt[message.other]});
      channel.free = begin + costs.message(message.from, message.to);
      result.messages[pipeline.rankOf(message.from)][pipeline.rankOf(message.to)].push_back(
          {send, begin, channel.free});
      endOf[send] = endOf[message.other] = channel.free;
      channel.sends.pop_front();
    }
  }

  /// What a rank starts with a message, or the await of one, before it waits for that.
  void startAhead(size_t rank, Task with) {
    std::optional<Costs::Ahead> its = costs.ahead ? costs.ahead(with) : std::nullopt;
    if (!its || ahead[its->task].until >= 0) // it has asked for the message before
      return;
    double begin = std::max(aheadFree[rank], freeAt[rank]);
    aheadFree[rank] = begin + its->seconds;
    ahead[its->task] = {its->seconds, its->delay, aheadFree[rank]};
    result.ahead[rank].push_back({its->task, begin, aheadFree[rank]});
  }

  /// How much longer a task takes that begins then, and what was started for it is not done: what
  /// is left of that shifts all that comes after it on its stream.
  double delay(size_t rank, Task task, double begin) {
    const Ahead &its = ahead[task];
    double done = its.seconds - std::clamp(its.until - begin, 0.0, its.seconds);
    double longer = std::max(0.0, its.delay - done);
    result.besideWaits[rank] += done;
    result.delays[rank] += longer;
    return longer;
  }

  bool doAwait(size_t rank, Task await, TaskKind kind) {
    Task task = {kind, await.stage, await.microbatch};
    deliver(channelOf(messageOf(task)));
    if (endOf[task] < 0)
      return false;
    startAhead(rank, await);
    freeAt[rank] = endOf[await] = std::max(freeAt[rank], endOf[task]) + secondsOf(await);
    return ++next[rank];
  }

  double secondsOf(Task task) const {
    auto more = [&](const auto &cost, const auto &microbatches) {
      bool isIt = cost && microbatches.at({task.kind, task.stage}) == task.microbatch;
      return isIt ? cost(task.kind, task.stage) : 0;
    };
    return costs.task(task.kind, task.stage) + more(costs.first, first) + more(costs.last, last);
  }

  bool doNext(size_t rank) {
    if (next[rank] >= orders[rank].size())
      return false;
    if (Task task = orders[rank][next[rank]]; auto message = sched::awaitedBy(task.kind))
      return doAwait(rank, task, *message);
    if (Task task = orders[rank][next[rank]]; sched::isMessage(task.kind))
      return doMessage(rank, task);
    llvm::ArrayRef<Task> tasks = sched::tasksAt(orders[rank], next[rank]);
    double begin = freeAt[rank], takes = 0;
    for (Task task : tasks) {
      std::optional<double> ready = readyAt(task);
      if (!ready)
        return false;
      begin = std::max(begin, *ready);
      takes += secondsOf(task);
    }
    if (costs.pair && tasks.size() == 2)
      takes = costs.pair(tasks.front()).value_or(takes);
    for (Task task : tasks)
      takes += delay(rank, task, begin);
    for (Task task : tasks) {
      result.tasks[rank].push_back({task, begin, begin + takes});
      endOf[task] = begin + takes;
    }
    next[rank] += tasks.size();
    result.busy[rank] += takes;
    freeAt[rank] = begin + takes;
    return true;
  }
};
} // namespace

Simulation tplan::pipeline::simulate(const Orders &orders, const Pipeline &pipeline,
                                     const Costs &costs) {
  return Simulator(orders, pipeline, costs).run();
}

std::vector<int64_t> tplan::pipeline::countKept(const Orders &orders, KeptUntil until) {
  TaskKind last = until == KeptUntil::Weights ? TaskKind::W : TaskKind::I;
  std::vector<int64_t> most;
  for (const RankOrder &order : orders) {
    int64_t kept = 0, peak = 0;
    for (size_t i = 0; i < order.size(); i += sched::tasksAt(order, i).size()) {
      llvm::ArrayRef<Task> tasks = sched::tasksAt(order, i);
      kept += llvm::count_if(tasks, [](Task t) { return t.kind == TaskKind::F; });
      peak = std::max(peak, kept);
      kept -=
          llvm::count_if(tasks, [&](Task t) { return t.kind == TaskKind::B || t.kind == last; });
    }
    most.push_back(peak);
  }
  return most;
}
