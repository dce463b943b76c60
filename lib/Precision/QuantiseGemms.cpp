//===- QuantiseGemms.cpp - quantise-gemms: operands of GEMMs in f8 ------------===//
//
// A contraction that reads a weight with an fp8 recipe, or makes its gradient, gets operands in f8
// with scales. Values are quantised from what they are in f32, once along each direction in which
// contractions sum, and never from other codes. A weight's codes and scales are working copies; the
// multipliers of delayed scales are states.
//
// One decision: a contraction whose shape has no blocks of the recipe stays as it is, with a
// remark; what a plan's axes cut badly is refused by `shard`, because a plan must not change a
// result.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNRuns.h"
#include "dialects/tplan/Settings.h"
#include "lib/Precision/DelayedScales.h"
#include "lib/Precision/Precision.h"
#include "lib/Precision/Quantise.h"
#include "lib/Precision/WorkingCopies.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <map>

namespace tplan::precision {
#define GEN_PASS_DEF_QUANTISEGEMMSPASS
#include "lib/Precision/Passes.h.inc"
} // namespace tplan::precision

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::precision;

namespace {

/// One joint layer.
class Quantiser {
public:
  Quantiser(LayerOp layer, StringRef sequence, WorkingCopies &copies, DelayedScales &delayed)
      : layer(layer), sequence(sequence), copies(copies), delayed(delayed),
        backward(backwardOf(layer)) {}

  void run() {
    auto precisions = layer->getAttrOfType<DictionaryAttr>(kPrecisions);
    SmallVector<ContractOp> contractions(layer.getBlock().getOps<ContractOp>());
    for (ContractOp contract : contractions) {
      BlockArgument weight = weightOf(layer, contract);
      auto of = weight ? precisions.getAs<StringAttr>(layer.getArgName(weight.getArgNumber()))
                       : StringAttr();
      if (auto recipe = of ? recipeOf(of) : std::nullopt)
        quantise(contract, weight, *recipe);
    }
    // What is left is for narrow-precision.
    NamedAttrList rest;
    for (NamedAttribute each : precisions)
      if (!recipeOf(cast<StringAttr>(each.getValue())))
        rest.push_back(each);
    layer->setAttr(kPrecisions, rest.getDictionary(layer.getContext()));
  }

private:
  /// An operand, and how its elements share scales.
  struct Operand {
    Value value;
    bool isWeight;
    SmallVector<StringRef> contracted;
    Blocks blocks;
    FloatType as;
  };

  void quantise(ContractOp contract, BlockArgument weight, const Fp8 &recipe) {
    RecipeFacts facts = factsOf(recipe.recipe, layer.getContext());
    Tensor result = typeOf(contract.getResult());
    Operand operands[2];
    std::string why;
    for (auto [operand, value] : llvm::zip(operands, contract->getOperands())) {
      SmallVector<StringRef> contracted;
      for (DimAttr dim : typeOf(value).getDims())
        if (!result.has(dim.getName()))
          contracted.push_back(dim.getName());
      bool isWeight = paramOf(layer, value) == weight;
      auto blocks = blocksOf(typeOf(value), contracted, isWeight ? facts.weights : facts.values,
                             facts.isDelayed ? "" : sequence, why);
      if (failed(blocks))
        return keep(contract, facts, why);
      operand = {value, isWeight, contracted, *blocks,
                 backward.contains(value) ? facts.backward : facts.forward};
    }
    if (panelOf(operands[0], result) != panelOf(operands[1], result))
      return keep(contract, facts, "its operands have dimensions in two orders");
    std::string name = layer.getArgName(weight.getArgNumber()).str();
    multiply(contract, operands[0], operands[1], {facts, recipe, name});
  }

  /// The dimensions that the scale of an operand lacks and the GEMM contracts.
  static SmallVector<std::string> panelOf(const Operand &operand, Tensor result) {
    SmallVector<std::string> panel;
    Tensor all = operand.blocks.split(result);
    for (const std::string &dim : operand.blocks.inner)
      if (!all.has(dim))
        panel.push_back(dim);
    return panel;
  }

  void keep(ContractOp contract, const RecipeFacts &facts, StringRef why) {
    emitRemark(contract.getLoc(), "a GEMM of this line is not in f8 as fp8(")
        << lang::stringifyFp8Recipe(facts.recipe) << ") asks: " << why;
  }

  /// What a contraction is quantised by, and the weight that it reads or makes the gradient of.
  struct Use {
    const RecipeFacts &facts;
    const Fp8 &recipe;
    std::string weight;
  };

  void multiply(ContractOp contract, const Operand &lhs, const Operand &rhs, const Use &use) {
    Quantised l = codesOf(lhs, use), r = codesOf(rhs, use);
    NNBuilder b(contract.getLoc(), contract);
    Tensor type = typeOf(contract.getResult());
    SmallVector<StringRef> merged;
    for (const Operand *operand : {&lhs, &rhs})
      for (auto &[dim, by] : operand->blocks.splits)
        if (type.has(dim) && !llvm::is_contained(merged, StringRef(dim))) {
          type = splitType(type, dim, by);
          merged.push_back(dim);
        }
    Value product =
        b.create<ContractOp>(type, l.codes, r.codes, l.scale, r.scale, use.facts.isFolded);
    for (StringRef dim : llvm::reverse(merged))
      product = b.merge(product, dim);
    contract.replaceAllUsesWith(product);
    contract.erase();
  }

