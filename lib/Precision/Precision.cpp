//===- Precision.cpp - what the passes of `precision` share ---------------===//
#include "lib/Precision/Precision.h"
#include "dialects/nn/NN.h"
#include "dialects/nn/Narrow.h"
#include "dialects/tplan/Settings.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

void tplan::precision::widenTypes(ModuleOp module) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](FloatType type) -> Type {
    return type.isF32() || isNarrow(type) ? Float64Type::get(type.getContext()) : Type(type);
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

void tplan::precision::eraseEqualCasts(ModuleOp module) {
  module.walk([](CastOp cast) {
    if (cast.getX().getType() == cast.getType()) {
      cast.replaceAllUsesWith(cast.getX());
      cast.erase();
    }
  });
}

std::string tplan::precision::spell(const lang::PartPrecision &part) {
  if (!part.fp8)
    return lang::stringifyPrecision(part.precision).str();
  std::string arguments;
  if (part.history)
    arguments = llvm::formatv("(history = {0}, margin = {1})", part.history, part.margin);
  return ("fp8(" + lang::stringifyFp8Recipe(*part.fp8) + arguments + ")").str();
}

std::optional<tplan::precision::Fp8> tplan::precision::recipeOf(StringRef spelled) {
  if (!spelled.consume_front("fp8(") || !spelled.consume_back(")"))
    return std::nullopt;
  auto [word, arguments] = spelled.split('(');
  std::optional<lang::Fp8Recipe> recipe = lang::symbolizeFp8Recipe(word);
  if (!recipe)
    return std::nullopt;
  Fp8 fp8{*recipe};
  bool isBad =
      !arguments.empty() &&
      (!arguments.consume_front("history = ") || arguments.consumeInteger(10, fp8.history) ||
       !arguments.consume_front(", margin = ") || arguments.consumeInteger(10, fp8.margin));
  return isBad ? std::nullopt : std::optional(fp8);
}

static bool isParam(LayerOp layer, Value v) {
  auto arg = dyn_cast<BlockArgument>(v);
  return arg && layer.getArgRole(arg.getArgNumber()) == Role::Param;
}

BlockArgument tplan::precision::accumulatorOf(LayerOp layer, Operation *op) {
  auto add = op->hasOneUse() ? dyn_cast<AddOp>(*op->user_begin()) : AddOp();
  if (!add)
    return {};
  Value sum = add.getLhs();
  while (auto before = sum.getDefiningOp<AddOp>())
    sum = before.getLhs();
  auto arg = dyn_cast<BlockArgument>(sum);
  bool isGradient = arg && layer.getArgRole(arg.getArgNumber()) == Role::CotParam;
  return isGradient ? arg : BlockArgument();
}

tplan::precision::Instances tplan::precision::instancesOf(RunOp run, ParamOp master) {
  if (master.getCount() == 1)
    return {0, 1};
  int64_t first = run.getFirstInstance(), count = run.getTimes();
  return {first, first + count};
}

StringRef tplan::precision::sequenceOf(ChainOp chain) {
  for (auto input : chain.getOps<InputOp>())
    if (ArrayRef<DimAttr> dims = typeOf(input.getResult()).getDims(); !dims.empty())
      return dims.front().getName();
  return "";
}

BlockArgument tplan::precision::paramOf(LayerOp layer, Value v) {
  if (auto widened = v.getDefiningOp<CastOp>())
    v = widened.getX();
  return isParam(layer, v) ? cast<BlockArgument>(v) : BlockArgument();
}

BlockArgument tplan::precision::weightOf(LayerOp layer, ContractOp contract) {
  for (Value operand : {contract.getLhs(), contract.getRhs()})
    if (BlockArgument param = paramOf(layer, operand))
      return param;
  return accumulatorOf(layer, contract);
}

FloatType tplan::precision::narrowTypeOf(lang::Precision precision, MLIRContext *context) {
  switch (precision) {
#define NARROW_PRECISION(PRECISION, TYPE, GPU)                                                     \
  case lang::Precision::PRECISION:                                                                 \
    return TYPE::get(context);
#include "dialects/nn/Narrow.def"
  case lang::Precision::F32:
  case lang::Precision::TF32:
  case lang::Precision::F64:
    return {};
  }
  llvm_unreachable("a precision that no case has");
}
