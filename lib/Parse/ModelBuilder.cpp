//===- ModelBuilder.cpp - the module that is being built -------------------===//
#include "lib/Parse/ModelBuilder.h"
#include "dialects/nn/NNRuns.h"
#include "lib/Parse/Limits.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

ModelBuilder::ModelBuilder(Report &report, const File &file)
    : report(report), file(file), context(&report.context),
      module(ModuleOp::create(UnknownLoc::get(&report.context))), builder(context) {}

std::string ModelBuilder::symbol(StringRef name, StringRef kind) {
  // Later phases name the chains of the model so.
  static constexpr StringRef reserved[] = {nn::kTrainChain, nn::kCountsChain};
  std::string unique = name.str();
  if (llvm::is_contained(reserved, name))
    unique = (kind + "." + name).str();
  for (unsigned n = 1; !symbols.insert(unique).second; ++n)
    unique = (name + "_" + Twine(n)).str();
  return unique;
}

bool ModelBuilder::tooLarge(SMLoc loc, unsigned added) {
  ops += added;
  if (ops <= limits::ops || gaveUp)
    return gaveUp;
  gaveUp = true;
  report.error(loc, "the program is too large: more than {0} operations; repeat layers in lists",
               limits::ops);
  return true;
}

unsigned ModelBuilder::countOps(llvm::function_ref<void()> elaborate) {
  unsigned outer = std::exchange(ops, 0);
  elaborate();
  return std::exchange(ops, outer);
}

Val ModelBuilder::apply(StringRef function, ArrayRef<Value> args, nn::Tensor result, SMLoc loc,
                        ArrayRef<NamedAttribute> attrs) {
  if (tooLarge(loc))
    return {};
  auto op = lang::ApplyOp::create(builder, report.at(loc), TypeRange{result}, function, args);
  for (NamedAttribute attr : attrs)
    op->setAttr(attr.getName(), attr.getValue());
  return Val::of(op.getResult(0));
}

Val ModelBuilder::asTensor(Val val, SMLoc loc) {
  if (val.kind != Val::Num)
    return val;
  return apply("constant", {}, nn::Tensor::get(context, {}, builder.getF32Type()), loc,
               builder.getNamedAttr("value", builder.getF64FloatAttr(val.number.real)));
}

Val ModelBuilder::input(StringRef source, nn::Tensor type, int64_t shift, SMLoc loc) {
  auto op = lang::InputOp::create(builder, report.at(loc), type, source, shift, 0);
  inputs[op.getValue().getAsOpaquePointer()] = {source, shift};
  return Val::of(op.getValue());
}

void ModelBuilder::addWeights(ArrayRef<WeightInfo> from, StringRef prefix, Scope &scope,
                              SMLoc loc) {
  for (const WeightInfo &weight : from) {
    if (scope.weights->size() >= limits::weights) {
      report.error(loc, "the program is too large: more than {0} weights; repeat layers in lists",
                   limits::weights);
      gaveUp = true;
      return;
    }
    scope.weights->push_back(weight);
    if (!prefix.empty())
      scope.weights->back().path = (prefix + "." + weight.path).str();
  }
}
