//===- member.h - where a rank stands in the mesh -------------------------===//
//
// Coordinates and member numbers alone, without the list of a group's ranks (mesh.h): layouts of
// tensors and data are computed from them. A negative group is the rank by itself.
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

/// Whether the group has only the ranks at some coordinates of its first axis.
inline bool isPartial(const tp_program &program, int64_t group) {
  return group >= 0 && program.groups[group].num_coordinates > 0;
}

/// How many digits member numbers have for axis i of those that a group lists.
inline int64_t digitsOf(const tp_program &program, const tp_group &group, int32_t i) {
  return i == 0 && group.num_coordinates ? group.num_coordinates : program.axes[group.axes[i]].size;
}

/// The digit of a rank at a coordinate of that axis; -1: the group has no such rank.
inline int64_t digitOf(const tp_group &group, int32_t i, int64_t coordinate) {
  if (i > 0 || !group.num_coordinates)
    return coordinate;
  for (int64_t digit = 0; digit < group.num_coordinates; ++digit)
    if (group.coordinates[digit] == coordinate)
      return digit;
  return -1;
}

inline int64_t memberCount(const tp_program &program, int64_t group) {
  int64_t members = 1;
  for (int32_t i = 0; group >= 0 && i < program.groups[group].num_axes; ++i)
    members *= digitsOf(program, program.groups[group], i);
  return members;
}

/// Member number of `rank` in its group; -1: it is no member.
inline int64_t memberOf(const tp_program &program, int64_t group, int64_t rank) {
  int64_t member = 0;
  for (int32_t i = 0; group >= 0 && i < program.groups[group].num_axes; ++i) {
    const tp_group &it = program.groups[group];
    int64_t digit = digitOf(it, i, coordinateOf(program, it.axes[i], rank));
    if (digit < 0)
      return -1;
    member = member * digitsOf(program, it, i) + digit;
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
