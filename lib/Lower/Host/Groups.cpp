//===- Host/Groups.cpp - groups of ranks, by number ------------------------===//
#include "lib/Lower/Host/Groups.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

int64_t HostGroups::numberOf(ArrayRef<StringAttr> axes) {
  if (axes.empty())
    return -1;
  auto found =
      llvm::find_if(known, [&](const dist::Axes &group) { return ArrayRef(group) == axes; });
  if (found == known.end())
    found = known.insert(known.end(), dist::Axes(axes));
  return found - known.begin();
}

std::vector<Record<tp_axis>> HostGroups::axes() const {
  std::vector<Record<tp_axis>> table;
  for (dist::AxisAttr axis : mesh.getAxes())
    table.push_back({.name = axis.getPlanAxis(), .size = axis.getSize()});
  return table;
}

std::vector<Record<tp_group>> HostGroups::groups(HostBuilder &host) const {
  std::vector<Record<tp_group>> table;
  for (const dist::Axes &group : known) {
    SmallVector<int32_t> numbers;
    SmallVector<StringRef> names; // of the plan, each once
    for (StringAttr axis : group) {
      numbers.push_back(mesh.find(axis));
      StringRef name = mesh.getAxes()[numbers.back()].getPlanAxis();
      if (!llvm::is_contained(names, name))
        names.push_back(name);
    }
    std::string name;
    for (auto [i, part] : llvm::enumerate(names))
      name += (i ? " and " : "") + part.str();
    table.push_back({.name = name,
                     .num_axes = numbers.size(),
                     .axes = host.numbers("group", ArrayRef(numbers)),
                     .num_coordinates = 0,
                     .coordinates = nullptr});
  }
  return table;
}
