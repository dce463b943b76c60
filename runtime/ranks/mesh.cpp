//===- mesh.cpp - which ranks a group has, and in which order --------------===//

#include "runtime/ranks/mesh.h"

#include "runtime/ranks/member.h"

#include <climits>
#include <cstring>
#include <numeric>

using namespace tplan::runtime;

int64_t tplan::runtime::ranksOf(const tp_program &program) {
  int64_t ranks = 1;
  for (int64_t axis = 0; axis < program.num_axes; ++axis)
    ranks *= program.axes[axis].size;
  return ranks;
}

static Status checkCoordinates(const tp_program &program, const tp_group &group) {
  if (group.num_coordinates == 0)
    return {};
  if (group.num_coordinates < 0 || !group.coordinates || group.num_axes < 1)
    return errorf("the group '%s' of %d axes has an impossible number of coordinates: %lld",
                  group.name, group.num_axes, (long long)group.num_coordinates);
  const tp_axis &axis = program.axes[group.axes[0]];
  std::vector<bool> seen(axis.size);
  for (int64_t i = 0; i < group.num_coordinates; ++i) {
    int32_t coordinate = group.coordinates[i];
    if (coordinate < 0 || coordinate >= axis.size)
      return errorf("the group '%s' names a coordinate that the axis '%s' of %lld lacks: %d",
                    group.name, axis.name, (long long)axis.size, coordinate);
    if (seen[coordinate])
      return errorf("the group '%s' names a coordinate twice: %d", group.name, coordinate);
    seen[coordinate] = true;
  }
  return {};
}

static Status checkGroup(const tp_program &program, const tp_group &group) {
  std::vector<bool> seen(program.num_axes);
  for (int32_t i = 0; i < group.num_axes; ++i) {
    int32_t axis = group.axes[i];
    if (axis < 0 || axis >= program.num_axes)
      return errorf("the group '%s' names an axis that the mesh of %lld axes lacks: %d", group.name,
                    (long long)program.num_axes, axis);
    if (seen[axis])
      return errorf("the group '%s' names an axis twice: '%s'", group.name,
                    program.axes[axis].name);
    seen[axis] = true;
  }
  return checkCoordinates(program, group);
}

Status tplan::runtime::checkMesh(const tp_program &program) {
  int64_t ranks = 1;
  for (int64_t axis = 0; axis < program.num_axes; ++axis) {
    const tp_axis &it = program.axes[axis];
    if (it.size < 1 || __builtin_mul_overflow(ranks, it.size, &ranks) || ranks > INT_MAX)
      return errorf("the axis '%s' of the mesh has an impossible size: %lld", it.name,
                    (long long)it.size);
  }
  for (int64_t group = 0; group < program.num_groups; ++group)
    TP_TRY(checkGroup(program, program.groups[group]));
  return {};
}

Members tplan::runtime::membersOf(const tp_program &program, int64_t group, int rank) {
  const tp_group &it = program.groups[group];
  // Ranks between two neighbours of an axis.
  std::vector<int> stride(program.num_axes);
  for (int64_t axis = program.num_axes - 1, next = 1; axis >= 0; --axis) {
    stride[axis] = (int)next;
    next *= program.axes[axis].size;
  }
  auto self = (int)memberOf(program, group, rank);
  if (self < 0)
    return {it.name, {}, self};
  int base = rank;
  std::vector<int> ranks(1);
  for (int32_t i = 0; i < it.num_axes; ++i) {
    int step = stride[it.axes[i]];
    base -= (int)coordinateOf(program, it.axes[i], rank) * step;
    bool isPart = i == 0 && it.num_coordinates;
    std::vector<int> longer;
    for (int prefix : ranks)
      for (int digit = 0; digit < digitsOf(program, it, i); ++digit)
        longer.push_back(prefix + (isPart ? it.coordinates[digit] : digit) * step);
    ranks = std::move(longer);
  }
  for (int &member : ranks)
    member += base;
  return {it.name, std::move(ranks), self};
}

std::string tplan::runtime::axesOf(const tp_program &program, int64_t group) {
  const tp_group &it = program.groups[group];
  std::string text;
  for (int32_t i = 0; i < it.num_axes; ++i) {
    const char *name = program.axes[it.axes[i]].name;
    int64_t pieces = 0, before = 0;
    for (int64_t axis = 0; axis < program.num_axes; ++axis)
      if (!strcmp(program.axes[axis].name, name)) {
        before += axis < it.axes[i];
        ++pieces;
      }
    text += format("%s%s", i ? ", " : "", name);
    if (pieces > 1)
      text += format(".%lld", (long long)before);
  }
  for (int64_t i = 0; i < it.num_coordinates; ++i)
    text += format("%s%d", i ? " to " : " ", it.coordinates[i]);
  return text;
}

Members tplan::runtime::everyone(int ranks, int rank) {
  std::vector<int> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  return {"all ranks", std::move(all), rank};
}
