//===- Host/Groups.h - groups of ranks, by number --------------------------===//
//
// Whatever names axes (collectives, scalars of a rank, shards of tensors) gets the number of
// their group; the table of groups is written when all code has asked.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LOWER_HOST_GROUPS_H
#define TPLAN_LOWER_HOST_GROUPS_H

#include "dialects/dist/Dist.h"
#include "lib/Lower/Host/Builder.h"

namespace tplan::lower {

class HostGroups {
public:
  explicit HostGroups(mlir::ModuleOp module) : mesh(dist::meshOf(module)) {}

  /// The number of a group of axes; -1 for no axes.
  int64_t numberOf(llvm::ArrayRef<mlir::StringAttr> axes);
  /// The channel of messages from a coordinate along an axis to another one.
  int64_t channel(mlir::StringAttr axis, std::pair<int64_t, int64_t> ends);
  std::vector<Record<tp_axis>> axes() const;
  std::vector<Record<tp_group>> groups(HostBuilder &host) const;

  dist::MeshAttr mesh;

private:
  /// Axes, and the coordinates of the members along the first one; no coordinates mean all.
  struct Group {
    dist::Axes axes;
    llvm::SmallVector<int64_t, 2> coordinates;
    bool operator==(const Group &) const = default;
  };
  std::vector<Group> known;
  int64_t numberOf(Group group);
  std::string nameOf(const Group &group) const;
};

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_GROUPS_H
