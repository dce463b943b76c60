//===- transport.h - how bytes get from rank to rank ----------------------===//
//
// One interface for ranks that are threads of a process, processes under MPI, and processes over
// NCCL, and a recorder around any of them (--audit-collectives).
//
// Decisions: all communicators are made before the first step, by splitting the world, so that
// nothing is created lazily in an order that ranks may not share. On a device operations are issued
// to a stream and may still run when `issue` returns: their errors come while the host waits for
// the device (Device::watch). In the memory of the host the stream is null and they are done.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_RANKS_TRANSPORT_H
#define TPLAN_RUNTIME_RANKS_TRANSPORT_H

#include "runtime/device/device.h"
#include "runtime/ranks/mesh.h"
#include "runtime/ranks/notes.h"
#include "runtime/support/bell.h"
#include "runtime/support/status.h"
#include "runtime/support/team.h"
#include "tplan/collectives.h"

#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tplan::runtime {

/// What a rank works on, where stages lie on several ranks; for messages.
struct TaskPlace {
  int64_t stage = -1, microbatch = -1;
  auto operator<=>(const TaskPlace &) const = default;
  /// " (stage 1, microbatch 3)", or nothing.
  std::string text() const;
};

/// One collective with its memory, as a rank sees it.
struct Operation {
  const tp_collective *what;
  const void *in;
  void *out;
  const tp_call *call; // for messages; or null
  TaskPlace task = {};
};

/// How long a rank has waited without any progress.
struct Patience {
  int idle = 0;       // looks that found nothing
  double since = 0;   // when it began to look at the clock
  uint32_t heard = 0; // of the transport's bell, before the last look
};

/// What became of operations under way.
enum class Advance { nothing, moved, done };

/// Bytes of a rank by kind of collective, counted where they are moved.
struct Traffic {
  using Bytes = std::array<int64_t, TP_COLLECTIVE_KINDS>;
  Bytes sent = {};   // to other ranks
  Bytes staged = {}; // copied into and out of buffers of the transport
};

/// The ranks of a group, seen from one of them.
class Communicator {
public:
  explicit Communicator(Members members) : group(std::move(members)) {}
  virtual ~Communicator() = default;
  int size() const { return (int)group.ranks.size(); }
  int member() const { return group.self; }
  /// Rank in the world of each member.
  const std::vector<int> &members() const { return group.ranks; }
  const std::string &name() const { return group.name; }

  /// Starts operations of this group, together. All members issue the same ones in one order.
  virtual Status issue(std::span<const Operation> operations, Team &team, Stream *stream) = 0;

  // Messages on a device that nobody waits for where they are issued.
  /// Starts them; the event of the device is for `settle` alone, which is called once for it.
  virtual Status start(std::span<const Operation> operations, Team &team, Stream stream,
                       int64_t event);
  /// What follows in a stream waits until they have come.
  virtual Status settle(Stream stream, int64_t event);

  // The same without waiting, in the memory of the host. One list at a time is under way.
  /// Starts operations; the list must stay where it is until they are done.
  virtual Status begin(std::span<const Operation> operations);
  /// Does what can be done by now.
  virtual Status advance(Team &team, Advance &how);
  /// The rank has nothing else to do until they are done, or no longer; for messages.
  virtual void attend(bool) {}
  /// Waits for a moment: called by the thread that attends, after each `advance` without progress.
  /// An error where there has been none for too long, or another rank has failed.
  virtual Status rest(Patience &patience);

  /// Traffic of this rank over it so far.
  virtual Traffic traffic() const = 0;

  // For the runtime's own needs, outside the step. They return when done, and wait ten times
  // as long as a collective of a step: a rank may be writing a checkpoint meanwhile.
  Status barrier();
  /// `bytes` of the member `root` to all.
  virtual Status broadcast(void *data, int64_t bytes, int root);
  /// Sums over the members in order of their numbers.
  virtual Status sum(double *values, int64_t count, Team &team);

protected:
  Members group;
  /// Refuses operations that make no sense, and those that begin while others are under way.
  Status checkStart(std::span<const Operation> operations, bool isUnderWay) const;

private:
  std::vector<int32_t> source; // of a broadcast
};

/// What connects a rank to the others. `world` holds all ranks, rank r as member r.
class Transport {
public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual Communicator &world() = 0;
  /// The device of this rank and its arena, where it has one; before `connect`.
  virtual void attach(Device &, char *, int64_t) {}
  /// Called when the device ends, after all groups have ended.
  virtual void detach() {}
  /// Makes the communicators of a program's groups, all at once; called by every rank. They live no
  /// longer than the transport. Where this rank is no member of a group, the entry is null.
  virtual Status connect(const tp_program &program,
                         std::vector<std::unique_ptr<Communicator>> &groups) = 0;
  /// This rank has failed: the others must not wait for it. Called once, and before memory that
  /// others may read is given back. Ranks that are processes end here.
  virtual void abort(const Status &why) = 0;
  /// The collective that this rank left because another one had failed, for messages; or empty.
  virtual std::string left() const { return {}; }
  /// The last collective of a line of the plan that a rank of this process came to, for messages;
  /// or empty.
  virtual std::string lastOf(int) const { return {}; }
  /// Bytes of the transport's own buffers.
  virtual int64_t bytes() const { return 0; }
  /// Traffic of this rank so far.
  virtual Traffic traffic() const = 0;
  int64_t bytesSent() const;
  /// Whether its operations on a device may be part of a graph.
  virtual bool capturable() const { return false; }
  /// Whether a graph of its operations may be loaded before it is launched.
  virtual bool loadsGraphs() const { return true; }
  /// Whether the runtime's own exchanges take another way than operations, and are not counted.
  virtual bool hostApart() const { return false; }
  /// Whether messages go through buffers of the transport, as `tp_mpi_bytes_staged` says.
  virtual bool stages() const { return false; }

  /// Where ranks are processes: the notes that they exchange beside collectives, and what this one
  /// waits for.
  virtual Notes *notes() { return nullptr; }
  virtual const Waiting *waiting() const { return nullptr; }

  /// Rung where operations under way may have progress; null: that is to be looked for.
  virtual Bell *bell() { return nullptr; }
  /// Whether ranks read each other's memory, so that a rank which fails finishes what all have
  /// begun.
  virtual bool sharesMemory() const { return false; }
  /// Whether a second thread may go on with operations.
  virtual bool takesThreads() const { return true; }

  /// What the rank is doing, for logs.
  const char *activity = "set-up";
};

/// Names what a rank does while the object lives; without a transport it does nothing.
class Activity {
public:
  Activity(Transport *transport, const char *name) : transport(transport) {
    if (transport)
      before = std::exchange(transport->activity, name);
  }
  ~Activity() {
    if (transport)
      transport->activity = before;
  }
  Activity(const Activity &) = delete;

private:
  Transport *transport;
  const char *before = nullptr;
};

/// "all-reduce over 'dp' of x.tplan:12", for messages.
std::string describe(const Operation &operation, const std::string &group);

/// Seconds that a collective of a step waits for others without any progress.
inline constexpr double defaultHangLimit = 60;
/// The limit that the variable TPLAN_HANG_LIMIT sets, else the default.
Status readHangLimit(double &seconds);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RANKS_TRANSPORT_H
