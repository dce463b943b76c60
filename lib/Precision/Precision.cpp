//===- Precision.cpp - what the passes of `precision` share ---------------===//
#include "lib/Precision/Precision.h"
#include "dialects/nn/NN.h"
#include "dialects/tplan/Settings.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

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
