//===- Schedule.h - the passes of `schedule` ------------------------------===//
#ifndef TPLAN_SCHEDULE_SCHEDULE_H
#define TPLAN_SCHEDULE_SCHEDULE_H

#include "mlir/Pass/Pass.h"
#include <memory>

namespace tplan::schedule {
/// --split-stages: cuts the runs of @train at the plan's stage borders.
std::unique_ptr<mlir::Pass> createSplitStagesPass();
/// --order-tasks: the chains become `sched.program`: tasks in order, families.
std::unique_ptr<mlir::Pass> createOrderTasksPass();
} // namespace tplan::schedule

#endif // TPLAN_SCHEDULE_SCHEDULE_H
