//===- AuditScales.cpp - audit-scales: scales are recorded --------------------===//
//
// What a plan must not change, made visible: each scale, the maximum that it is made of, and the
// codes. Asked for by `tplanc --audit-scales`; a step computes the same with and without.
//
// One decision: a record is an op that a value goes through, not an effect beside it. So passes
// treat it as any op, and it is computed where, and as often as, the value is.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNRuns.h"
#include "dialects/nn/Scalars.h"
#include "dialects/tplan/Settings.h"
#include "lib/Precision/DelayedScales.h"
#include "lib/Precision/Precision.h"
#include "lib/Precision/Quantise.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

namespace tplan::precision {
#define GEN_PASS_DEF_AUDITSCALESPASS
#include "lib/Precision/Passes.h.inc"
} // namespace tplan::precision

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::precision;

namespace {

class Auditor {
public:
  Auditor(LayerOp layer, StringRef sequence) : layer(layer), sequence(sequence) {}

  /// What a joint layer quantises: activations, "x", and their gradients, "dy".
  void auditContractions() {
    DenseSet<Value> backward = backwardOf(layer);
    for (auto contract : SmallVector<ContractOp>(layer.getBlock().getOps<ContractOp>())) {
      if (!contract.getLhsScale())
        continue;
      for (auto [codes, scale] : {std::pair(contract.getLhs(), contract.getLhsScale()),
                                  std::pair(contract.getRhs(), contract.getRhsScale())}) {
        std::optional<ScaleParts> parts = partsOf(scale);
        if (!(parts || isDelayed(scale)) || !seen.insert(codes).second)
          continue; // a weight's, or recorded where another contraction reads it
        std::string what = (weightOf(contract) + (backward.contains(codes) ? " dy " : " x ") +
                            summedOf(contract, codes))
                               .str();
        if (parts) { // else part `states` makes them
          audit(parts->amax, what + " amax");
          audit(scale, what + " scale");
        }
        audit(codes, what + " codes");
        found = true;
      }
    }
  }

  /// Whether there is anything to record.
  bool found = false;

  /// What the parts update and prepare make of weights.
  void auditWeights() {
    for (unsigned i = 0, e = layer.getNumResults(); i < e; ++i) {
      Value scale = layer.getReturn().getOperand(i);
      std::optional<ScaleParts> parts = partsOf(scale);
      if (!parts)
        continue;
      StringRef name = layer.getResultName(i);
      audit(parts->amax, (name.rsplit('.').first + ".amax").str());
      audit(scale, name.str());
    }
  }

  /// What part `states` makes of a step's maxima, for the next step.
  void auditDelayed() {
    for (unsigned i = 0, e = layer.getNumArguments(); i < e; ++i) {
      StringRef name = layer.getArgName(i);
      if (layer.getArgRole(i) != Role::Contribution || !isDelayedMaximum(layer.getArgument(i)) ||
          !name.consume_back(kAmax))
        continue;
      auto [weight, role] = name.rsplit('.');
      auto record = [&](StringRef suffix, Value v) {
        audit(v, weight + " " + role + " " + suffix.drop_front());
      };
      record(kAmax, layer.getArgument(i));
      for (StringRef suffix : {kHistory, kMultiplier})
        if (auto at = layer.findResult(Role::State, (name + suffix).str()))
          record(suffix, layer.getReturn().getOperand(*at));
    }
  }

private:
  /// A contribution in f32; those of models are in f64.
  static bool isDelayedMaximum(Value v) { return typeOf(v).getElementType().isF32(); }

  /// The inverse of a state.
  bool isDelayed(Value scale) {
    auto inverse = scale.getDefiningOp<DivOp>();
    auto arg = inverse ? dyn_cast<BlockArgument>(inverse.getRhs()) : BlockArgument();
    return arg && layer.getArgRole(arg.getArgNumber()) == Role::State;
  }

  /// The name of the weight that a contraction reads the codes of, or makes the gradient of.
  StringRef weightOf(ContractOp contract) {
    for (Value operand : {contract.getLhs(), contract.getRhs()}) {
      while (auto split = operand.getDefiningOp<SplitOp>())
        operand = split.getX();
      if (auto arg = dyn_cast<BlockArgument>(operand))
        return layer.getArgName(arg.getArgNumber()).split("." + elementOf(arg)).first;
    }
    Operation *product = contract;
    while (product->hasOneUse() && isa<MergeOp, CastOp>(*product->user_begin()))
      product = *product->user_begin();
    return layer.getArgName(accumulatorOf(layer, product).getArgNumber());
  }

  static std::string elementOf(Value v) { return nn::elementName(typeOf(v).getElementType()); }

  /// The dimensions that a contraction sums, in the operand's order.
  static std::string summedOf(ContractOp contract, Value operand) {
    std::string dims;
    for (DimAttr dim : typeOf(operand).getDims())
      if (!typeOf(contract.getResult()).has(dim.getName()))
        dims += (dims.empty() ? "" : ",") + dim.getName().str();
    return dims;
  }

  void audit(Value v, const Twine &what) {
    OpBuilder b(layer.getContext());
    b.setInsertionPointAfterValue(v);
    bool hasSteps = layer.getPart() != Part::Prepare;
    bool isOfBatch = typeOf(v).has(sequence);
    auto op = AuditOp::create(b, v.getLoc(), v.getType(), v, scalar(kLayerScalar),
                              hasSteps ? scalar(kStepNumber) : Value(),
                              isOfBatch ? scalar(kOffsetScalar) : Value(), b.getStringAttr(what),
                              isOfBatch ? b.getStringAttr(sequence) : StringAttr(),
                              DenseI64ArrayAttr(), ArrayAttr());
    v.replaceAllUsesExcept(op.getResult(), op);
    seen.insert(op.getResult());
  }

  Value scalar(StringRef name) { return scalarOf(layer, {Role::Scalar, name}); }

  LayerOp layer;
  StringRef sequence;
  DenseSet<Value> seen;
};

struct AuditScalesPass : tplan::precision::impl::AuditScalesPassBase<AuditScalesPass> {
  void runOnOperation() final {
    StringRef sequence;
    for (auto chain : getOperation().getOps<ChainOp>())
      if (chain.getLosses())
        sequence = sequenceOf(chain);
    bool found = false;
    for (auto layer : getOperation().getOps<LayerOp>()) {
      Auditor auditor(layer, sequence);
      auditor.auditContractions();
      if (layer.getPart() == Part::Update || layer.getPart() == Part::Prepare)
        auditor.auditWeights();
      if (layer.getPart() == Part::States)
        auditor.auditDelayed();
      found |= auditor.found;
    }
    if (!found) {
      emitError(
          lang::Settings(getOperation()).planLine("precision"),
          "no GEMM of this plan is in f8, so --audit-scales has nothing to record: name weights "
          "in `precision bf16, fp8(blockwise) for ..`, or leave it out");
      signalPassFailure();
    }
  }
};

} // namespace
