//===- Links.h - what the links between ranks cost ------------------------===//
//
// Seconds of a collective, by the cluster of the plan: the search for the cheapest change of layout
// uses them, and a warning predicts with them.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SHARD_LINKS_H
#define TPLAN_SHARD_LINKS_H

#include "dialects/dist/Dist.h"
#include "dialects/tplan/Settings.h"

namespace tplan::shard {

/// Whether every group of ranks along an axis lies in one node of so many devices.
bool liesInNode(dist::MeshAttr mesh, mlir::StringAttr axis, int64_t devices);

class Links {
public:
  /// `sizes` of dimensions are the module's lang::kCostSizes; null: the sizes of the types.
  Links(const lang::Settings &settings, dist::MeshAttr mesh, mlir::DictionaryAttr sizes = {});
  /// Seconds of a group's call in which a rank sends so many bytes: a latency for each other
  /// member, and the bytes over the slowest link that the group crosses.
  double seconds(llvm::ArrayRef<mlir::StringAttr> axes, int64_t bytes) const;
  /// Seconds of a message between neighbours along an axis.
  double secondsOfMessage(mlir::StringAttr axis, int64_t bytes) const;
  /// Seconds of a call that sends nothing.
  static double secondsAlone(int64_t bytes, bool writes);
  /// The type whose bytes are counted for a value.
  nn::Tensor costedAs(nn::Tensor type) const;
  bool crossesNodes(llvm::ArrayRef<mlir::StringAttr> axes) const;

private:
  dist::MeshAttr mesh;
  mlir::DictionaryAttr sizes;
  int64_t devices;        // devices of a node; 0: one machine
  double inside, between; // bytes per second
};

} // namespace tplan::shard

#endif // TPLAN_SHARD_LINKS_H
