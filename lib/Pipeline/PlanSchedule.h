//===- PlanSchedule.h - the schedule that a plan names ----------------------------===//
#ifndef TPLAN_PIPELINE_PLANSCHEDULE_H
#define TPLAN_PIPELINE_PLANSCHEDULE_H

#include "lib/Pipeline/Policy.h"
#include "lib/Pipeline/Text.h"

namespace tplan::pipeline {

/// A policy, or orders of a user's own; neither where there is a fault.
struct PlanSchedule {
  const SchedulePolicy *policy = nullptr;
  std::optional<OrderFile> file;
  std::optional<Fault> fault;

  /// Whether there are two copies of each stage of the plan.
  bool isDual() const;
  /// How many of the plan's stages each rank holds, of those of one copy.
  int32_t stagesOfRank(Options options) const;
  /// The order for a plan with so many stages, copies included. It is not checked.
  Choice choose(int32_t stages, int32_t microbatches, Options options, const Costs *costs) const;
};
/// `orders`: the text of a file, or none.
PlanSchedule findSchedule(llvm::StringRef name, llvm::StringRef orders);

} // namespace tplan::pipeline

#endif // TPLAN_PIPELINE_PLANSCHEDULE_H
