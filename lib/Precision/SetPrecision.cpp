//===- SetPrecision.cpp - the plan's element type -------------------------===//
//
// `f32` is what `model` wrote; `f64` widens every f32, which makes a test oracle
// of any plan.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/tplan/Tplan.h"
#include "lib/Precision/Precision.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

void widen(ModuleOp module) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](Float32Type type) -> Type {
    return Float64Type::get(type.getContext());
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  module.walk([](CastOp cast) { // those between f32 and f64
    if (cast.getX().getType() == cast.getType()) {
      cast.replaceAllUsesWith(cast.getX());
      cast.erase();
    }
  });
}

struct SetPrecisionPass : PassWrapper<SetPrecisionPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SetPrecisionPass)
  StringRef getArgument() const final { return "set-precision"; }
  StringRef getDescription() const final { return "the plan's element type"; }

  void runOnOperation() final {
    for (auto plan : getOperation().getOps<lang::PlanOp>()) {
      auto precision = plan.getSettings().getAs<StringAttr>("precision");
      if (!precision || precision.getValue() == "f32")
        continue;
      if (precision.getValue() == "f64") {
        widen(getOperation());
        continue;
      }
      plan.emitError("precision must be f32 or f64, found ") << precision.getValue();
      return signalPassFailure();
    }
  }
};

} // namespace

std::unique_ptr<Pass> tplan::precision::createSetPrecisionPass() {
  return std::make_unique<SetPrecisionPass>();
}
