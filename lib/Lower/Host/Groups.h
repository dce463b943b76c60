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

  /// -1 for no axes.
  int64_t numberOf(llvm::ArrayRef<mlir::StringAttr> axes);
  std::vector<Record<tp_axis>> axes() const;
  std::vector<Record<tp_group>> groups(HostBuilder &host) const;

  dist::MeshAttr mesh;

private:
  std::vector<dist::Axes> known;
};

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_GROUPS_H
