//===- Precision.cpp - what the passes of `precision` share ---------------===//
#include "lib/Precision/Precision.h"
#include "dialects/nn/NN.h"
#include "dialects/nn/Narrow.h"
#include "dialects/tplan/Settings.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

void tplan::precision::widenTypes(ModuleOp module) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](FloatType type) -> Type {
    return type.isF32() || isNarrow(type) ? Float64Type::get(type.getContext()) : Type(type);
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

FloatType tplan::precision::narrowTypeOf(lang::Precision precision, MLIRContext *context) {
  switch (precision) {
#define NARROW_PRECISION(PRECISION, TYPE, GPU)                                                     \
  case lang::Precision::PRECISION:                                                                 \
    return TYPE::get(context);
#include "dialects/nn/Narrow.def"
  case lang::Precision::F32:
  case lang::Precision::TF32:
  case lang::Precision::F64:
    return {};
  }
  llvm_unreachable("a precision that no case has");
}
