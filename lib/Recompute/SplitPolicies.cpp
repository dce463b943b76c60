//===- SplitPolicies.cpp - which layers recompute -------------------------===//
//
// The plan names a policy for all layers and others for ranges of the lists. Runs
// are cut where the policy changes; a layer with a second policy gets a copy of
// its joint function and of its other parts under another name.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNRuns.h"
#include "dialects/tplan/Settings.h"
#include "lib/Recompute/Recompute.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

constexpr StringLiteral kPolicy = "recompute";

/// The parts that exist beside a joint function: all that its cut does not make.
SmallVector<Part> partsBesideJoint() {
  SmallVector<Part> parts;
  for (const PartFacts &facts : kPartFacts)
    if (!takesOperands(facts.part))
      parts.push_back(facts.part);
  return parts;
}

class Policies {
public:
  Policies(ModuleOp module, const lang::Recompute &plan)
      : symbols(module), parts(module), plan(plan) {}

  /// Policy of layer `layer`, counted over all lists; later rules win.
  StringRef of(int64_t layer) const {
    lang::RecomputePolicy policy = plan.standard;
    for (const lang::RecomputeRule &rule : plan.rules)
      if (rule.first <= layer && layer <= rule.last)
        policy = rule.policy;
    return lang::stringifyRecomputePolicy(policy);
  }

  void apply(RunOp run, StringRef policy) {
    SmallVector<Attribute> callees;
    for (auto callee : run.getCallees().getAsRange<FlatSymbolRefAttr>())
      callees.push_back(withPolicy(callee.getValue(), policy));
    run.setCalleesAttr(ArrayAttr::get(run.getContext(), callees));
  }

private:
  /// The layer under a policy: itself the first time, then a copy.
  FlatSymbolRefAttr withPolicy(StringRef name, StringRef policy) {
    auto layer = symbols.lookup<LayerOp>(name);
    MLIRContext *ctx = layer.getContext();
    auto has = layer->getAttrOfType<StringAttr>(kPolicy);
    if (!has)
      layer->setAttr(kPolicy, StringAttr::get(ctx, policy));
    if (!has || has.getValue() == policy)
      return FlatSymbolRefAttr::get(layer);
    FlatSymbolRefAttr &copy = copies[(name + "." + policy).str()];
    if (!copy) {
      LayerOp other =
          copyLayer(symbols, parts, layer, (name + "_" + policy).str(), partsBesideJoint());
      other->setAttr(kPolicy, StringAttr::get(ctx, policy));
      copy = FlatSymbolRefAttr::get(other);
    }
    return copy;
  }

  llvm::StringMap<FlatSymbolRefAttr> copies; // by name and policy
  SymbolTable symbols;
  PartTable<LayerOp> parts;
  const lang::Recompute &plan;
};

struct SplitPoliciesPass : PassWrapper<SplitPoliciesPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitPoliciesPass)
  StringRef getArgument() const final { return "split-policies"; }

  void runOnOperation() final {
    const lang::Recompute &plan = lang::Settings(getOperation()).plan.recompute;
    for (auto chain : getOperation().getOps<ChainOp>())
      if (chain.getLosses())
        split(chain, Policies(getOperation(), plan));
  }

  static void split(ChainOp chain, Policies policies) {
    int64_t layer = 0; // over all lists
    for (auto run : llvm::make_early_inc_range(chain.getOps<RunOp>())) {
      if (!isListRun(run)) {
        policies.apply(run, policies.of(-1));
        continue;
      }
      SmallVector<int64_t> borders;
      SmallVector<StringRef> of = {policies.of(layer)};
      int64_t layers = layersOf(run);
      for (int64_t i = 1; i < layers; ++i)
        if (StringRef next = policies.of(layer + i); next != of.back()) {
          borders.push_back(i);
          of.push_back(next);
        }
      for (auto [policy, pieces] : llvm::zip(of, cutRun(run, borders)))
        for (RunOp piece : pieces)
          policies.apply(piece, policy);
      layer += layers;
    }
  }
};

} // namespace

std::unique_ptr<Pass> tplan::recompute::createSplitPoliciesPass() {
  return std::make_unique<SplitPoliciesPass>();
}
