//===- rendezvous.h - where the processes of a job meet -------------------===//
//
// Before a transport connects them: rank 0 has bytes for all, as NCCL's unique id.
//
// Decisions: where a launcher serves a store, its port is bound already, and all ranks are clients;
// elsewhere rank 0 serves, and is a client of itself as the others are. Keys have a random number
// of rank 0 in their prefix and no count of restarts: the store of torchrun outlives a restart, and
// its agents count them apart (one whose processes are restarted for those of another does not).
// The store listens where others look for it alone. A secret is asked for where rank 0 serves: a
// launcher's store knows none.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_START_RENDEZVOUS_H
#define TPLAN_RUNTIME_START_RENDEZVOUS_H

#include "runtime/start/launcher.h"
#include "runtime/start/store.h"
#include "runtime/start/store_server.h"

#include <array>

namespace tplan::runtime {

/// What tells one run of a job from all others: the first bytes of its connections. Who listens to
/// the network reads it.
using Nonce = std::array<unsigned char, 16>;

/// Where those listen that others find at the host of rank 0.
Reach reachOf(const Launch &launch);

class Rendezvous {
public:
  /// Waits for the store, and until all ranks have come to it, `seconds` at most. Errors name a
  /// rank that has not come, or that two processes are.
  Status open(const Launch &launch, double seconds);
  /// Its keys are those of this run alone.
  Store &store() { return client; }
  const Nonce &nonce() const { return drawn; }
  /// Called by all ranks when they need the store no more. Where rank 0 serves it, that one waits
  /// for the others, `seconds` at most; one that failed just lets go.
  Status leave(double seconds);

private:
  Status serve(const Launch &launch);
  Status refuseTwins(const Launch &launch);
  Status gather(const Deadline &deadline);
  Status follow(const Launch &launch, const Deadline &deadline);

  int64_t ranks = 0;
  bool serves = false;
  StoreServer server;
  Store client;
  Nonce drawn = {};
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_START_RENDEZVOUS_H
