//===- host_streams.h - what a rank on a CPU does beside its computing -------===//
//
// The streams of a rank without a device. Stream 0 is the rank itself, whose calls are done when
// they return. Streams 1, 2, ... hold collectives, each in the order in which they are issued, and
// events that say how far a stream has come.
//
// One decision: whoever has nothing else to do goes on with all streams. A communication thread
// does so while the rank computes; a rank that waits does it itself, so that no wait costs a change
// of threads. One of them works at a time.
//
// Nothing is allocated once a rank has started: a list of work that is full makes the rank wait.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_RANKS_HOST_STREAMS_H
#define TPLAN_RUNTIME_RANKS_HOST_STREAMS_H

#include "runtime/ranks/transport.h"

#include <atomic>
#include <mutex>

#include <pthread.h>

namespace tplan::runtime {

class HostStreams {
public:
  /// Collectives that are issued together, at most.
  static constexpr int64_t mostTogether = 128;

  HostStreams() = default;
  HostStreams(const HostStreams &) = delete;
  /// What all members have begun is done before it returns, because they read this rank's memory.
  ~HostStreams();

  /// `streams` includes stream 0. Without a thread of its own, streams go on where the rank waits.
  Status start(Transport &transport, Team &team, int64_t streams, int64_t events);

  /// Adds operations of one group, which are issued together, to the end of a stream. In stream 0
  /// they are done when this returns.
  Status issue(int64_t stream, Communicator &group, std::span<const Operation> operations);
  /// Records an event at the end of a stream; what is issued to another one after `wait` waits for
  /// the last record of the event that was made before.
  Status record(int64_t stream, int64_t event);
  Status wait(int64_t stream, int64_t event);
  /// Waits for all that has been issued.
  Status finish();
  /// Called by the rank between its calls: goes on with what is under way, if it is time. The
  /// thread may have to wait for the rank's core.
  void glance() {
    if (numLeft.load(std::memory_order_relaxed) > 0)
      lookIfItIsTime();
  }

  /// Seconds that the processor has spent on the communication thread.
  double threadSeconds() const;

private:
  struct Command {
    enum Kind { operations, record, wait } kind;
    Communicator *group = nullptr; // of operations
    uint32_t first = 0, count = 0,
             end = 0; // their place in the stream's list, and its count after them
    int64_t event = 0;
    uint64_t turn = 0; // of the event
  };
  /// Lists that the rank fills and whoever works empties; counters never fall.
  struct Stream {
    static constexpr uint32_t mostCommands = 256, mostOperations = 1024;
    std::vector<Command> commands = std::vector<Command>(mostCommands);
    std::vector<Operation> operations = std::vector<Operation>(mostOperations);
    uint32_t nextOperation = 0; // the rank's
    std::atomic<uint32_t> added{0}, done{0};
    std::atomic<uint32_t> operationsDone{0};
    bool hasBegun = false; // the first command that is not done
    bool isEmpty() const { return added == done; }
    const Command &first() const { return commands[done % mostCommands]; }
  };
  struct Event {
    uint64_t recorded = 0; // turns that the rank has issued
    int64_t stream = 0;    // of the last
    std::atomic<uint64_t> reached{0};
  };

  Status add(Stream &stream, const Command &command);
  Status beginFirst(Stream &stream);
  Status noted(Status status);
  /// Goes on with all streams as far as that needs no wait.
  Status look(Team &team, bool &moved);
  Status goOn(Stream &stream, Team &team, bool &moved);
  void lookIfItIsTime();
  /// Works until the condition holds; `attended` says which stream it waits for.
  template <typename Condition, typename Attended>
  Status work(Condition &&condition, Attended &&attended);
  Stream *blockerOf(int64_t event);
  Status startThread();
  void beTheThread();
  void finishBegun();
  bool isAllDone() const;
  void wakeThread();

  Transport *transport = nullptr;
  Team *team = nullptr;
  std::vector<Stream> streams;
  std::vector<Event> events;
  std::atomic<int64_t> numLeft{0}; // commands that are not done
  std::mutex lock;                 // of whoever works
  double looked = 0;               // the last time, by whoever works
  Status failure;                  // of the first that failed; guarded by the lock
  std::atomic<bool> failed{false}, rankWorks{false}, stops{false};
  Bell own;          // rung by the rank, for the thread where it has nothing to do
  Bell *bell = &own; // rung where there may be progress; the same where the transport has none
  pthread_t thread = {};
  bool hasThread = false;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RANKS_HOST_STREAMS_H
