//===- MergeLayers.cpp - equal layers are one function --------------------===//
//
// The same layers written as two lists, or as two members, become one function
// called by several runs: code, and the time to compile it, follow what is distinct.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/Parts.h"
#include "lib/Model/Model.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OperationSupport.h"

namespace tplan::model {
#define GEN_PASS_DEF_MERGELAYERSPASS
#include "lib/Model/Passes.h.inc"
} // namespace tplan::model

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

constexpr auto kAnywhere = OperationEquivalence::IgnoreLocations;

/// Equal except for the names and for the places in the source.
bool haveEqualBodies(LayerOp a, LayerOp b) {
  auto named = [](LayerOp layer) {
    NamedAttrList attributes(layer->getAttrs());
    attributes.erase(SymbolTable::getSymbolAttrName());
    attributes.erase(layer.getLayerAttrName());
    return attributes.getDictionary(layer.getContext());
  };
  return named(a) == named(b) &&
         OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(), kAnywhere);
}

/// What runs once a step for the layer, if anything does.
LayerOp statesOf(const PartTable<LayerOp> &parts, LayerOp layer) {
  return parts.lookup(layer.getWholeLayer(), Part::States);
}

bool areEqual(const PartTable<LayerOp> &parts, LayerOp a, LayerOp b) {
  LayerOp statesA = statesOf(parts, a), statesB = statesOf(parts, b);
  return haveEqualBodies(a, b) && bool(statesA) == bool(statesB) &&
         (!statesA || haveEqualBodies(statesA, statesB));
}

struct MergeLayersPass : tplan::model::impl::MergeLayersPassBase<MergeLayersPass> {
  void runOnOperation() final {
    PartTable<LayerOp> parts(getOperation());
    SmallVector<LayerOp> layers, kept;
    for (auto layer : getOperation().getOps<LayerOp>())
      if (!layer.getPart())
        layers.push_back(layer);
    DenseMap<Attribute, Attribute> callees; // of layers that are gone
    for (LayerOp layer : layers) {
      auto equal =
          llvm::find_if(kept, [&](LayerOp other) { return areEqual(parts, other, layer); });
      if (equal == kept.end()) {
        kept.push_back(layer);
        continue;
      }
      callees[FlatSymbolRefAttr::get(layer)] = FlatSymbolRefAttr::get(*equal);
      if (LayerOp states = statesOf(parts, layer))
        states.erase();
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
