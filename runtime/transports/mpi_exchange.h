//===- mpi_exchange.h - messages in flight, and waits for them -----------===//
//
// Posts messages of bytes in batches, and looks for those that are done. A rank that waits does so
// by looking, with a limit on the time without progress.
//
// Decision: what a rank waits for, and its last collective, may be read by another thread at any
// time. So when a launcher ends this rank because another one died, it still says whom it missed,
// or where it was.
//
// Decision: a rank that misses another one for too long calls the roll. All ranks that wait answer
// for whom they wait. A rank that is missed and does not answer is named, beside the one that this
// rank waits for, which itself may only wait.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_TRANSPORTS_MPI_EXCHANGE_H
#define TPLAN_RUNTIME_TRANSPORTS_MPI_EXCHANGE_H

#include "runtime/libraries/mpi_library.h"
#include "runtime/ranks/transport.h"
#include "runtime/support/profile.h"
#include "runtime/transports/mpi_notes.h"

#include <atomic>
#include <mutex>

namespace tplan::runtime {

/// A collective, as messages name it.
struct NamedCollective {
  int32_t kind;
  const tp_call *call; // null: of the runtime itself
  const Communicator *group;
  TaskPlace task;
};

/// What one communicator has under way.
struct MpiFlight {
  static constexpr int batches = 3;
  enum Side { receiving, sending };
  struct Pending {
    std::atomic<int> all{0};
    std::unique_ptr<std::atomic<int>[]> of; // each member
  };

  explicit MpiFlight(int members) {
    for (auto &sides : pending)
      for (Pending &side : sides)
        side.of = std::make_unique<std::atomic<int>[]>(members);
  }
  /// Whether no message of the batch is in flight on this side; else that is what it waits for.
  bool isOver(int batch, Side side) {
    waitingSide = side;
    waitingFor = &pending[batch][side];
    return pending[batch][side].all == 0;
  }

  MpiLibrary::Comm comm = nullptr;
  NamedCollective what = {};
  Pending pending[batches][2]; // messages, by side
  std::atomic<const Pending *> waitingFor{nullptr};
  std::atomic<Side> waitingSide{receiving};
};

class MpiExchange : public Waiting {
public:
  static constexpr int batches = MpiFlight::batches;
  using Side = MpiFlight::Side;

  /// MPI is called with the lock `entry` held.
  MpiExchange(const MpiLibrary &mpi, int rank, double hangLimit, std::recursive_mutex &entry)
      : notes(mpi, hangLimit, entry), mpi(mpi), rank(rank), hangLimit(hangLimit), entry(entry) {}

  /// Room for so many messages in flight, before the first use among so many ranks.
  void reserve(int ranks, int64_t messages);
  /// Ends the waits of all: the text of the rank that failed, through a communicator that carries
  /// nothing else.
  void listen(MpiLibrary::Comm notices) { this->notices = notices; }
  void tell(const std::string &failure, int ranks);
  /// On this side, nothing is in flight any longer.
  void cancel();

  /// Operations begin; messages name `first`.
  void begin(MpiFlight &flight, const Operation &first, const Communicator &group);
  Status send(MpiFlight &flight, int to, const char *data, int64_t bytes, int batch);
  Status receive(MpiFlight &flight, int from, char *data, int64_t bytes, int batch);
  /// Looks once at all that is in flight: how many messages are done.
  Status poll(int &ended);
  /// The rank waits for these operations, or (null) no longer for any.
  void attend(const MpiFlight *flight);
  /// Waits for a moment after a look that found nothing; see Communicator::rest.
  Status rest(Patience &patience);
  void end(MpiFlight &flight);
  /// A communicator is gone, and is no longer named.
  void forget(const Communicator &group);

  /// Whether the rank that this one waits for has not come within the limit.
  bool hung() const { return tooLate; }

  // May be called by any thread.
  void describe(char *text, size_t size) const override;
  bool waits() const override { return attended || notes.waiting(); }
  uint32_t progress() const override { return moved + notes.progress(); }
  void wonder() const override { wondering = true; }
  bool isAnswered() const override;

  MpiNotes notes;

private:
  struct InFlight {
    MpiFlight *of;
    int member, batch;
    Side side;
  };
  Status add(MpiLibrary::Request request, InFlight what);
  Status late(double seconds);
  /// Reads the answers that came, and answers the first caller.
  Status hearRoll();
  void callRoll();
  void miss(int rank);
  bool isSilent(int rank) const { return states[rank] == missed; }
  int countSilent() const;
  double secondsSinceCall() const; // of the roll
  /// Whether this rank waits for a rank that does not answer, or, with false, for one that does.
  bool misses(bool silent) const;
  /// An error where another rank has reported one of its own.
  Status hear();

  const MpiLibrary &mpi;
  const int rank;
  const double hangLimit;
  std::recursive_mutex &entry;
  std::vector<MpiLibrary::Request> requests;
  std::vector<InFlight> inFlight; // of each request
  std::vector<int> finished;      // by MPI_Testsome
  bool tooLate = false;
  MpiLibrary::Comm notices = nullptr; // null: a rank that fails ends its process
  static constexpr int noticeBytes = 1024;
  char notice[noticeBytes] = "";
  bool heard = false;
  double looked = monotonicSeconds(); // for notes
  double unheard = 0, back = 0;       // its last long time without a look, and the end of it

  /// What the roll knows of a rank: nothing; somebody waits for it; it has answered.
  enum State : uint8_t { unknown, missed, answered };
  std::unique_ptr<std::atomic<State>[]> states; // by rank
  int ranks = 0;
  static constexpr int listed = 16; // ranks, at most, in one list
  struct Answer {                   // a rank that answers, and for whom it waits
    int32_t rank, count, missing[listed];
  } answer = {};
  std::atomic<double> called{0};    // when this rank has answered, or asked; 0: it has not
  std::atomic<double> silentFor{0}; // how many seconds others called while this rank was elsewhere
  mutable std::atomic<bool> wondering{false};

  // Read by other threads, the names under the lock.
  mutable std::mutex lock;
  std::atomic<uint32_t> moved{0}; // begins, ends, and messages that are done
  std::atomic<const MpiFlight *> attended{nullptr};
  NamedCollective last = {}; // of a line of the plan
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRANSPORTS_MPI_EXCHANGE_H
