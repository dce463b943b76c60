//===- AssignStreams.cpp - assign-streams: who runs what is started ----------===//
//
// Streams follow from starts and awaits (Streams.h), and are written down here, once.
//
// One decision: where anything is started, everything that ranks exchange has a stream, because the
// operations of a group have one order.
//
//===----------------------------------------------------------------------===//
#include "dialects/tplan/Settings.h"
#include "lib/Overlap/Overlap.h"
#include "lib/Overlap/Streams.h"
#include "mlir/IR/Builders.h"

namespace tplan::overlap {
#define GEN_PASS_DEF_ASSIGNSTREAMSPASS
#include "lib/Overlap/Passes.h.inc"
} // namespace tplan::overlap

using namespace mlir;
using namespace tplan;

/// The place of an op among those of its section, from 1 on.
static uint64_t placeOf(Operation *op) {
  Operation *ofBody = sched::bodyOpOf(op);
  return std::distance(ofBody->getBlock()->begin(), std::next(ofBody->getIterator()));
}

/// An op, and those before it in its section, are no part of a graph; whether they were.
static bool issueApart(Operation *op) {
  auto section = op->getParentOfType<sched::SectionOp>();
  uint64_t count = placeOf(op);
  bool wasPart = count > section.getHead();
  if (wasPart)
    section.setHead(count);
  return wasPart;
}

/// Which ops of each section are no part of a graph: a graph ends when all in it has ended, so it
/// neither holds what is under way after it nor waits for what has been started outside of it.
static void issueAcross(sched::ProgramOp program) {
  SmallVector<std::pair<sched::Step, Operation *>> inside; // what one section starts and awaits
  program.walk([&](sched::Step step) {
    Operation *end = step.getCompletion();
    auto section = step->getParentOfType<sched::SectionOp>();
    if (end == step)
      return;
    if (end->getParentOfType<sched::SectionOp>() == section) {
      inside.emplace_back(step, end);
      return;
    }
    issueApart(&section.getBody().front().back());
    issueApart(end);
  });
  auto isApart = [](Operation *op) {
    return placeOf(op) <= op->getParentOfType<sched::SectionOp>().getHead();
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [step, end] : inside)
      changed |= isApart(step) && issueApart(end);
  }
}

namespace {
struct AssignStreamsPass : tplan::overlap::impl::AssignStreamsPassBase<AssignStreamsPass> {
  void runOnOperation() final {
    ModuleOp module = getOperation();
    if (!overlap::Streams::areNeeded(module))
      return markAllAnalysesPreserved();
    if (lang::targetOf(module).isGpu())
      for (auto program : module.getOps<sched::ProgramOp>())
        issueAcross(program);
    overlap::Streams streams(module);
    Builder b(&getContext());
    for (auto [op, turn] : streams.turns) {
      op->setAttr(sched::kStream, b.getI64IntegerAttr(turn.stream));
      op->setAttr(sched::kTurn, b.getDenseI64ArrayAttr({turn.before, turn.after}));
    }
    for (auto [func, home] : streams.homes)
      func->setAttr(sched::kStream, b.getI64IntegerAttr(home));
    module->setAttr(sched::kStreams,
                    b.getArrayAttr(SmallVector<Attribute>(streams.all.begin(), streams.all.end())));
    module->setAttr(sched::kEvents, b.getI64IntegerAttr(streams.events));
  }
};
} // namespace
