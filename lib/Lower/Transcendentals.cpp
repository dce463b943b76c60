#include "lib/Lower/Kernels.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
using namespace mlir;
using namespace tplan;
using namespace tplan::lower;
namespace {
struct Expand : PassWrapper<Expand, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Expand)
  StringRef getArgument() const override { return "expand-transcendentals"; }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    arith::populateExpandBFloat16Patterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
std::unique_ptr<Pass> lower::createExpandTranscendentalsPass() {
  return std::make_unique<Expand>();
}
