//===- rendezvous.h - where the processes of a job meet -------------------===//
//
// Before a transport connects them: rank 0 has bytes for all, as NCCL's unique id.
//
// One decision: where a launcher serves a store, its port is bound already, and all ranks are
// clients; elsewhere rank 0 serves, and is a client of itself as the others are.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_RENDEZVOUS_H
#define TPLAN_RUNTIME_RENDEZVOUS_H

#include "runtime/launcher.h"
#include "runtime/store.h"
#include "runtime/store_server.h"

namespace tplan::runtime {

class Rendezvous {
public:
  /// Waits for the store `seconds` at most. An error where two processes are one rank.
  Status open(const Launch &launch, double seconds);
  Store &store() { return client; }
  /// The same in all processes of the job, and in no others.
  const Nonce &nonce() const { return secret; }

  /// Called by all ranks when they need the store no more. Where rank 0 serves it, that one waits
  /// for the others, `seconds` at most; one that failed just lets go.
  Status leave(double seconds);

private:
  Status refuseTwins(const Launch &launch);

  int64_t ranks = 0;
  bool serves = false;
  StoreServer server;
  Store client;
  Nonce secret = {};
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RENDEZVOUS_H
