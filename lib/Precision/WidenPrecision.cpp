//===- WidenPrecision.cpp - precision f64: every f32 becomes f64 ----------===//
//
// `model` writes f32. A plan in f64 is the same program with wider numbers, and so serves as the
// reference that others are tested against.
//
// Precision tf32 changes no type: it lets GEMMs round what they read, which only GPUs do, so a plan
// for a CPU is refused. So is a plan for a GPU in a type that GPUs do not multiply (Narrow.def).
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

/// Whether GPUs multiply what a plan in this precision hands on.
static bool isForGpus(lang::Precision precision) {
  switch (precision) {
#define NARROW_PRECISION(PRECISION, TYPE, GPU)                                                     \
  case lang::Precision::PRECISION:                                                                 \
    return GPU;
#include "dialects/nn/Narrow.def"
  case lang::Precision::F32:
  case lang::Precision::TF32:
  case lang::Precision::F64:
    return true;
  }
  llvm_unreachable("a precision that no case has");
}

struct WidenPrecisionPass : tplan::precision::impl::WidenPrecisionPassBase<WidenPrecisionPass> {
  void runOnOperation() final {
    lang::Settings settings(getOperation());
    lang::Precision precision = settings.plan.precision;
    bool isGpu = lang::targetOf(getOperation()).isGpu();
    StringRef why; // it is refused, and how else to compile
    if (isGpu && !isForGpus(precision) && !settings.plan.computedIn)
      why = "GPUs multiply no operands of this type: compile for a CPU";
    else if (!isGpu && precision == lang::Precision::TF32)
      why = "tf32 is how GPUs multiply: compile with --target=cuda:ARCH";
    if (!why.empty()) {
      emitError(settings.planLine("precision"))
          << why << ", or name another precision; found " << lang::stringifyPrecision(precision);
      return signalPassFailure();
    }
    if (precision != lang::Precision::F64)
      return;
    precision::widenTypes(getOperation());
    precision::eraseEqualCasts(getOperation());
  }
};

} // namespace
