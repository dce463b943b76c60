//===- PlaceMessages.cpp - when ranks send and receive ----------------------===//
//
// Plays the orders of all ranks in time, with a backward that takes as long as two forwards. A rank
// that has done a task whose result goes to another rank sends it before anything else. All
// messages have one order, that of their times, and each rank has its own in this order.
//
// A message that is not started keeps both ranks: the other one takes it once it has done the task
// that it is at. So no rank waits for ever, not even where a send blocks until it is received.
//
// A message that is started keeps nobody. The other rank has posted its receive before the task
// that it is at, or earlier, when the last message of the channel had come, and awaits it before
// the task that reads it. The sender awaits its send after the next one of the channel has been
// posted, so two are under way at most. Where one task ends and the next one begins, a rank first
// posts, then awaits. So what an await waits for has been posted at its time or earlier, and no
// rank waits for ever.
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
#include <utility>

using namespace tplan;
using namespace tplan::pipeline;

namespace {

/// A send that is under way to a rank.
struct Flight {
  Task send;
  size_t to;
};

struct Rank {
  llvm::ArrayRef<Task> tasks;
  size_t next = 0;
  double free = 0;       // when it has done its last task or message
  bool isChanged = true; // since `ready` was found: it has done something, or something has come
  std::optional<double> ready;
  std::deque<Task> sends; // tasks whose results are to go
  // Where messages are started:
  std::vector<Flight> flights;
  size_t boundary =
      0; // where in its program what belongs to its last task, or pair of them, begins
};

class MessagePlacer {
public:
  MessagePlacer(const Orders &orders, const Pipeline &pipeline, Messages messages)
      : pipeline(pipeline), isStarted(messages == Messages::Started), programs(orders.size()),
        arrived(pipeline, -1.0) {
    for (const RankOrder &tasks : orders)
      ranks.emplace_back().tasks = tasks;
  }

