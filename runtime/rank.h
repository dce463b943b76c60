//===- rank.h - everything that one rank owns -----------------------------===//
//
// Defines the tp_rank that generated code passes through.
//
// One decision: there are no globals, so that ranks can be threads of a process.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_RANK_H
#define TPLAN_RUNTIME_RANK_H

#include "runtime/arena.h"
#include "runtime/matmul.h"
#include "runtime/peers.h"
#include "runtime/profile.h"
#include "runtime/status.h"
#include "runtime/team.h"
#include "runtime/transport.h"
#include "runtime/types.h"
#include "tplan/runtime.h"

#include <functional>

struct tp_rank {
  const tp_program *program = nullptr;
  tplan::runtime::Arena arena;
  tplan::runtime::Team team;
  tplan::runtime::Matmul matmul;
  tplan::runtime::Profile profile;
  tplan::runtime::Transport *transport = nullptr; // to the other ranks; null: there are none
  tplan::runtime::Peers peers;                    // the same, for use outside of steps
  std::vector<std::unique_ptr<tplan::runtime::Communicator>> groups; // as the program numbers them
  tplan::runtime::Status error;                           // the first failure of generated code
  std::function<tplan::runtime::Status()> gradientsReady; // run once where the gradients are whole
};

namespace tplan::runtime {

/// Keeps the first error of the rank, with the .tplan line of the call; returns
/// what generated code returns.
int fail(tp_rank &rank, const tp_call *call, Status status);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RANK_H
