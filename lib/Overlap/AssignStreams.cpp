//===- AssignStreams.cpp - assign-streams: who runs what is started ----------===//
//
// Streams follow from starts and awaits (Streams.h), and are written down here, once.
//
// One decision: where anything is started, everything that ranks exchange has a stream, because the
// operations of a group have one order.
//
//===----------------------------------------------------------------------===//
#include "lib/Overlap/Overlap.h"
#include "lib/Overlap/Streams.h"
#include "mlir/IR/Builders.h"

namespace tplan::overlap {
#define GEN_PASS_DEF_ASSIGNSTREAMSPASS
#include "lib/Overlap/Passes.h.inc"
} // namespace tplan::overlap

using namespace mlir;
using namespace tplan;

namespace {
struct AssignStreamsPass : tplan::overlap::impl::AssignStreamsPassBase<AssignStreamsPass> {
  void runOnOperation() final {
    ModuleOp module = getOperation();
    if (!overlap::Streams::areNeeded(module))
      return markAllAnalysesPreserved();
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
