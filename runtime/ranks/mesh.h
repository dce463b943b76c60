//===- mesh.h - which ranks a group has, and in which order ----------------===//
//
// One decision: members are computed from the plan's axes by every rank for itself, so
// that no two ranks need to talk to agree on a group.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_RANKS_MESH_H
#define TPLAN_RUNTIME_RANKS_MESH_H

#include "runtime/support/status.h"
#include "tplan/runtime.h"

#include <string>
#include <vector>

namespace tplan::runtime {

/// A group as one of its ranks sees it.
struct Members {
  std::string name;       // for messages: "dp"
  std::vector<int> ranks; // of the world, by member number
  int self = 0;           // this rank's member number; -1: it is no member
};

/// Ranks that a program needs: 1 where it has no axes.
int64_t ranksOf(const tp_program &program);

/// Checks that axes and groups make sense: positive sizes, known axes, none twice; known
/// coordinates, none twice.
Status checkMesh(const tp_program &program);

/// The group of number `group` that `rank` is in. Where the rank is in none, it has the name of the
/// group and no ranks.
Members membersOf(const tp_program &program, int64_t group, int rank);

/// The axes of a group as reports of the compiler spell them: "dp, tp.1", where tp.1 is the second
/// piece of tp, or "pp 0 to 1", where the group has only some coordinates.
std::string axesOf(const tp_program &program, int64_t group);

/// All ranks, rank r as member r.
Members everyone(int ranks, int rank);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RANKS_MESH_H
