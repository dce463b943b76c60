//===- WidenRoundings.cpp - precision bf16 in f64: the oracle of bf16 -----===//
//
// The program of a bf16 plan, computed in f64: what was of type bf16 is rounded to
// bf16 and kept in f64, where it was rounded before and once. So an error of code in
// bf16 (a kernel, a GEMM, a rounding too many) shows as what is left between the two,
// without the error that the plan itself chose.
//
// One decision: roundings to f32 are not kept. They are 2^16 times finer than those
// to bf16, and the order of sums in f32 is a choice of each kernel, which no other
// program repeats; a program in f64 is the same for all of them.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/tplan/Settings.h"
#include "lib/Precision/Precision.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

/// v rounded where it is defined; a cast to bf16 becomes the rounding.
void roundAtDefinition(OpResult v, Type narrow) {
  auto cast = v.getDefiningOp<CastOp>();
  bool replaces = cast && cast.getX().getType() == v.getType(); // of what was f32
  OpBuilder b(v.getContext());
  b.setInsertionPointAfter(v.getOwner());
  Value exact = replaces ? cast.getX() : Value(v);
  auto rounded = RoundOp::create(b, v.getLoc(), v.getType(), exact, TypeAttr::get(narrow));
  v.replaceAllUsesExcept(rounded, rounded);
  if (replaces)
    cast.erase();
}

struct WidenRoundingsPass : PassWrapper<WidenRoundingsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WidenRoundingsPass)
  StringRef getArgument() const final { return "widen-roundings"; }

  void runOnOperation() final {
    if (lang::getString(lang::Settings(getOperation()).plan, "computed_in", "") != "f64")
      return;
    SmallVector<OpResult> narrow; // arguments hold what their callers have rounded
    getOperation().walk([&](LayerOp layer) {
      for (Operation &op : layer.getBlock())
        for (OpResult v : op.getResults())
          if (typeOf(v).getElementType().isBF16())
            narrow.push_back(v);
    });
    precision::widenTypes(getOperation());
    for (OpResult v : narrow)
      roundAtDefinition(v, BFloat16Type::get(&getContext()));
    precision::eraseEqualCasts(getOperation());
  }
};

} // namespace

std::unique_ptr<Pass> tplan::precision::createWidenRoundingsPass() {
  return std::make_unique<WidenRoundingsPass>();
}
