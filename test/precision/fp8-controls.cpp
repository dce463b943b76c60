//===- fp8-controls.cpp - plans in FP8 that do one thing wrong --------------===//
//
//   fp8-controls FILE.tplan PLAN CONTROL -o BINARY
//
// What a test of FP8 must distinguish from the real plan. They are made after the precision phase,
// where scales are ordinary ops, so all later phases compile them like any plan:
//
//   stuck       all scales that are found in the step are 1
//   unpromoted  sums go on over panels: scales multiply codes, and nothing is promoted
//   transposed  the gradient of a weight reads codes that were quantised along the other dimension,
//               with the scales that it should have had
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "lib/Precision/Precision.h"
#include "lib/Precision/Quantise.h"
#include "mlir/IR/BuiltinOps.h"
#include "test/invariance/plan_tool.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

int stickScales(LayerOp layer) {
  int changed = 0;
  layer.walk([&](DivOp scale) {
    auto parts = precision::partsOf(scale.getResult());
    if (!parts)
      return;
    Operation *multiplier = parts->multiplier.getDefiningOp();
    NNBuilder b(multiplier->getLoc(), multiplier);
    Tensor type = typeOf(parts->multiplier);
    parts->multiplier.replaceAllUsesWith(b.broadcast(b.like(parts->multiplier, 1), type));
    ++changed;
  });
  return changed;
}

int dropPromotion(LayerOp layer) {
  int changed = 0;
  layer.walk([&](ContractOp contract) {
    if (!contract.getLhsScale())
      return;
    contract.setFolded(true);
    ++changed;
  });
  return changed;
}

/// Codes, and what they were made of before it was split.
struct Codes {
  CastOp cast;
  Value whole;
  SmallVector<SplitOp> splits; // the last one first
};
std::optional<Codes> codesOf(Value v) {
  auto cast = v.getDefiningOp<CastOp>();
  auto scaled = cast ? cast.getX().getDefiningOp<MulOp>() : MulOp();
  if (!scaled || !isa<Float8E4M3FNType, Float8E5M2Type>(typeOf(v).getElementType()))
    return std::nullopt;
  Codes codes{cast, scaled.getLhs(), {}};
  while (auto split = codes.whole.getDefiningOp<SplitOp>()) {
    codes.splits.push_back(split);
    codes.whole = split.getX();
  }
  return codes;
}

int transpose(LayerOp layer) {
  SmallVector<Codes> all;
  for (auto cast : layer.getBlock().getOps<CastOp>())
    if (auto codes = codesOf(cast))
      all.push_back(*codes);
  int changed = 0;
  for (auto contract : layer.getBlock().getOps<ContractOp>()) {
    if (!contract.getLhsScale() || !precision::accumulatorOf(layer, contract))
      continue;
    for (OpOperand &operand : contract->getOpOperands().take_front(2)) {
      auto mine = codesOf(operand.get());
      if (!mine)
        continue;
      auto isAlongOther = [&](Codes &each) {
        return each.whole == mine->whole && each.cast.getType() != mine->cast.getType() &&
               typeOf(each.cast).getElementType() == typeOf(mine->cast).getElementType();
      };
      auto *other = llvm::find_if(all, isAlongOther);
      if (other == all.end())
        continue;
      NNBuilder b(contract.getLoc(), contract);
      Value codes = other->cast;
      for (SplitOp split : other->splits)
        codes = b.merge(codes, split.getDim());
      for (SplitOp split : llvm::reverse(mine->splits))
        codes = b.split(codes, split.getDim(), split.getBy());
      operand.set(codes);
      ++changed;
    }
  }
  return changed;
}

struct Control {
  StringRef name;
  int (*apply)(LayerOp);
};
const Control kControls[] = {
    {"stuck", stickScales}, {"unpromoted", dropPromotion}, {"transposed", transpose}};

} // namespace

int main(int argc, char **argv) {
  test::PlanTool tool("fp8-controls", argv[0]);
  const Control *control =
      argc == 6 && StringRef(argv[4]) == "-o"
          ? llvm::find_if(kControls, [&](auto &each) { return each.name == argv[3]; })
          : std::end(kControls);
  if (control == std::end(kControls))
    return tool.fail("usage: fp8-controls FILE.tplan PLAN stuck|unpromoted|transposed -o BINARY");
  if (!tool.open(argv[1], argv[2], "cpu"))
    return 1;
  tool.options.last = Phase::emit;
  int changed = 0;
  tool.options.after = [&](Phase phase, ModuleOp module) {
    if (phase == Phase::precision)
      for (auto layer : module.getOps<LayerOp>())
        changed += control->apply(layer);
  };
  Result result = compile(tool.source, tool.options);
  if (!result.ok())
    return static_cast<int>(result.outcome);
  if (!changed)
    return tool.fail("this plan has nothing of which the control is made");
  return tool.link(result, argv[5]);
}
