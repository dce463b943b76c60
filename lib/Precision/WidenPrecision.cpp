//===- WidenPrecision.cpp - precision f64: every f32 becomes f64 ----------===//
//
// `model` writes f32. A plan in f64 is the same program with wider numbers, and
// so the reference that others are tested against.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/tplan/Settings.h"
#include "lib/Precision/Precision.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

struct WidenPrecisionPass : PassWrapper<WidenPrecisionPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WidenPrecisionPass)
  StringRef getArgument() const final { return "widen-precision"; }
  StringRef getDescription() const final { return "precision f64: every f32 becomes f64"; }

  void runOnOperation() final {
    if (precision::nameOf(getOperation()) != "f64")
      return;
    precision::widenTypes(getOperation());
    precision::eraseEqualCasts(getOperation());
  }
};

} // namespace

void tplan::precision::widenTypes(ModuleOp module) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](FloatType type) -> Type {
    return type.isF32() || type.isBF16() ? Float64Type::get(type.getContext()) : Type(type);
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

void tplan::precision::eraseEqualCasts(ModuleOp module) {
  module.walk([](CastOp cast) {
    if (cast.getX().getType() == cast.getType()) {
      cast.replaceAllUsesWith(cast.getX());
      cast.erase();
    }
  });
}

StringRef tplan::precision::nameOf(ModuleOp module) {
  return lang::getString(lang::Settings(module).plan, "precision", "f32");
}

std::unique_ptr<Pass> tplan::precision::createWidenPrecisionPass() {
  return std::make_unique<WidenPrecisionPass>();
}
