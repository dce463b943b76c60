//===- Simulate.cpp - how long an order takes, and what it keeps -----------------===//
#include "lib/Pipeline/Simulate.h"
#include "llvm/ADT/STLExtras.h"

using namespace tplan;
using namespace tplan::pipeline;

namespace {
class Simulator {
public:
  Simulator(const Orders &orders, const Pipeline &pipeline, const Costs &costs)
      : orders(orders), pipeline(pipeline), costs(costs), endOf(pipeline, -1.0),
        postedAt(pipeline, -1.0), next(orders.size(), 0), freeAt(orders.size(), 0) {
    result.tasks.resize(orders.size());
    result.busy.assign(orders.size(), 0);
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
    if (result.makespan > 0)
      result.bubbleRatio = 1 - busy / (static_cast<double>(orders.size()) * result.makespan);
    return std::move(result);
  }

private:
  const Orders &orders;
  const Pipeline &pipeline;
  const Costs &costs;
  TaskTable<double> endOf, postedAt; // or -1
  std::vector<size_t> next;
  std::vector<double> freeAt;
  Simulation result;

  /// When what a task needs is on its rank; nothing where that is not known yet.
  std::optional<double> readyAt(Task task) const {
    double ready = 0;
    for (const sched::AnyTask &needed : pipeline.needsOf(task)) {
      auto made = llvm::find_if(needed, [&](Task each) { return endOf[each] >= 0; });
      if (made == needed.end())
        return std::nullopt;
      bool isMessage = pipeline.rankOf(made->stage) != pipeline.rankOf(task.stage);
      ready =
          std::max(ready, endOf[*made] + (isMessage ? costs.message(made->stage, task.stage) : 0));
    }
    return ready;
  }

  /// The other end of a message, and from which stage to which it goes.
  struct Message {
    Task other;
    int32_t from, to;
  };
  Message messageOf(Task task) const {
    int32_t s = task.stage, m = task.microbatch;
    switch (task.kind) {
    case TaskKind::SendF:
      return {{TaskKind::ReceiveF, pipeline.after(s), m}, s, pipeline.after(s)};
    case TaskKind::ReceiveF:
      return {{TaskKind::SendF, pipeline.before(s), m}, pipeline.before(s), s};
    case TaskKind::SendB:
      return {{TaskKind::ReceiveB, pipeline.before(s), m}, s, pipeline.before(s)};
    default:
      return {{TaskKind::SendB, pipeline.after(s), m}, pipeline.after(s), s};
    }
  }

  bool doMessage(size_t rank, Task task) {
    Message message = messageOf(task);
    postedAt[task] = freeAt[rank];
    if (postedAt[message.other] < 0)
      return false;
    freeAt[rank] = endOf[task] =
        std::max(postedAt[task], postedAt[message.other]) + costs.message(message.from, message.to);
    return ++next[rank];
  }

  bool doNext(size_t rank) {
    if (next[rank] >= orders[rank].size())
      return false;
    if (Task task = orders[rank][next[rank]]; sched::isMessage(task.kind))
      return doMessage(rank, task);
    llvm::ArrayRef<Task> tasks = sched::tasksAt(orders[rank], next[rank]);
    double begin = freeAt[rank], takes = 0;
    for (Task task : tasks) {
      std::optional<double> ready = readyAt(task);
      if (!ready)
        return false;
      begin = std::max(begin, *ready);
      takes += costs.task(task.kind, task.stage);
    }
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
