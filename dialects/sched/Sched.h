//===- Sched.h - the sched dialect ----------------------------------------===//
#ifndef TPLAN_DIALECTS_SCHED_H
#define TPLAN_DIALECTS_SCHED_H

#include "dialects/nn/NN.h"

#include "dialects/sched/SchedDialect.h.inc"
#include "dialects/sched/SchedEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/sched/SchedAttrs.h.inc"

namespace tplan::sched {
/// One piece of work: a part of all runs of a stage, for one microbatch.
struct Task {
  TaskKind kind;
  int32_t stage, microbatch;
  bool operator==(const Task &) const = default;
};

/// "F of stage 0, microbatch 3".
std::string describe(Task task);

/// Every place is a multiple of this many bytes.
inline constexpr int64_t kAlign = 64;
inline int64_t alignUp(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

/// Attributes that `memory` writes on functions and calls.
inline constexpr llvm::StringLiteral kPlaces = "sched.places", kFrame = "sched.frame",
                                     kLive = "sched.live";
} // namespace tplan::sched

#define GET_OP_CLASSES
#include "dialects/sched/SchedOps.h.inc"

namespace tplan::sched {
/// Where `memory` has put the result of a call.
inline PlaceAttr placeOf(mlir::OpResult result) {
  auto places = result.getOwner()->getAttrOfType<mlir::ArrayAttr>(kPlaces);
  return llvm::cast<PlaceAttr>(places[result.getResultNumber()]);
}
} // namespace tplan::sched

#endif // TPLAN_DIALECTS_SCHED_H
