//===- Host/Groups.cpp - groups of ranks, by number ------------------------===//
#include "lib/Lower/Host/Groups.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

int64_t HostGroups::numberOf(Group group) {
  auto found = llvm::find(known, group);
  if (found == known.end())
    found = known.insert(known.end(), std::move(group));
  return found - known.begin();
}

int64_t HostGroups::numberOf(ArrayRef<StringAttr> axes) {
  return axes.empty() ? -1 : numberOf(Group{dist::Axes(axes), {}});
}

int64_t HostGroups::channel(StringAttr axis, std::pair<int64_t, int64_t> ends) {
  return numberOf(Group{{axis}, {ends.first, ends.second}});
}

std::vector<Record<tp_axis>> HostGroups::axes() const {
  std::vector<Record<tp_axis>> table;
  for (dist::AxisAttr axis : mesh.getAxes())
    table.push_back({.name = mesh.planAxisOf(axis.getName()), .size = axis.getSize()});
  return table;
}

/// "dp and tp", as the plan names them, each once; "pp 0 to 1" of a channel.
std::string HostGroups::nameOf(const Group &group) const {
  SmallVector<StringRef> names;
  for (StringAttr axis : group.axes)
    if (StringRef name = mesh.planAxisOf(axis); !llvm::is_contained(names, name))
      names.push_back(name);
  std::string name = llvm::join(names, " and ");
  for (auto [i, coordinate] : llvm::enumerate(group.coordinates))
    name += (i ? " to " : " ") + std::to_string(coordinate);
  return name;
}

std::vector<Record<tp_group>> HostGroups::groups(HostBuilder &host) const {
  std::vector<Record<tp_group>> table;
  for (const Group &group : known) {
    SmallVector<int32_t> numbers, coordinates(group.coordinates.begin(), group.coordinates.end());
    for (StringAttr axis : group.axes)
      numbers.push_back(mesh.find(axis));
    table.push_back({.name = nameOf(group),
                     .num_axes = numbers.size(),
                     .axes = host.numbers("group", ArrayRef(numbers)),
                     .num_coordinates = coordinates.size(),
                     .coordinates = coordinates.empty()
                                        ? Table<int32_t>()
                                        : host.numbers("coordinates", ArrayRef(coordinates))});
  }
  return table;
}