  Orders place() {
    while (std::optional<Event> event = findNext()) {
      if (event->isTask)
        doTask(event->rank, event->at);
      else if (isStarted)
        startMessage(event->rank, event->at);
      else
        send(event->rank, event->at);
    }
    for (auto [number, rank] : llvm::enumerate(ranks))
      awaitSends(number, [](const Flight &) { return true; });
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
  const bool isStarted;
  std::vector<Rank> ranks;
  Orders programs;
  TaskTable<double> arrived; // when what a task has made is where it is needed; or -1
  const Costs costs = UnitCosts();

  /// The rank that takes what a task has made, if it is another one.
  std::optional<size_t> receiverOf(Task task) const {
    int32_t to = pipeline.receiverOf({task.kind, task.stage, task.microbatch});
    if (to < 0 || pipeline.rankOf(to) == pipeline.rankOf(task.stage))
      return std::nullopt;
    return pipeline.rankOf(to);
  }
  static Task sendOf(Task made) {
    return {made.kind == TaskKind::F ? TaskKind::SendF : TaskKind::SendB, made.stage,
            made.microbatch};
  }
  Task receiveOf(Task made) const {
    return {sched::factsOf(sendOf(made).kind).otherEnd,
            pipeline.receiverOf({made.kind, made.stage, made.microbatch}), made.microbatch};
  }

  /// When a rank that has sent everything has what its next tasks need; nothing where it has not.
  std::optional<double> readyAt(const Rank &rank) const {
    if (rank.next >= rank.tasks.size())
      return std::nullopt;
    double ready = rank.free;
    for (Task task : sched::tasksAt(rank.tasks, rank.next))
      for (const sched::AnyTask &need : pipeline.needsOf(task)) {
        auto made = llvm::find_if(need, [&](Task each) { return arrived[each] >= 0; });
        if (made == need.end())
          return std::nullopt;
        ready = std::max(ready, arrived[*made]);
      }
    return ready;
  }

  /// The earliest task or message that can begin; messages first.
  std::optional<Event> findNext() {
    std::optional<Event> first;
    for (auto [i, rank] : llvm::enumerate(ranks)) {
      std::optional<double> at = rank.free;
      bool isTask = rank.sends.empty();
      if (isTask && std::exchange(rank.isChanged, false))
        rank.ready = readyAt(rank);
      if (isTask)
        at = rank.ready;
      else if (!isStarted)
        at = std::max(rank.free, ranks[*receiverOf(rank.sends.front())].free);
      if (at && (!first || Event{*at, isTask, i} < *first))
        first = Event{*at, isTask, i};
    }
    return first;
  }

  void doTask(size_t number, double at) {
    Rank &rank = ranks[number];
    llvm::ArrayRef<Task> tasks = sched::tasksAt(rank.tasks, rank.next);
    if (isStarted)
      awaitBefore(number, tasks);
    rank.free = at;
    for (Task task : tasks) {
      programs[number].push_back(task);
      rank.free += costs.task(task.kind, task.stage);
    }
    for (Task task : tasks)
      if (receiverOf(task))
        rank.sends.push_back(task);
      else
        arrived[task] = rank.free;
    rank.next += tasks.size();
    rank.isChanged = true;
  }

  void send(size_t number, double at) {
    Task made = ranks[number].sends.front();
    ranks[number].sends.pop_front();
    size_t to = *receiverOf(made);
    programs[number].push_back(sendOf(made));
    programs[to].push_back(receiveOf(made));
    arrived[made] = at;
    ranks[number].free = ranks[to].free = at;
    ranks[number].isChanged = ranks[to].isChanged = true;
  }

  //===--------------------------------------------------------------------===//
  // Messages that are started
  //===--------------------------------------------------------------------===//

  void startMessage(size_t number, double at) {
    Rank &rank = ranks[number];
    Task made = rank.sends.front();
    rank.sends.pop_front();
    programs[number].push_back(sendOf(made));
    size_t to = *receiverOf(made);
    rank.flights.push_back({sendOf(made), to});
    // The receiver has posted it before the task that it is at, or has just done.
    Rank &receiver = ranks[to];
    bool isIdle = receiver.next == 0 || receiver.free < at;
    size_t place = isIdle ? programs[to].size() : receiver.boundary;
    place = std::min(place, afterLast(number, to, made.microbatch));
    place = std::max(place, afterPosts(number, to)); // a channel has one order
    place = afterSends(to, place, made.microbatch);
    insert(to, place, receiveOf(made));
    arrived[made] = at;
    receiver.isChanged = true;
  }

  void insert(size_t number, size_t place, Task task) {
    RankOrder &program = programs[number];
    program.insert(program.begin() + static_cast<ptrdiff_t>(place), task);
    ranks[number].boundary += place <= ranks[number].boundary;
  }

  /// Where the last message of a channel has come; the end, if it has not, or if the rank has sent
  /// something of the microbatch since then, or awaits it yet.
  size_t afterLast(size_t from, size_t to, int32_t microbatch) const {
    const RankOrder &program = programs[to];
    if (llvm::any_of(ranks[to].flights,
                     [&](const Flight &flight) { return flight.send.microbatch == microbatch; }))
      return program.size();
    for (size_t i = program.size(); i > 0; --i) {
      Task task = program[i - 1];
      std::optional<TaskKind> awaited = sched::awaitedBy(task.kind);
      task.kind = awaited.value_or(task.kind);
      if (isReceiveFrom(from, task))
        return awaited ? i : program.size();
      if (sched::isMessage(task.kind) && task.microbatch == microbatch &&
          sched::factsOf(task.kind).sends)
        return program.size();
    }
    return program.size();
  }

  /// Where the last message of a channel has been posted.
  size_t afterPosts(size_t from, size_t to) const {
    const RankOrder &program = programs[to];
    size_t place = program.size();
    while (place > 0 && !isReceiveFrom(from, program[place - 1]))
      --place;
    return place;
  }

  bool isReceiveFrom(size_t from, Task task) const {
    return sched::isMessage(task.kind) && !sched::factsOf(task.kind).sends &&
           senderOf(task) == static_cast<int32_t>(from);
  }
  int32_t senderOf(Task receive) const {
    return pipeline.rankOf(
        sched::peerOf(receive, pipeline.before(receive.stage), pipeline.after(receive.stage)));
  }

  /// A value that goes through a stage of another rank may come back to where it was sent from. So
  /// what a rank has sent of a microbatch is awaited before it receives more of it.
  size_t afterSends(size_t number, size_t place, int32_t microbatch) {
    RankOrder &program = programs[number];
    for (size_t i = program.size(); i > place; --i) {
      std::optional<TaskKind> awaited = sched::awaitedBy(program[i - 1].kind);
      if (awaited && sched::factsOf(*awaited).sends && program[i - 1].microbatch == microbatch)
        return afterSends(number, i, microbatch);
    }
    auto isOfIt = [&](const Flight &flight) { return flight.send.microbatch == microbatch; };
    for (const Flight &flight : ranks[number].flights)
      if (isOfIt(flight))
        insert(number, place++, sched::awaitOf(flight.send));
    llvm::erase_if(ranks[number].flights, isOfIt);
    return place;
  }

  void awaitSends(size_t number, llvm::function_ref<bool(const Flight &)> which) {
    for (const Flight &flight : ranks[number].flights)
      if (which(flight))
        programs[number].push_back(sched::awaitOf(flight.send));
    llvm::erase_if(ranks[number].flights, which);
  }

  /// What a rank awaits before tasks: what they read; sends after which it has sent something else
  /// to the same rank; and those whose values the tasks are the backward of, so that each
  /// microbatch has one order.
  void awaitBefore(size_t number, llvm::ArrayRef<Task> tasks) {
    Rank &rank = ranks[number];
    rank.boundary = programs[number].size();
    llvm::SmallDenseMap<size_t, Task> last; // by receiver
    for (const Flight &flight : rank.flights)
      last[flight.to] = flight.send;
    awaitSends(number, [&](const Flight &flight) {
      auto [kind, stage, microbatch, together] = flight.send;
      return last[flight.to] != flight.send || llvm::any_of(tasks, [&](Task task) {
               return kind == TaskKind::SendF && task.stage == stage &&
                      task.microbatch == microbatch;
             });
    });
    for (Task task : tasks)
      for (const sched::AnyTask &need : pipeline.needsOf(task)) {
        Task made = *llvm::find_if(need, [&](Task each) { return arrived[each] >= 0; });
        if (receiverOf(made) && pipeline.rankOf(made.stage) != static_cast<int32_t>(number))
          programs[number].push_back(sched::awaitOf(receiveOf(made)));
      }
  }
};
} // namespace

Orders pipeline::placeMessages(const Orders &orders, const Pipeline &pipeline, Messages messages) {
  return MessagePlacer(orders, pipeline, messages).place();
}
