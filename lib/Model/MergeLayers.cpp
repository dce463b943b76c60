//===- MergeLayers.cpp - equal layers are one function --------------------===//
//
// The same layers written as two lists, or as two members, become one function
// called by several runs: code, and the time to compile it, follow what is distinct.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NN.h"
#include "lib/Model/Model.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

constexpr auto kAnywhere = OperationEquivalence::IgnoreLocations;

/// Equal but for the name and for the places in the source.
bool haveEqualBodies(LayerOp a, LayerOp b) {
  auto named = [](LayerOp layer) {
    NamedAttrList attributes(layer->getAttrs());
    attributes.erase(SymbolTable::getSymbolAttrName());
    return attributes.getDictionary(layer.getContext());
  };
  return named(a) == named(b) &&
         OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(), kAnywhere);
}

/// What runs once a step for the layer, if anything does.
LayerOp partOnce(LayerOp layer) {
  return layer->getParentOfType<ModuleOp>().lookupSymbol<LayerOp>(layer.getSymName().str() + ".S");
}

bool areEqual(LayerOp a, LayerOp b) {
  LayerOp onceA = partOnce(a), onceB = partOnce(b);
  return haveEqualBodies(a, b) && bool(onceA) == bool(onceB) &&
         (!onceA || haveEqualBodies(onceA, onceB));
}

struct MergeLayersPass : PassWrapper<MergeLayersPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MergeLayersPass)
  StringRef getArgument() const final { return "merge-layers"; }

  void runOnOperation() final {
    SmallVector<LayerOp> layers, kept;
    for (auto layer : getOperation().getOps<LayerOp>())
      if (!layer.getPart())
        layers.push_back(layer);
    DenseMap<Attribute, Attribute> callees; // of layers that are gone
    for (LayerOp layer : layers) {
      auto equal = llvm::find_if(kept, [&](LayerOp other) { return areEqual(other, layer); });
      if (equal == kept.end()) {
        kept.push_back(layer);
        continue;
      }
      callees[FlatSymbolRefAttr::get(layer)] = FlatSymbolRefAttr::get(*equal);
      if (LayerOp once = partOnce(layer))
        once.erase();
      layer.erase();
    }
    getOperation().walk([&](RunOp run) {
      auto now = llvm::map_to_vector(run.getCallees(), [&](Attribute callee) {
        Attribute merged = callees.lookup(callee);
        return merged ? merged : callee;
      });
      run.setCalleesAttr(ArrayAttr::get(&getContext(), now));
    });
  }
};

} // namespace

std::unique_ptr<Pass> tplan::model::createMergeLayersPass() {
  return std::make_unique<MergeLayersPass>();
}
