//===- Member.cpp - scalars and weights that a function takes ------------------===//
#include "lib/Shard/Member.h"
#include "dialects/nn/NNRuns.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

Value shard::memberOf(LayerOp layer, ArrayRef<StringAttr> axes) {
  std::string name =
      "member." + llvm::join(llvm::map_range(axes, [](StringAttr a) { return a.getValue(); }), "+");
  Label label{Role::Scalar, name};
  label.member = dist::arrayOf(layer.getContext(), axes);
  return scalarOf(layer, label);
}

ParamOp shard::paramOf(SymbolTable &symbols, LayerOp layer, StringRef name) {
  auto chain = symbols.lookup<ChainOp>(kTrainChain);
  FlatSymbolRefAttr whole = layer.getWholeLayer();
  for (auto run : chain.getOps<RunOp>())
    for (auto [callee, params] : llvm::zip(run.getCallees().getAsRange<FlatSymbolRefAttr>(),
                                           run.getParams().getAsRange<DictionaryAttr>()))
      if (callee == whole)
        if (auto symbol = params.getAs<FlatSymbolRefAttr>(name))
          return symbols.lookup<ParamOp>(symbol.getValue());
  return {};
}
