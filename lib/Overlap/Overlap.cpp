//===- Overlap.cpp - refuses calls that would need a wait -----------------===//
//
// Invariant after the pass: every call of a function is complete when it returns or at its await,
// which the verifier of collectives finds, and every op of a section where it stands or at its
// await. Anything else would run unawaited and is refused.
//
//===----------------------------------------------------------------------===//
#include "lib/Overlap/Overlap.h"
#include "dialects/rt/RT.h"
#include "dialects/sched/Sched.h"
#include "mlir/IR/BuiltinOps.h"

namespace tplan::overlap {
#define GEN_PASS_DEF_OVERLAPPASS
#include "lib/Overlap/Passes.h.inc"
} // namespace tplan::overlap

using namespace mlir;
using namespace tplan;

namespace {
struct OverlapPass : tplan::overlap::impl::OverlapPassBase<OverlapPass> {
  void runOnOperation() final {
    for (auto func : getOperation().getOps<rt::FuncOp>())
      for (Operation &op : func.getBlock())
        if (!isa<rt::Call, rt::AwaitOp, rt::ReturnOp>(op)) {
          op.emitOpError("has no wait: only calls that are complete when they return may stand in "
                         "function ")
              << func.getSymName();
          return signalPassFailure();
        }
    WalkResult late = getOperation().walk([](sched::Step step) {
      Operation *end = step.getCompletion();
      if (end == step || isa<sched::AwaitOp>(end))
        return WalkResult::advance();
      step.emitOpError("has no wait: it is complete at another op, which is no await");
      return WalkResult::interrupt();
    });
    if (late.wasInterrupted())
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
