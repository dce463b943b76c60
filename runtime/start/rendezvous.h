//===- rendezvous.h - where the processes of a job meet -------------------===//
//
// Before a transport connects them: rank 0 has bytes for all, such as NCCL's unique id.
//
// Decisions: where a launcher serves a store, its port is bound already, and all ranks are clients;
// elsewhere rank 0 serves, and is a client of its own store as the others are. Keys have a random
// number of rank 0 in their prefix and no count of restarts: the store of torchrun outlives a
// restart, and its agents count restarts separately (an agent whose processes are restarted because
// others failed does not count it). The store listens only where others look for it. A secret is
// asked for where rank 0 serves: a launcher's store knows none.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_START_RENDEZVOUS_H
#define TPLAN_RUNTIME_START_RENDEZVOUS_H

#include "runtime/start/launcher.h"
#include "runtime/start/store.h"
#include "runtime/start/store_server.h"

#include <array>

namespace tplan::runtime {

/// Distinguishes one run of a job from all others: the first bytes of its connections. It is no
/// secret: whoever listens to the network can read it.
using Nonce = std::array<unsigned char, 16>;

/// The addresses at which the host of rank 0 listens for the others.
Reach reachOf(const Launch &launch);

class Rendezvous {
public:
  /// Waits for the store, and until all ranks have come to it, `seconds` at most. Errors name a
  /// rank that has not come, or a rank that two processes are.
  Status open(const Launch &launch, double seconds);
  /// Its keys are those of this run alone.
  Store &store() { return client; }
  const Nonce &nonce() const { return drawn; }
  /// Called by all ranks when they need the store no more. If rank 0 serves it, rank 0 waits for
  /// the others, `seconds` at most; a rank that failed does not wait.
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
