//===- Overlap.cpp - refuses calls that would need a wait -----------------===//
//
// Invariant after the pass: every asynchronous operation has one wait, on every path, and all ranks
// issue them in one order. It holds when every call is complete when it returns, as launches,
// matmuls, copies and collectives are here: no earlier phase makes asynchronous ones (on a GPU
// order-streams does so later). Anything else would run unawaited and is refused.
//
//===----------------------------------------------------------------------===//
#include "lib/Overlap/Overlap.h"
#include "dialects/rt/RT.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tplan;

namespace {
struct Overlap : PassWrapper<Overlap, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Overlap)
  StringRef getArgument() const final { return "overlap"; }

  void runOnOperation() final {
    for (auto func : getOperation().getOps<rt::FuncOp>())
      for (Operation &op : func.getBlock())
        if (!isa<rt::LaunchOp, rt::MatmulOp, rt::AttentionOp, rt::CopyOp, rt::CollectiveOp,
                 rt::SliceOp, rt::PlaceOp, rt::ReturnOp>(op)) {
          op.emitOpError("has no wait: only calls that are complete when they return may stand in "
                         "function ")
              << func.getSymName();
          return signalPassFailure();
        }
    markAllAnalysesPreserved();
  }
};
} // namespace

std::unique_ptr<Pass> tplan::overlap::createOverlapPass() { return std::make_unique<Overlap>(); }
