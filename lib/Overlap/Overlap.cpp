//===- Overlap.cpp - refuses calls that would need a wait -----------------===//
//
// Invariant after the pass: every asynchronous operation has one wait, on every
// path, and all ranks issue them in one order. It holds when every call is complete
// when it returns, as launches, matmuls, copies and collectives are on a CPU; on a GPU
// `order-streams`, at the end of `memory`, orders those that run at once. Anything else would run
// unawaited and is refused.
//
//===----------------------------------------------------------------------===//
#include "lib/Overlap/Overlap.h"
#include "dialects/rt/RT.h"
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
        if (!isa<rt::Call, rt::ReturnOp>(op)) {
          op.emitOpError("has no wait: only calls that are complete when they return may stand in "
                         "function ")
              << func.getSymName();
          return signalPassFailure();
        }
    markAllAnalysesPreserved();
  }
};
} // namespace
