//===- embed_ranks.h - the ranks of a training in a host's program --------===//
//
// Our threads, one for each rank, wait for the work that the host's calls give them; under a
// communicator of the host's the calling thread is the one rank.
//
// One decision: all ranks do each piece of work, and a call ends when all have done it: so no call
// reads the memory of a rank that another call has ended, and the first error is that of the call.
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_TRAIN_EMBED_RANKS_H
#define TPLAN_RUNTIME_TRAIN_EMBED_RANKS_H

#include "runtime/train/session.h"

#include <condition_variable>
#include <mutex>
#include <optional>

#include <pthread.h>

namespace tplan::runtime {

/// Rows of a step in memory of the host: those of all ranks, of which this one takes its own.
class HostRows : public RowSource {
public:
  /// rows[rowsPerStep][length]; it must stay until the step is done.
  const int32_t *from = nullptr;
  int64_t length = 0;

  Status fill(tp_rank &rank, uint64_t seed, int64_t step) override;
  int64_t tokens() const override { return 0; }
};

struct EmbeddedRank {
  Seat seat;
  std::unique_ptr<Transport> transport; // null: a rank alone
  tp_rank rank;
  HostRows rows;
  std::optional<Session> session;
};

class EmbeddedRanks {
public:
  ~EmbeddedRanks();

  /// Starts the ranks. A null transport: one rank alone. With `onCaller` there is one rank, and no
  /// thread.
  Status start(std::vector<std::unique_ptr<Transport>> transports, bool onCaller,
               bool readsEnvironment);
  int size() const { return (int)members.size(); }
  EmbeddedRank &leader() { return *members[0]->rank; }

  /// Calls the function on each rank's thread. For an error, `together` says whether every rank
  /// found it and is as it was before.
  Status each(const std::function<Status(EmbeddedRank &)> &work, bool &together);

private:
  struct Member {
    EmbeddedRanks *all;
    std::unique_ptr<EmbeddedRank> rank;
    pthread_t thread;
    int64_t done = 0; // pieces of work
  };
  void serve(Member &member);
  void work(Member &member);
  void end();

  std::vector<std::unique_ptr<Member>> members;
  bool hasThreads = false, closedEnvironment = true;
  int threads = 0; // that were started
  std::mutex mutex;
  std::condition_variable begun, ended;
  const std::function<Status(EmbeddedRank &)> *current = nullptr; // null in a new round: the end
  int64_t round = 0;
  int left = 0;       // ranks that are still at work
  Status first;       // error of the round
  bool alike = false; // whether all ranks have that error
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRAIN_EMBED_RANKS_H
