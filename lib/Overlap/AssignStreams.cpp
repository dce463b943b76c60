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

/// Which ops of each section are no part of a graph: a graph ends when all in it has ended, so it
/// neither holds what is under way after it nor waits for what another one has started.
static void issueAcross(sched::ProgramOp program) {
  auto beforeGraph = [](Operation *op) {
    auto section = op->getParentOfType<sched::SectionOp>();
    Block &body = section.getBody().front();
    uint64_t count = std::distance(body.begin(), std::next(sched::bodyOpOf(op)->getIterator()));
    section.setHead(std::max<uint64_t>(section.getHead(), count));
  };
  program.walk([&](sched::Step step) {
    Operation *end = step.getCompletion();
    if (end == step ||
        end->getParentOfType<sched::SectionOp>() == step->getParentOfType<sched::SectionOp>())
      return;
    beforeGraph(&step->getParentOfType<sched::SectionOp>().getBody().front().back());
    beforeGraph(end);
  });
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
