//===- world.cpp - meshes for the conformance suite ---------------------------===//

#include "world.h"

using namespace conformance;

Mesh::Mesh(std::vector<int64_t> sizes, std::vector<std::vector<int32_t>> ofGroups,
           std::vector<std::vector<int32_t>> ofCoordinates)
    : groupAxes(std::move(ofGroups)), coordinates(std::move(ofCoordinates)) {
  static const char *const names[] = {"a", "b", "c"};
  for (size_t axis = 0; axis < sizes.size(); ++axis)
    axes.push_back({names[axis], sizes[axis]});
  for (const std::vector<int32_t> &group : groupAxes)
    groups.push_back({group.empty()      ? "nobody"
                      : group.size() > 1 ? "several"
                                         : names[group[0]],
                      (int32_t)group.size(), group.data(), 0, nullptr});
  partNames.reserve(coordinates.size());
  for (size_t group = 0; group < coordinates.size(); ++group) {
    const std::vector<int32_t> &list = coordinates[group];
    if (list.empty())
      continue;
    std::string &name = partNames.emplace_back(groups[group].name); // "a 0 to 1"
    for (size_t i = 0; i < list.size(); ++i)
      name += (i ? " to " : " ") + std::to_string(list[i]);
    groups[group].name = name.c_str();
    groups[group].num_coordinates = (int64_t)list.size();
    groups[group].coordinates = list.data();
  }
  made.abi_version = TP_ABI_VERSION;
  made.plan = "mesh";
  made.axes = axes.data(), made.num_axes = (int64_t)axes.size();
  made.groups = groups.data(), made.num_groups = (int64_t)groups.size();
  streamGroups.push_back(-1);
  for (size_t group = 0; group < groups.size(); ++group)
    streamGroups.push_back((int32_t)group);
  made.num_streams = (int64_t)streamGroups.size(), made.stream_groups = streamGroups.data();
}

std::vector<std::unique_ptr<Mesh>> conformance::meshesOf(int ranks) {
  const std::vector<std::vector<int64_t>> all = {{1},    {2},    {3}, {4},    {2, 2},   {6},
                                                 {2, 3}, {3, 2}, {8}, {4, 2}, {2, 2, 2}};
  std::vector<std::unique_ptr<Mesh>> meshes;
  for (const std::vector<int64_t> &sizes : all) {
    int64_t product = 1;
    for (int64_t size : sizes)
      product *= size;
    if (product != ranks)
      continue;
    std::vector<std::vector<int32_t>> groups = {{}};
    std::vector<int32_t> rising, falling;
    for (int32_t axis = 0; axis < (int32_t)sizes.size(); ++axis) {
      groups.push_back({axis});
      rising.push_back(axis);
      falling.insert(falling.begin(), axis);
    }
    if (sizes.size() > 1) {
      groups.push_back(rising);
      groups.push_back(falling);
    }
    if (sizes.size() > 2)
      groups.push_back({2, 0});
    meshes.push_back(std::make_unique<Mesh>(sizes, groups));
  }
  return meshes;
}
