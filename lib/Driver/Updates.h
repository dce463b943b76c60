//===- Updates.h - when a step updates, in words ----------------------------===//
#ifndef TPLAN_DRIVER_UPDATES_H
#define TPLAN_DRIVER_UPDATES_H

#include "dialects/sched/Sched.h"
#include <string>

namespace tplan {

/// When the ranks of a plan update their parameters, if their gradients are summed beside other
/// work; else nothing.
std::string describeUpdates(llvm::ArrayRef<sched::ProgramOp> programs);

} // namespace tplan

#endif // TPLAN_DRIVER_UPDATES_H
