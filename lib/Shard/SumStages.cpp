//===- SumStages.cpp - gradients to which several stages add ---------------===//
//
// A weight that layers of several stages read, such as a tied embedding, has a part of its gradient
// in each of them. This pass makes the function that adds the part of one stage to that of another;
// the schedule calls it, whether the part is on the same rank or comes from another one.
//
// One decision: it is made where sizes are those of a rank, like any other function on gradients,
// so that later phases make a kernel of it without knowing what it is for.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/nn/NNRuns.h"
#include "lib/Shard/Shard.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include <set>

namespace tplan::shard {
#define GEN_PASS_DEF_SUMSTAGESPASS
#include "lib/Shard/Passes.h.inc"
} // namespace tplan::shard

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

/// The gradient of a weight, as layers add to it.
struct Gradient {
  Tensor type; // of one rank
  /// By first instance: the stages that have it.
  llvm::MapVector<int64_t, std::set<int64_t>> stages;

  bool isShared() const {
    return llvm::any_of(stages, [](auto &each) { return each.second.size() > 1; });
  }
};

struct SumStagesPass : tplan::shard::impl::SumStagesPassBase<SumStagesPass> {
  void runOnOperation() final {
    auto chain = getOperation().lookupSymbol<ChainOp>(kTrainChain);
    if (!chain)
      return;
    SymbolTable symbols(getOperation());
    llvm::MapVector<Operation *, Gradient> gradients;
    for (auto run : chain.getOps<RunOp>())
      for (auto [callee, params] : llvm::zip(run.getCallees().getAsRange<FlatSymbolRefAttr>(),
                                             run.getParams().getAsRange<DictionaryAttr>()))
        if (auto layer = symbols.lookup<LayerOp>(callee.getValue()))
          note(symbols, run, layer, params, gradients);
    for (auto &[op, gradient] : gradients)
      if (gradient.isShared())
        symbols.insert(makeSum(cast<ParamOp>(op), gradient.type));
  }

  /// A weight of a list has an instance for each of its layers, and these lie in one stage each, or
  /// in one of each copy of the stages.
  static void note(SymbolTable &symbols, RunOp run, LayerOp layer, DictionaryAttr params,
                   llvm::MapVector<Operation *, Gradient> &gradients) {
    for (unsigned i = 0, e = layer.getNumResults(); i < e; ++i) {
      auto symbol = params.getAs<FlatSymbolRefAttr>(layer.getResultName(i));
      auto param = symbol ? symbols.lookup<ParamOp>(symbol.getValue()) : ParamOp();
      if (layer.getResultRole(i) != Role::CotParam || !param)
        continue;
      int64_t first = param.getCount() == 1 ? 0 : run.getFirstInstance();
      Gradient &gradient = gradients[param];
      gradient.type = cast<Tensor>(layer.getResultTypes()[i]);
      gradient.stages[first].insert(run.getStage().value_or(0));
    }
  }

  LayerOp makeSum(ParamOp param, Tensor type) {
    OpBuilder b(param);
    std::string name = sumOfStages(param.getSymName());
    LayerOp sum =
        createPart(b, param.getLoc(), FlatSymbolRefAttr::get(&getContext(), name), Part::Reduce);
    Value whole = sum.addArg({Role::CotParam, "whole"}, type, param.getLoc());
    Value part = sum.addArg({Role::CotParam, "part"}, type, param.getLoc());
    NNBuilder nn(param.getLoc(), sum.getReturn());
    sum.addResult({Role::CotParam, "whole"}, nn.add(whole, part));
    return sum;
  }
};

} // namespace
