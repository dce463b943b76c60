//===- programs.h - the programs of a plan with stages ----------------------===//
//
// Ranks of one coordinate on an axis of the mesh run one program of a list (tp_program.programs).
//
// One decision: what every rank must decide in the same way is computed from all programs, or from
// one that all know, never from the rank's own.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_RANKS_PROGRAMS_H
#define TPLAN_RUNTIME_RANKS_PROGRAMS_H

#include "runtime/ranks/member.h"
#include "runtime/support/status.h"
#include "tplan/runtime.h"

#include <algorithm>

namespace tplan::runtime {

/// Checks that the program was compiled for this runtime.
Status checkVersion(const tp_program &program);

/// Checks that the list of a plan of several programs makes sense, and that they agree in all that
/// runtime.h says; their tensors are checked by checkMerged().
Status checkPrograms(const tp_program &program);

/// Calls function(program, its number) for each of the plan.
template <typename Function> void forPrograms(const tp_program &program, Function &&function) {
  for (int64_t i = 0; i < programCount(program); ++i)
    function(program.num_programs ? *program.programs[i] : program, i);
}

/// The largest value that a program of the plan has of something.
template <typename Function> int64_t mostOf(const tp_program &program, Function &&number) {
  int64_t most = 0;
  forPrograms(program, [&](const tp_program &each, int64_t) {
    most = std::max<int64_t>(most, number(each));
  });
  return most;
}
inline int64_t mostArenaBytes(const tp_program &program) {
  return mostOf(program, [](const tp_program &each) { return each.arena_bytes; });
}

/// The first rank that has logits; -1 where all ranks have them.
int64_t rankOfLogits(const tp_program &program);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RANKS_PROGRAMS_H
