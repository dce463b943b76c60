//===- Vocabularies.cpp - how many ids an input may have -------------------===//
#include "lib/Parse/Vocabularies.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <limits>

using namespace mlir;
using namespace tplan;
using llvm::StringRef;

namespace {

constexpr int64_t kUnbounded = std::numeric_limits<int32_t>::max();

/// A function whose second operand is ids, and its attribute that names the dimension of the first
/// that they index.
struct Indexing {
  StringRef function, attribute;
};
constexpr Indexing kIndexing[] = {{"lookup", "dim"}, {"cross_entropy", "over"}};

/// Follows ids to what they index; each value once.
class Bounds {
public:
  explicit Bounds(ModuleOp module) : symbols(module) {}

  int64_t of(Value ids) {
    auto [it, fresh] = known.try_emplace(ids, kUnbounded);
    if (!fresh)
      return it->second;
    int64_t least = kUnbounded;
    for (OpOperand &use : ids.getUses())
      least = std::min(least, of(use));
    known[ids] = least;
    return least;
  }

private:
  int64_t of(OpOperand &use) {
    unsigned operand = use.getOperandNumber();
    if (auto apply = dyn_cast<lang::ApplyOp>(use.getOwner()))
      return operand == 1 ? ofTable(apply) : kUnbounded;
    if (auto call = dyn_cast<lang::CallOp>(use.getOwner()))
      return of(symbols.lookup<lang::LayerOp>(call.getCallee()).getBody().getArgument(operand));
    int64_t least = kUnbounded;
    if (auto loop = dyn_cast<lang::ForOp>(use.getOwner()))
      for (Region &region : loop.getKinds())
        least = std::min(least, of(region.getArgument(operand)));
    return least;
  }

  int64_t ofTable(lang::ApplyOp apply) {
    for (auto [function, attribute] : kIndexing)
      if (apply.getFunction() == function) {
        auto table = cast<nn::Tensor>(apply.getArgs()[0].getType());
        StringRef dim = apply->getAttrOfType<StringAttr>(attribute).getValue();
        return table.getDims()[table.find(dim)].getSize();
      }
    return kUnbounded;
  }

  SymbolTable symbols;
  DenseMap<Value, int64_t> known;
};

} // namespace

void tplan::parse::setVocabularies(ModuleOp module, lang::ModelOp model) {
  Bounds bounds(module);
  llvm::StringMap<int64_t> sources;
  auto inputs = model.getBody().getOps<lang::InputOp>();
  for (lang::InputOp input : inputs) {
    auto [it, fresh] = sources.try_emplace(input.getSource(), kUnbounded);
    it->second = std::min(it->second, bounds.of(input.getValue()));
  }
  for (lang::InputOp input : inputs)
    input.setVocabulary(sources[input.getSource()]);
}
