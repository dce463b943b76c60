//===- WidenPrecision.cpp - precision f64: every f32 becomes f64 ----------===//
//
// `model` writes f32. A plan in f64 is the same program with wider numbers, and so serves as the
// reference that others are tested against.
//
// Precision tf32 changes no type: it lets GEMMs round what they read, which only GPUs do, so a plan
// for a CPU is refused.
//
//===----------------------------------------------------------------------===//
#include "dialects/tplan/Settings.h"
#include "lib/Precision/Precision.h"
#include "mlir/IR/BuiltinOps.h"

namespace tplan::precision {
#define GEN_PASS_DEF_WIDENPRECISIONPASS
#include "lib/Precision/Passes.h.inc"
} // namespace tplan::precision

using namespace mlir;
using namespace tplan;

namespace {

struct WidenPrecisionPass : tplan::precision::impl::WidenPrecisionPassBase<WidenPrecisionPass> {
  void runOnOperation() final {
    lang::Precision precision = lang::Settings(getOperation()).plan.precision;
    if (precision == lang::Precision::TF32 && !lang::targetOf(getOperation()).isGpu()) {
      emitError(lang::Settings(getOperation()).planLine("precision"),
                "tf32 is how GPUs multiply: compile with --target=cuda:ARCH, or name another "
                "precision; found ")
          << lang::stringifyPrecision(precision);
      return signalPassFailure();
    }
    if (precision != lang::Precision::F64)
      return;
    precision::widenTypes(getOperation());
    precision::eraseEqualCasts(getOperation());
  }
};

} // namespace
