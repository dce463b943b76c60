//===- Messages.h - what programs of a pipeline send each other -------------===//
#ifndef TPLAN_SCHEDULE_MESSAGES_H
#define TPLAN_SCHEDULE_MESSAGES_H

#include "dialects/sched/Sched.h"

namespace tplan::schedule {

/// The rank that holds a stage, where stages lie on several: its coordinate along their axis.
int64_t rankOfStage(sched::ProgramOp program, int64_t stage);

/// A message between the rank of the program and the one that holds stage `peer`; without values
/// there is none. With an event it is started. Both ends are made by the same code, each for its
/// program, so they have the same values in the same order.
void addMessage(mlir::OpBuilder &b, mlir::Location loc, sched::ProgramOp program, bool sends,
                llvm::StringRef title, int64_t peer, llvm::ArrayRef<sched::Use> values,
                std::optional<sched::Use> event = {});

} // namespace tplan::schedule

#endif // TPLAN_SCHEDULE_MESSAGES_H
