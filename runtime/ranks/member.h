//===- member.h - where a rank stands in the mesh -------------------------===//
//
// Coordinates and member numbers alone, without the list of a group's ranks (mesh.h): what
// layouts of tensors and data are computed from. A negative group is the rank by itself.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_RANKS_MEMBER_H
#define TPLAN_RUNTIME_RANKS_MEMBER_H

#include "tplan/runtime.h"

namespace tplan::runtime {

/// Coordinate of `rank` on an axis.
inline int64_t coordinateOf(const tp_program &program, int64_t axis, int64_t rank) {
  int64_t stride = 1;
  for (int64_t inner = axis + 1; inner < program.num_axes; ++inner)
    stride *= program.axes[inner].size;
  return rank / stride % program.axes[axis].size;
}

inline int64_t memberCount(const tp_program &program, int64_t group) {
  int64_t members = 1;
  for (int32_t i = 0; group >= 0 && i < program.groups[group].num_axes; ++i)
    members *= program.axes[program.groups[group].axes[i]].size;
  return members;
}

/// Member number of `rank` in its group.
inline int64_t memberOf(const tp_program &program, int64_t group, int64_t rank) {
  int64_t member = 0;
  for (int32_t i = 0; group >= 0 && i < program.groups[group].num_axes; ++i) {
    int32_t axis = program.groups[group].axes[i];
    member = member * program.axes[axis].size + coordinateOf(program, axis, rank);
  }
  return member;
}

/// Number of the program that `rank` runs, given any of a plan's; 0 where there is one.
inline int64_t numberOf(const tp_program &program, int64_t rank) {
  return program.num_programs ? coordinateOf(program, program.programs_axis, rank) : 0;
}

/// That program.
inline const tp_program &programOf(const tp_program &program, int64_t rank) {
  return program.num_programs ? *program.programs[numberOf(program, rank)] : program;
}

/// How many programs a plan has, and the first rank that runs each.
inline int64_t programCount(const tp_program &program) {
  return program.num_programs ? program.num_programs : 1;
}
inline int64_t firstRankOf(const tp_program &program, int64_t number) {
  int64_t stride = 1;
  for (int64_t inner = program.programs_axis + 1; inner < program.num_axes; ++inner)
    stride *= program.axes[inner].size;
  return number * stride;
}

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RANKS_MEMBER_H
