//===- WidenRoundings.cpp - bf16 in f64, f16 in f64: oracles -------------===//
//
// The program of a plan in bf16 or f16, computed in f64: values of that type are rounded to it and
// kept in f64, each rounded once and where it was rounded before. So the error of code in the
// narrow type (of a kernel, a GEMM, a rounding too many) shows as the difference between the two,
// without the error that the plan itself chose.
//
// One decision: roundings to f32 are not kept. They are 2^13 times finer than those
// to f16, and the order of sums in f32 is a choice of each kernel, which no other
// program repeats; a program in f64 is the same for all of them.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/nn/Narrow.h"
#include "dialects/tplan/Settings.h"
#include "lib/Precision/Precision.h"

namespace tplan::precision {
#define GEN_PASS_DEF_WIDENROUNDINGSPASS
#include "lib/Precision/Passes.h.inc"
} // namespace tplan::precision

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

/// v rounded where it is defined; a cast to the narrow type becomes the rounding.
void roundAtDefinition(Value v, Type narrow) {
  auto cast = v.getDefiningOp<CastOp>();
  bool replaces = cast && cast.getX().getType() == v.getType(); // casts from what was f32
  OpBuilder b(v.getContext());
  b.setInsertionPointAfterValue(v);
  Value exact = replaces ? cast.getX() : v;
  auto rounded = RoundOp::create(b, v.getLoc(), v.getType(), exact, TypeAttr::get(narrow));
  v.replaceAllUsesExcept(rounded, rounded);
  if (replaces)
    cast.erase();
}

/// Codes times their scales, where a GEMM multiplies sums of products of codes.
void applyScales(ContractOp contract) {
  if (!contract.getLhsScale())
    return;
  NNBuilder b(contract.getLoc(), contract);
  auto value = [&](Value codes, Value scale) {
    return b.mul(b.cast(codes, b.getF32Type()), scale);
  };
  Value product =
      b.create<ContractOp>(contract.getType(), value(contract.getLhs(), contract.getLhsScale()),
                           value(contract.getRhs(), contract.getRhsScale()));
  contract.replaceAllUsesWith(product);
  contract.erase();
}

struct WidenRoundingsPass : tplan::precision::impl::WidenRoundingsPassBase<WidenRoundingsPass> {
  void runOnOperation() final {
    const lang::Plan &plan = lang::Settings(getOperation()).plan;
    if (plan.computedIn != lang::Precision::F64)
      return;
    SmallVector<ContractOp> contractions;
    getOperation().walk([&](ContractOp contract) { contractions.push_back(contract); });
    llvm::for_each(contractions, applyScales);
    // Arguments hold what their callers have rounded, except the first values of weights.
    SmallVector<std::pair<Value, Type>> narrow;
    getOperation().walk([&](LayerOp layer) {
      for (BlockArgument arg : layer.getArguments())
        if (Type type = typeOf(arg).getElementType();
            plan.master && isNarrow(type) && layer.getArgRole(arg.getArgNumber()) == Role::Param)
          narrow.push_back({arg, type});
      for (Operation &op : layer.getBlock())
        for (OpResult v : op.getResults())
          if (Type type = typeOf(v).getElementType(); isNarrow(type))
            narrow.push_back({v, type});
    });
    precision::widenTypes(getOperation());
    for (auto [v, type] : narrow)
      roundAtDefinition(v, type);
    precision::eraseEqualCasts(getOperation());
  }
};

} // namespace