  /// Made where the value is, and only once for all that read it so.
  Quantised codesOf(const Operand &operand, const Use &use) {
    if (operand.isWeight)
      return copyOf(operand, use.facts);
    Value x = operand.value;
    auto inner = operand.blocks.inner;
    llvm::sort(inner); // a scale for all is the same whatever is summed
    const Fp8 &recipe = use.recipe;
    Key key(x.getAsOpaquePointer(), operand.as.getAsOpaquePointer(),
            std::tuple(recipe.recipe, recipe.history, recipe.margin), operand.blocks.splits, inner);
    auto [known, added] = quantised.try_emplace(key);
    if (!added)
      return known->second;
    NNBuilder b(x.getLoc(), layer);
    b.setInsertionPointAfterValue(x);
    if (!use.facts.isDelayed)
      return known->second =
                 precision::quantise(b, x, operand.blocks, operand.as, use.facts.powersOfTwo);
    Value multiplier =
        delayed.multiplierOf(layer, x, use.weight, backward.contains(x), operand.as, recipe);
    return known->second = quantiseBy(b, x, multiplier, operand.as);
  }

  Quantised copyOf(const Operand &operand, const RecipeFacts &facts) {
    // Unless blocks are square, backward reads other codes than forward.
    std::string name = nn::elementName(operand.as);
    if (!facts.weights.isSquare())
      name += "." + llvm::join(operand.contracted, ".");
    CopyForm form = {{{name}, {name + ".scale", /*isWhole=*/true}},
                     [blocks = operand.blocks, as = operand.as](Tensor master) {
                       return SmallVector<Tensor, 2>{master.withElement(as),
                                                     blocks.scaleOf(master)};
                     },
                     [blocks = operand.blocks, as = operand.as,
                      powers = facts.powersOfTwo](NNBuilder &b, Value master) {
                       Quantised made = quantiseWeight(b, master, blocks, as, powers);
                       return SmallVector<Value, 2>{made.codes, made.scale};
                     }};
    SmallVector<Value, 2> arrays = copies.read(layer, paramOf(layer, operand.value), form);
    NNBuilder b(operand.value.getLoc(), layer);
    b.setInsertionPointToStart(&layer.getBlock());
    Value codes = arrays[0];
    for (auto &[dim, by] : operand.blocks.splits)
      codes = b.split(codes, dim, by);
    return {codes, arrays[1]};
  }

  LayerOp layer;
  StringRef sequence;
  WorkingCopies &copies;
  DelayedScales &delayed;
  DenseSet<Value> backward;
  using Key = std::tuple<const void *, const void *, std::tuple<lang::Fp8Recipe, int64_t, int64_t>,
                         decltype(Blocks::splits), decltype(Blocks::inner)>;
  std::map<Key, Quantised> quantised;
};

struct QuantiseGemmsPass : tplan::precision::impl::QuantiseGemmsPassBase<QuantiseGemmsPass> {
  void runOnOperation() final {
    lang::Settings settings(getOperation());
    if (llvm::none_of(settings.plan.partPrecisions,
                      [](auto &part) { return part.fp8.has_value(); }))
      return markAllAnalysesPreserved();
    const lang::Target &target = lang::targetOf(getOperation());
    if (target.isGpu() && failed(checkRecipes(settings, target)))
      return signalPassFailure();
    SymbolTable symbols(getOperation());
    WorkingCopies copies(getOperation());
    DelayedScales delayed(getOperation());
    SmallVector<RunOp> runs;
    llvm::StringSet<> seen;
    for (auto chain : getOperation().getOps<ChainOp>()) {
      if (!chain.getLosses())
        continue;
      StringRef sequence = sequenceOf(chain);
      for (auto run : chain.getOps<RunOp>()) {
        runs.push_back(run);
        for (StringRef callee : run.getCallees().getAsValueRange<FlatSymbolRefAttr>())
          if (seen.insert(callee).second)
            if (auto layer = symbols.lookup<LayerOp>(callee); layer->hasAttr(kPrecisions))
              Quantiser(layer, sequence, copies, delayed).run();
      }
    }
    copies.finish(runs);
    delayed.finish(runs);
  }

private:
  /// The library of a GPU has scales of some recipes only.
  LogicalResult checkRecipes(const lang::Settings &settings, const lang::Target &target) {
    for (const lang::PartPrecision &part : settings.plan.partPrecisions) {
      if (!part.fp8 || llvm::is_contained(target.scales, factsOf(*part.fp8, &getContext()).scales))
        continue;
      SmallVector<StringRef> known;
      for (StringRef word : lang::wordsOf<lang::Fp8Recipe>())
        if (auto recipe = lang::symbolizeFp8Recipe(word);
            llvm::is_contained(target.scales, factsOf(*recipe, &getContext()).scales))
          known.push_back(word);
      auto error = emitError(settings.planLine("precision"), "GEMMs of ")
                   << target.arch << " read no operands with the scales of this recipe: ";
      if (known.empty())
        error << "leave out `fp8(..)`, or compile for sm_90";
      else
        error << "name one of " << llvm::join(known, ", ");
      return error << "; found " << lang::stringifyFp8Recipe(*part.fp8);
    }
    return success();
  }
};

} // namespace
