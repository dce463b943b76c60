//===- Links.h - what the links between ranks cost ------------------------===//
//
// Seconds of a collective or a message, by the cluster of the plan: the search for the cheapest
// change of layout uses them, warnings and the step time predict with them.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_COST_LINKS_H
#define TPLAN_COST_LINKS_H

#include "dialects/dist/Dist.h"
#include "dialects/tplan/Settings.h"

namespace tplan::cost {

/// Whether every group of ranks along an axis lies in one node of so many devices.
bool liesInNode(dist::MeshAttr mesh, mlir::StringAttr axis, int64_t devices);

class Links {
public:
  /// `sizes` of dimensions are the module's lang::kCostSizes; null: the sizes of the types.
  Links(const lang::Settings &settings, dist::MeshAttr mesh, mlir::DictionaryAttr sizes = {});
  /// Seconds of a group's call in which a rank sends so many bytes: a latency for each other
  /// member, and the bytes over the slowest link that the group crosses.
  double seconds(llvm::ArrayRef<mlir::StringAttr> axes, int64_t bytes) const;
  /// Seconds of a message from one member of a group to another.
  double secondsOfMessage(llvm::ArrayRef<mlir::StringAttr> axes, int64_t bytes) const;
  /// Seconds of a call that sends nothing.
  static double secondsAlone(int64_t bytes, bool writes);
  /// The type whose bytes are counted for a value.
  nn::Tensor costedAs(nn::Tensor type) const;
  bool crossesNodes(llvm::ArrayRef<mlir::StringAttr> axes) const;

private:
  /// What large messages reach, and what the shortest takes.
  struct Rate {
    double bytesPerSecond, latency;
  };
  dist::MeshAttr mesh;
  mlir::DictionaryAttr sizes;
  int64_t devices; // devices of a node; 0: one machine
  Rate inside, between;
  const Rate &slowest(llvm::ArrayRef<mlir::StringAttr> axes) const {
    return crossesNodes(axes) ? between : inside;
  }
};

} // namespace tplan::cost

#endif // TPLAN_COST_LINKS_H
