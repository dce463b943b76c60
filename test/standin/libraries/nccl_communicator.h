//===- nccl_communicator.h - one rank's end of a communicator -----------------------===//
//
// It is made, split, finalised, and runs launches, each of which is a host function in a
// stream that waits for the other members there.
//
// Decision: what the library does in the background, where `blocking` is 0, is done here when the
// caller polls ncclCommGetAsyncError, and not before: a caller that does not poll finds that it was
// not done.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_NCCL_COMMUNICATOR_H
#define TPLAN_TEST_STANDIN_NCCL_COMMUNICATOR_H

#include "libraries.h"
#include "nccl_api.h"
#include "nccl_region.h"

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

namespace standin::nccl {

enum Kind { allReduce, reduceScatter, allGather, broadcast, send, receive };

struct Operation {
  Kind kind;
  const void *from;
  void *to;
  size_t count;
  int type;
  int reduction; // of collectives that reduce, else 0
  int peer;      // also the root of a broadcast

  bool isMessage() const { return kind >= send; }
};

/// One group's operations of one communicator, on their way through a stream.
struct Launch {
  Comm comm;
  void *stream;
  std::vector<Operation> operations;
  bool isKept; // for graphs that run it again
};

/// How a wait ended.
enum Outcome { met, wasAborted, hasFailed };

class Communicator {
public:
  /// `channels`: at most; `undefined` where the config does not say.
  Communicator(int ranks, int rank, int device, bool isBlocking, int channels, std::string name);

  // Its life. Each begins something; `progress` says how far it is.
  void join(const std::string &where);
  int split(int color, int key, Communicator *child);
  void finalize();
  /// inProgress, success, or the error that it has.
  int progress();
  /// Called after others have kept it in progress for too long.
  void giveUp();
  int destroy();
  void abort();

  /// The check before any use: success, or the status with a complaint.
  int checkUse(const char *function);

  int enqueue(std::unique_ptr<Launch> launch);
  /// In the stream.
  void run(Launch &launch);

  int fail(int result, const std::string &why);
  std::string self() const { return format("rank %d of '%s'", rank, name.c_str()); }

  int ranks, rank; // of a split, known when all have come to it
  const int device;
  const bool isBlocking;
  const int channels;
  const std::string name;
  std::atomic<int> users = 0;   // threads inside
  std::atomic<int> pending = 0; // launches that a stream has, without those of graphs
  void *stream = nullptr;       // the one that it was first used on
  bool hasStream = false;
  std::vector<std::unique_ptr<Launch>> deferred; // until the caller polls
  std::set<void *> registered;
  std::recursive_mutex lock; // between threads that poll and one that calls

private:
  enum Phase { fresh, joining, waitingForParent, splitting, ready, finalizing, ended, dead };

  int advance();
  int advanceJoin();
  int advanceSplit();
  int advanceFinalize();
  int launchDeferred();
  int checkPeers();
  int checkDevices();
  Header::Broken *findBroken() const;
  bool isBusy() const;
  std::string absentMembers() const;

  // In the stream (nccl_execute.cpp).
  Outcome wait(const std::function<bool()> &done, const std::function<std::string()> &forWhom);
  Outcome meet();
  Outcome late(const std::string &whom);
  bool check(const Description &mine);
  void collect(const Operation &operation, int place, int places);
  bool runCollective(const Operation &operation, const Description &mine);
  bool runMessages(const std::vector<Operation> &messages);
  void post(const std::string &what);
  std::string describe(const Description &it) const;
  void log(const Operation &operation, uint64_t number) const;
  void delay();

  std::atomic<Phase> phase = fresh;
  std::atomic<int> error = success;
  std::atomic<bool> isAborted = false;
  std::atomic<int> running = 0;
  std::shared_ptr<Region> region, family; // the family's is the first communicator's
  int familyRank = 0;
  uint64_t splitRound = 0;
  int color = 0, rendezvous = -1;                   // the file of a split that this rank made
  Communicator *child = nullptr, *parent = nullptr; // of the split under way
  int polls = 0;
  double lastLook = 0;
  Board::Line *line = nullptr; // while something runs

  uint64_t collectives = 0, executed = 0;
  std::map<std::pair<bool, int>, uint64_t> messages; // by direction and peer
  const Launch *current = nullptr;
};

/// Communicators that were made and not destroyed or aborted.
bool isLiving(Comm comm);
void setLiving(Comm comm, bool living);
/// Another communicator of its device, which is used on another stream than this; or null.
Comm onAnotherStream(Comm comm, void *stream);

/// Complains, and keeps it for ncclGetLastError.
int report(int result, const std::string &why);
const char *lastError();
double now();
/// The seconds of STANDIN_NCCL_TIMEOUT.
double patience();
const char *nameOfKind(Kind kind);

} // namespace standin::nccl

#endif // TPLAN_TEST_STANDIN_NCCL_COMMUNICATOR_H
