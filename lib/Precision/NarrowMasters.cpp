//===- NarrowMasters.cpp - narrow-masters: weights that are kept narrow ---===//
//
// A weight is stored in a narrow type: whoever reads it widens it, the update computes in f32 and
// rounds what it writes to nearest.
//
// One decision: this pass comes before those that place working copies. They find a narrow weight
// below the cast, so a GEMM in that type reads the weight itself, and a copy in another form is
// made of what is kept.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/nn/NNRuns.h"
#include "dialects/tplan/Settings.h"
#include "lib/Precision/Precision.h"
#include "mlir/IR/BuiltinOps.h"

namespace tplan::precision {
#define GEN_PASS_DEF_NARROWMASTERSPASS
#include "lib/Precision/Passes.h.inc"
} // namespace tplan::precision

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

/// Rows that are looked up are widened after it, and not the whole table before.
void widenRows(LookupOp lookup, FloatType narrow) {
  Value rows = lookup.getResult();
  auto wide = cast<FloatType>(typeOf(rows).getElementType());
  rows.setType(typeOf(rows).withElement(narrow));
  NNBuilder b(lookup.getLoc(), lookup);
  b.setInsertionPointAfter(lookup);
  Value widened = b.cast(rows, wide);
  rows.replaceAllUsesExcept(widened, widened.getDefiningOp());
}

/// A layer or one of its parts reads and writes the weight of this name in the narrow type.
void narrowWeight(LayerOp layer, StringRef name, FloatType narrow) {
  if (std::optional<unsigned> at = layer.findArg(Role::Param, name)) {
    BlockArgument arg = layer.getArgument(*at);
    auto wide = cast<FloatType>(typeOf(arg).getElementType());
    if (wide == narrow)
      return; // a layer of several runs
    SmallVector<OpOperand *> readers;
    for (OpOperand &use : arg.getUses())
      readers.push_back(&use);
    arg.setType(typeOf(arg).withElement(narrow));
    NNBuilder b(arg.getLoc(), layer);
    b.setInsertionPointToStart(&layer.getBlock());
    Value widened;
    for (OpOperand *use : readers)
      if (auto lookup = dyn_cast<LookupOp>(use->getOwner()))
        widenRows(lookup, narrow);
      else
        use->set(widened ? widened : widened = b.cast(arg, wide));
  }
  if (std::optional<unsigned> at = layer.findResult(Role::Param, name)) {
    OpOperand &next = layer.getReturn()->getOpOperand(*at);
    next.set(NNBuilder(next.get().getLoc(), layer.getReturn()).cast(next.get(), narrow));
  }
  takeTypesOfBody(layer);
}

struct NarrowMastersPass : tplan::precision::impl::NarrowMastersPassBase<NarrowMastersPass> {
  void runOnOperation() final {
    lang::Settings settings(getOperation());
    if (!settings.plan.master)
      return markAllAnalysesPreserved();
    FloatType narrow = precision::narrowTypeOf(*settings.plan.master, &getContext());
    for (auto param : getOperation().getOps<ParamOp>())
      if (!param.isState())
        param.setType(cast<Tensor>(param.getType()).withElement(narrow));
    SymbolTable symbols(getOperation());
    PartTable<LayerOp> parts(getOperation());
    for (auto chain : getOperation().getOps<ChainOp>())
      for (auto run : chain.getOps<RunOp>())
        for (auto [callee, bound] : llvm::zip(run.getCallees().getAsRange<FlatSymbolRefAttr>(),
                                              run.getParams().getAsRange<DictionaryAttr>()))
          for (NamedAttribute entry : bound) {
            auto param =
                symbols.lookup<ParamOp>(cast<FlatSymbolRefAttr>(entry.getValue()).getValue());
            if (param.isState())
              continue;
            narrowWeight(symbols.lookup<LayerOp>(callee.getValue()), entry.getName(), narrow);
            for (Part part : partsBesideJoint())
              if (LayerOp beside = parts.lookup(callee, part))
                narrowWeight(beside, entry.getName(), narrow);
          }
  }
};

} // namespace
