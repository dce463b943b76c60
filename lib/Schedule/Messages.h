//===- Messages.h - what programs of a pipeline send each other -------------===//
#ifndef TPLAN_SCHEDULE_MESSAGES_H
#define TPLAN_SCHEDULE_MESSAGES_H

#include "dialects/sched/Sched.h"

namespace tplan::schedule {

/// Makes the messages of one program. Both ends of one are made by the same code, each for its
/// program, so that they have the same values in the same order.
class Messages {
public:
  explicit Messages(sched::ProgramOp program) : program(program) {}

  /// The rank that holds a stage.
  int64_t rankOf(int64_t stage) const { return stage; }
  /// A message between this rank and the one that holds stage `peer`; nothing without values.
  void add(mlir::OpBuilder &b, mlir::Location loc, bool sends, llvm::StringRef title, int64_t peer,
           llvm::ArrayRef<sched::Use> values) const {
    if (values.empty())
      return;
    if (sends)
      sched::createStep<sched::SendOp>(b, loc, values, {}, uint64_t(rankOf(peer)), title);
    else
      sched::createStep<sched::ReceiveOp>(b, loc, {}, values, uint64_t(rankOf(peer)), title);
  }

private:
  sched::ProgramOp program;
};

} // namespace tplan::schedule

#endif // TPLAN_SCHEDULE_MESSAGES_H
