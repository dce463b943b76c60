//===- Messages.h - what programs of a pipeline send each other -------------===//
#ifndef TPLAN_SCHEDULE_MESSAGES_H
#define TPLAN_SCHEDULE_MESSAGES_H

#include "dialects/sched/Sched.h"

namespace tplan::schedule {

/// The rank that holds a stage, where stages lie on several: its coordinate along their axis.
inline int64_t rankOfStage(int64_t stage) { return stage; }

/// A message between the rank of the program and the one that holds stage `peer`; without values
/// there is none. Both ends are made by the same code, each for its program, so they have the same
/// values in the same order.
inline void addMessage(mlir::OpBuilder &b, mlir::Location loc, bool sends, llvm::StringRef title,
                       int64_t peer, llvm::ArrayRef<sched::Use> values) {
  auto rank = static_cast<uint64_t>(rankOfStage(peer));
  if (values.empty())
    return;
  if (sends)
    sched::createStep<sched::SendOp>(b, loc, values, {}, rank, title);
  else
    sched::createStep<sched::ReceiveOp>(b, loc, {}, values, rank, title);
}

} // namespace tplan::schedule

#endif // TPLAN_SCHEDULE_MESSAGES_H
