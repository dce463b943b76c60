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

namespace tplan::recompute {
#define GEN_PASS_DEF_SPLITPOLICIESPASS
#include "lib/Recompute/Passes.h.inc"
} // namespace tplan::recompute

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

using lang::RecomputePolicy;

static constexpr StringLiteral kPolicy = "recompute";

std::optional<RecomputePolicy> tplan::recompute::policyOf(LayerOp layer) {
  auto policy = layer->getAttrOfType<StringAttr>(kPolicy);
  return policy ? lang::symbolizeRecomputePolicy(policy.getValue()) : std::nullopt;
}

void tplan::recompute::setPolicy(LayerOp layer, RecomputePolicy policy) {
  layer->setAttr(kPolicy,
                 StringAttr::get(layer.getContext(), lang::stringifyRecomputePolicy(policy)));
}

namespace {

class Policies {
public:
  Policies(ModuleOp module, const lang::Recompute &plan)
      : symbols(module), parts(module), plan(plan) {}

  /// Policy of layer `layer`, counted over all lists; later rules win.
  RecomputePolicy of(int64_t layer) const {
    RecomputePolicy policy = plan.standard;
    for (const lang::RecomputeRule &rule : plan.rules)
      if (rule.first <= layer && layer <= rule.last)
        policy = rule.policy;
    return policy;
  }

  void apply(RunOp run, RecomputePolicy policy) {
    SmallVector<Attribute> callees;
    for (auto callee : run.getCallees().getAsRange<FlatSymbolRefAttr>())
      callees.push_back(withPolicy(callee.getValue(), policy));
    run.setCalleesAttr(ArrayAttr::get(run.getContext(), callees));
  }

private:
  /// The layer under a policy: itself the first time, then a copy.
  FlatSymbolRefAttr withPolicy(StringRef name, RecomputePolicy policy) {
    auto layer = symbols.lookup<LayerOp>(name);
    std::optional<RecomputePolicy> has = recompute::policyOf(layer);
    if (!has)
      recompute::setPolicy(layer, policy);
    if (!has || has == policy)
      return FlatSymbolRefAttr::get(layer);
    FlatSymbolRefAttr &copy = copies[{layer.getSymNameAttr(), policy}];
    if (!copy) {
      std::string symbol = (name + "_" + lang::stringifyRecomputePolicy(policy)).str();
      LayerOp other = copyLayer(symbols, parts, layer, symbol, partsBesideJoint());
      recompute::setPolicy(other, policy);
      copy = FlatSymbolRefAttr::get(other);
    }
    return copy;
  }

  DenseMap<std::pair<StringAttr, RecomputePolicy>, FlatSymbolRefAttr> copies; // of a layer
  SymbolTable symbols;
  PartTable<LayerOp> parts;
  const lang::Recompute &plan;
};

struct SplitPoliciesPass : tplan::recompute::impl::SplitPoliciesPassBase<SplitPoliciesPass> {
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
      SmallVector<RecomputePolicy> of = {policies.of(layer)};
      int64_t layers = layersOf(run);
      for (int64_t i = 1; i < layers; ++i)
        if (RecomputePolicy next = policies.of(layer + i); next != of.back()) {
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
