//===- WidenPrecision.cpp - precision f64: every f32 becomes f64 ----------===//
//
// `model` writes f32. A plan in f64 is the same program with wider numbers, and
// so the reference that others are tested against.
//
//===----------------------------------------------------------------------===//
#include "lib/Precision/Precision.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tplan;

namespace {

struct WidenPrecisionPass : PassWrapper<WidenPrecisionPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WidenPrecisionPass)
  StringRef getArgument() const final { return "widen-precision"; }

  void runOnOperation() final {
    if (precision::nameOf(getOperation()) != "f64")
      return;
    precision::widenTypes(getOperation());
    precision::eraseEqualCasts(getOperation());
  }
};

} // namespace

std::unique_ptr<Pass> tplan::precision::createWidenPrecisionPass() {
  return std::make_unique<WidenPrecisionPass>();
}
