//===- ModelInfo.cpp - the weights and lists of a model --------------------===//
#include "lib/Parse/ModelInfo.h"
#include <map>
#include <set>

using namespace tplan;
using namespace tplan::parse;
using llvm::StringRef;

namespace {
/// Collects weights through calls; each layer once.
class Collector {
public:
  explicit Collector(mlir::ModuleOp module) : symbols(module) {}
  ModelInfo info;

  std::vector<WeightInfo> collect(mlir::Block &block) {
    std::vector<WeightInfo> weights;
    std::set<StringRef> members;
    for (mlir::Operation &op : block) {
      if (auto weight = llvm::dyn_cast<lang::WeightOp>(op)) {
        weights.push_back({weight.getName().str(),
                           llvm::cast<nn::Tensor>(weight.getValue().getType()), weight.getKind()});
      } else if (auto call = llvm::dyn_cast<lang::CallOp>(op)) {
        if (members.insert(call.getMember()).second)
          for (WeightInfo weight : layer(call.getCallee())) {
            if (!call.getMember().empty())
              weight.path = (call.getMember() + "." + weight.path).str();
            weights.push_back(weight);
          }
      } else if (auto loop = llvm::dyn_cast<lang::ForOp>(op)) {
        collectLoop(loop, weights);
      }
    }
    return weights;
  }

private:
  const std::vector<WeightInfo> &layer(StringRef name) {
    auto [it, fresh] = layers.try_emplace(name);
    if (fresh)
      it->second = collect(symbols.lookup<lang::LayerOp>(name).getBody().front());
    return it->second;
  }

  /// One entry per run, position and weight.
  void collectLoop(lang::ForOp loop, std::vector<WeightInfo> &weights) {
    std::vector<std::vector<WeightInfo>> kinds;
    for (mlir::Region &region : loop.getKinds())
      kinds.push_back(collect(region.front()));
    int64_t begin = 0;
    for (auto run : loop.getRuns().getAsRange<mlir::ArrayAttr>()) {
      llvm::SmallVector<int64_t> n;
      for (auto entry : run.getAsRange<mlir::IntegerAttr>())
        n.push_back(entry.getInt());
      int64_t period = n.size() - 1;
      for (int64_t j = 0; j < period; ++j)
        for (WeightInfo weight : kinds[n[j + 1]]) {
          weight.path = (loop.getMember() + ".{i}." + weight.path).str();
          weight.count = n[0];
          weight.first = begin + j;
          weight.step = period;
          weights.push_back(weight);
        }
      begin += n[0] * period;
    }
    info.lists.push_back({loop.getMember().str(), info.layers, begin});
    info.layers += begin;
  }

  mlir::SymbolTable symbols;
  std::map<StringRef, std::vector<WeightInfo>> layers;
};
} // namespace

ModelInfo tplan::parse::modelInfo(mlir::ModuleOp module) {
  Collector collector(module);
  for (auto model : module.getOps<lang::ModelOp>())
    collector.info.weights = collector.collect(model.getBody().front());
  return collector.info;
}
