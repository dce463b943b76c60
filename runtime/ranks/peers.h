//===- peers.h - all ranks of a run, seen from one ------------------------===//
//
// What ranks do together outside a step: agree whether something succeeded, and distribute bytes. A
// rank alone has peers too, but their number is zero, and all of this is free.
//
// One decision: where ranks meet, they exchange success or failure, so that an error of one becomes
// the error of all, with one message, and nobody waits for a rank that gave up. Between two
// meetings a rank does nothing that could wait for another.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_RANKS_PEERS_H
#define TPLAN_RUNTIME_RANKS_PEERS_H

#include "runtime/ranks/transport.h"
#include "runtime/support/status.h"
#include "runtime/support/team.h"

namespace tplan::runtime {

class Peers {
public:
  Peers() = default;
  Peers(Transport &transport, Team &team) : transport(&transport), team(&team) {}

  int rank() const { return transport ? transport->rank() : 0; }
  int size() const { return transport ? transport->size() : 1; }
  /// One of all ranks prints, and makes files and directories.
  bool leads() const { return rank() == 0; }

  /// A meeting of all ranks: success if all bring success, else on all ranks the error of the first
  /// rank that brings one, with the rank's number unless all of them failed.
  Status agree(Status mine);
  /// Marks an error that every rank finds by itself.
  Status alike(Status mine);
  /// Whether all ranks hold the error that ends the run: it is the leader's to print, and
  /// nobody has to be woken.
  bool failedTogether() const { return together; }
  /// Called where that error ends nothing: the ranks go on.
  void goOn() { together = false; }

  /// Sums over the ranks, in their order.
  Status sum(double *values, int64_t count);
  /// Sends bytes of the leader, or of another rank, to all.
  Status broadcast(void *data, int64_t bytes, int from = 0);
  Status broadcast(std::string &text, int from = 0);

private:
  Transport *transport = nullptr;
  Team *team = nullptr;
  bool together = false;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RANKS_PEERS_H
