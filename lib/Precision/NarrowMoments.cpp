//===- NarrowMoments.cpp - narrow-moments: the optimizer's states, narrow ---===//
//
// What part `update` keeps of past gradients, m and v, is stored in a narrow type: read, widened,
// and rounded to nearest when it is written. The formula stays f32, and a weight sees the moments
// as they were before they are rounded.
//
// One decision: a moment that is rounded to nearest no longer decays where one step takes less than
// half a unit of its last place away. That follows from the recipe's beta, which may be meant so,
// and is a warning.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/nn/NNRuns.h"
#include "dialects/tplan/Settings.h"
#include "lib/Precision/Precision.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Format.h"
#include <cmath>

namespace tplan::precision {
#define GEN_PASS_DEF_NARROWMOMENTSPASS
#include "lib/Precision/Passes.h.inc"
} // namespace tplan::precision

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

/// Whether a part has moments.
bool narrowMoments(LayerOp part, FloatType narrow) {
  NNBuilder b(part.getLoc(), part);
  b.setInsertionPointToStart(&part.getBlock());
  bool any = false;
  for (BlockArgument arg : part.getBlock().getArguments()) {
    Label label = part.getArgLabel(arg.getArgNumber());
    if (!label.slot)
      continue;
    any = true;
    Type wide = typeOf(arg).getElementType();
    arg.setType(typeOf(arg).withElement(narrow));
    Value widened = b.cast(arg, cast<FloatType>(wide));
    arg.replaceAllUsesExcept(widened, widened.getDefiningOp());
    OpOperand &next = part.getReturn()->getOpOperand(*part.findResult(label.role, label.name));
    NNBuilder atEnd(next.get().getLoc(), part.getReturn());
    next.set(atEnd.cast(next.get(), narrow));
  }
  takeTypesOfBody(part);
  return any;
}

/// A step that takes at least this part of a moment away changes it when it is rounded, wherever it
/// lies between two powers of two.
double leastLoss(FloatType type) { return std::ldexp(1, -int(type.getFPMantissaWidth())); }

void warnOfBetas(const lang::Settings &settings, FloatType narrow) {
  const lang::Optimizer &optimizer = *settings.recipe.optimizer;
  // What an optimizer does not have is 0.
  std::pair<StringRef, double> betas[] = {
      {"beta1", optimizer.beta1}, {"beta2", optimizer.beta2}, {"momentum", optimizer.momentum}};
  for (auto [name, beta] : betas)
    if (1 - beta < leastLoss(narrow)) {
      std::string value;
      llvm::raw_string_ostream(value) << llvm::format("%g", beta);
      auto diag = emitWarning(settings.planLine("precision"))
                  << "a moment in " << elementName(narrow)
                  << " may never decay: a step takes less of it than rounding gives back; take a "
                     "smaller "
                  << name << ", or leave it in f32; found " << name << " = " << value;
      diag.attachNote(settings.recipeLine("optimizer")) << "the optimizer is given here";
    }
}

struct NarrowMomentsPass : tplan::precision::impl::NarrowMomentsPassBase<NarrowMomentsPass> {
  void runOnOperation() final {
    lang::Settings settings(getOperation());
    if (!settings.plan.moments || !settings.recipe.optimizer)
      return markAllAnalysesPreserved();
    FloatType narrow = precision::narrowTypeOf(*settings.plan.moments, &getContext());
    bool any = false;
    for (auto layer : getOperation().getOps<LayerOp>())
      if (layer.getPart() == Part::Update)
        any |= narrowMoments(layer, narrow);
    if (any)
      return warnOfBetas(settings, narrow);
    auto error = emitError(settings.planLine("precision"))
                 << "this optimizer keeps no moments: drop `moments`, or give it a momentum; found "
                 << lang::stringifyPrecision(*settings.plan.moments);
    error.attachNote(settings.recipeLine("optimizer")) << "the optimizer is given here";
    signalPassFailure();
  }
};

} // namespace
