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

FloatType tplan::precision::narrowTypeOf(ModuleOp module) {
  StringRef name = nameOf(module);
  for (FloatType type : {FloatType(BFloat16Type::get(module.getContext())),
                         FloatType(Float16Type::get(module.getContext()))}) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    if (name == text)
      return type;
  }
  return {};
}

StringRef tplan::precision::nameOf(ModuleOp module) {
  return lang::getString(lang::Settings(module).plan, "precision", "f32");
}
