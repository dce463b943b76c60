//===- rank.h - everything that one rank owns -----------------------------===//
//
// Defines the tp_rank that generated code passes through.
//
// One decision: there are no globals, so that ranks can be threads of a process.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_RANKS_RANK_H
#define TPLAN_RUNTIME_RANKS_RANK_H

#include "runtime/device/arena.h"
#include "runtime/device/device.h"
#include "runtime/device/matmul.h"
#include "runtime/ranks/graphs.h"
#include "runtime/ranks/host_streams.h"
#include "runtime/ranks/peers.h"
#include "runtime/ranks/scale_audit.h"
#include "runtime/ranks/transport.h"
#include "runtime/ranks/wish.h"
#include "runtime/support/profile.h"
#include "runtime/support/sink.h"
#include "runtime/support/status.h"
#include "runtime/support/step_trace.h"
#include "runtime/support/team.h"
#include "runtime/support/types.h"
#include "tplan/runtime.h"

#include <functional>

struct tp_rank {
  const tp_program *program = nullptr;
  std::unique_ptr<tplan::runtime::Device> device; // null: the team computes
  tplan::runtime::Arena arena;
  tplan::runtime::Team team;
  tplan::runtime::Matmul matmul;
  tplan::runtime::Profile profile;
  tplan::runtime::StepTrace trace;
  tplan::runtime::ScaleAudit scales;
  tplan::runtime::Transport *transport = nullptr; // to the other ranks; null: there are none
  tplan::runtime::Peers peers;                    // the same, for use outside of steps
  std::vector<std::unique_ptr<tplan::runtime::Communicator>> groups; // as the program numbers them
  std::vector<tplan::runtime::Communicator *> started;  // by event: where a message is under way
  std::unique_ptr<tplan::runtime::HostStreams> streams; // null: each collective is waited for
  tplan::runtime::TaskPlace task;                       // the task that is under way
  tplan::runtime::Graphs graphs;                        // of a step, on a device
  tplan::runtime::Sink sink;                            // where lines for people go
  tplan::runtime::Points points;                        // where a training may end
  bool copiesAreStale = false;  // weights in a lower precision, since an update
  tplan::runtime::Status error; // the first failure of generated code
  std::function<tplan::runtime::Status()> gradientsReady; // run once where the gradients are whole
};

namespace tplan::runtime {

/// The memory where the host writes what it gives for a step or an evaluation, as the address that
/// byte 0 of the arena would have in it.
inline char *givenBase(tp_rank &rank) {
  return rank.device ? rank.device->givenBase() : rank.arena.data();
}
/// Gives it to what runs next.
Status give(tp_rank &rank);

/// Copies elements out of the arena or into it, when all that was issued is done.
Status readArena(tp_rank &rank, int64_t offset, void *to, int64_t bytes);
Status writeArena(tp_rank &rank, int64_t offset, const void *from, int64_t bytes);

/// Runs an entry point of the program; `what` is for an error without a message. Sections that have
/// been captured are replayed where it is `repeated`.
Status runEntry(tp_rank &rank, int (*entry)(tp_rank *, char *), const char *what,
                bool repeated = false);
/// Makes what a lower precision keeps of the weights, if they have been updated since: a plan may
/// leave that to the next step (`defer-gathers`), and evaluations and predictions read it.
Status prepareCopies(tp_rank &rank);
/// Captures the sections of an entry point, and executes nothing.
Status captureEntry(tp_rank &rank, int (*entry)(tp_rank *, char *), Capture &made);
/// Drops what has been captured.
void forgetGraphs(tp_rank &rank);

/// Keeps the first error of the rank, with the .tplan line of the call; returns
/// what generated code returns.
int fail(tp_rank &rank, const tp_call *call, Status status);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RANKS_RANK_H
