//===- InlineLayers.cpp - calls of layers become their bodies -------------===//
//
// Weights get the member's name as a prefix, so that a call twice of one member
// shares them. What stays apart is the element of a list: its `tplan.for` region
// holds the inlined body once, however long the list is.
//
//===----------------------------------------------------------------------===//
#include "dialects/tplan/Tplan.h"
#include "lib/Model/Model.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"

namespace tplan::model {
#define GEN_PASS_DEF_INLINELAYERSPASS
#include "lib/Model/Passes.h.inc"
} // namespace tplan::model

using namespace mlir;
using namespace tplan;

namespace {

/// Replaces `call` by a copy of the body of `layer`.
void inlineCall(lang::CallOp call, lang::LayerOp layer) {
  OpBuilder builder(call);
  IRMapping map;
  Block &body = layer.getBody().front();
  map.map(body.getArguments(), call.getArgs());
  for (Operation &op : body.without_terminator()) {
    Operation *copy = builder.clone(op, map);
    copy->setLoc(CallSiteLoc::get(op.getLoc(), call.getLoc()));
    if (call.getMember().empty())
      continue;
    // A nested call prefixes its own weights when it is inlined in its turn.
    if (auto weight = dyn_cast<lang::WeightOp>(copy))
      weight.setName((call.getMember() + "." + weight.getName()).str());
    if (auto nested = dyn_cast<lang::CallOp>(copy))
      nested.setMember(
          (call.getMember() + (nested.getMember().empty() ? "" : "." + nested.getMember().str()))
              .str());
  }
  for (auto [result, value] : llvm::zip(call.getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(map.lookupOrDefault(value));
  call.erase();
}

struct InlineLayersPass : tplan::model::impl::InlineLayersPassBase<InlineLayersPass> {
  void runOnOperation() final {
    SymbolTable symbols(getOperation());
    for (auto model : getOperation().getOps<lang::ModelOp>()) {
      // Calls inside an inlined body come up again, until none is left.
      bool changed = true;
      while (changed) {
        SmallVector<lang::CallOp> calls;
        model.walk([&](lang::CallOp call) { calls.push_back(call); });
        for (lang::CallOp call : calls) {
          auto layer = symbols.lookup<lang::LayerOp>(call.getCallee());
          if (!layer) {
            call.emitOpError("calls no layer: ") << call.getCallee();
            return signalPassFailure();
          }
          inlineCall(call, layer);
        }
        changed = !calls.empty();
      }
    }
    for (auto layer : llvm::make_early_inc_range(getOperation().getOps<lang::LayerOp>()))
      layer.erase();
  }
};

} // namespace
