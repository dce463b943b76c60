//===- PlanSchedule.h - the schedule that a plan names ----------------------------===//
#ifndef TPLAN_PIPELINE_PLANSCHEDULE_H
#define TPLAN_PIPELINE_PLANSCHEDULE_H

#include "lib/Pipeline/Policy.h"
#include "lib/Pipeline/Text.h"
#include "mlir/IR/Diagnostics.h"

namespace tplan::pipeline {

/// A policy, or orders of a user's own; neither where there is a fault: no such name, or orders
/// that cannot be a plan's.
struct PlanSchedule {
  const SchedulePolicy *policy = nullptr;
  std::optional<OrderFile> file;
  Fault fault;

  /// Whether there are two copies of each stage of the plan.
  bool isDual() const;
  /// How many stages a plan on so many ranks has, of one copy.
  int32_t stagesOn(int32_t ranks, Options options) const;
  /// The checked order for a plan with so many stages, copies included.
  Choice choose(int32_t stages, int32_t microbatches, Options options, const Costs *costs) const;
};
/// `orders`: the text of a file, or none.
PlanSchedule findSchedule(llvm::StringRef name, llvm::StringRef orders = "");

/// An error with the notes of a fault.
mlir::InFlightDiagnostic emitFault(mlir::Location loc, const Fault &fault);

} // namespace tplan::pipeline

#endif // TPLAN_PIPELINE_PLANSCHEDULE_H
