//===- Messages.cpp - what programs of a pipeline send each other -----------===//
#include "lib/Schedule/Messages.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tplan;

int64_t schedule::rankOfStage(sched::ProgramOp program, int64_t stage) {
  for (auto other : program->getParentOfType<ModuleOp>().getOps<sched::ProgramOp>())
    if (other.isOfPipeline() && other.holds(stage))
      return *other.getRank();
  return 0; // of a program alone
}

void schedule::addMessage(OpBuilder &b, Location loc, sched::ProgramOp program, bool sends,
                          StringRef title, int64_t peer, ArrayRef<sched::Use> values,
                          std::optional<sched::Use> event) {
  auto rank = static_cast<uint64_t>(rankOfStage(program, peer));
  if (values.empty())
    return;
  SmallVector<sched::Use> reads, writes;
  (sends ? reads : writes).append(values.begin(), values.end());
  if (event)
    writes.push_back(*event);
  if (sends)
    sched::createStep<sched::SendOp>(b, loc, reads, writes, rank, title, event.has_value());
  else
    sched::createStep<sched::ReceiveOp>(b, loc, reads, writes, rank, title, event.has_value());
}
