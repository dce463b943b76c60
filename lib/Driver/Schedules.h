//===- Schedules.h - schedules by numbers alone, and those of a program --------===//
#ifndef TPLAN_DRIVER_SCHEDULES_H
#define TPLAN_DRIVER_SCHEDULES_H

#include "lib/Driver/Driver.h"
#include "lib/Pipeline/Policy.h"

namespace tplan {

/// How an order is printed.
enum class ScheduleForm { json, picture, trace };
/// `--schedule 'interleaved(chunks = 2)' --ranks 4 --microbatches 8`: prints the order. What the
/// schedule cannot be is an error in the text.
Outcome printSchedule(llvm::StringRef schedule, int32_t ranks, int32_t microbatches,
                      const pipeline::Costs &costs, ScheduleForm form, llvm::raw_ostream &os,
                      llvm::raw_ostream &errors);

/// The same of the programs of a module, after `schedule`. Without costs pictures have the times
/// that the plan's cluster predicts, where it does.
void printScheduleOf(mlir::ModuleOp module, std::optional<pipeline::UnitCosts> costs,
                     ScheduleForm form, llvm::raw_ostream &os);

} // namespace tplan

#endif // TPLAN_DRIVER_SCHEDULES_H
