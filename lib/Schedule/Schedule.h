//===- Schedule.h - the passes of `schedule` ------------------------------===//
#ifndef TPLAN_SCHEDULE_SCHEDULE_H
#define TPLAN_SCHEDULE_SCHEDULE_H

#include "mlir/Pass/Pass.h"
#include <memory>

namespace tplan::schedule {
/// --order-tasks: the chains stand in a `sched.program`, with its tasks in order.
std::unique_ptr<mlir::Pass> createOrderTasksPass();
/// --form-program: the chains become values, sections and entries.
std::unique_ptr<mlir::Pass> createFormProgramPass();
/// --step-kernels: cotangents of losses and the gradient norm become kernels on single numbers.
std::unique_ptr<mlir::Pass> createStepKernelsPass();
/// --count-slots: what is kept for a microbatch gets slots, as many as are live at once.
std::unique_ptr<mlir::Pass> createCountSlotsPass();
/// --check-messages: the programs of all ranks are played together, by their messages and sums.
std::unique_ptr<mlir::Pass> createCheckMessagesPass();
} // namespace tplan::schedule

#endif // TPLAN_SCHEDULE_SCHEDULE_H
