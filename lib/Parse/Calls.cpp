//===- Calls.cpp - calls of members ----------------------------------------===//
#include "lib/Parse/Calls.h"
#include "lib/Parse/Features.h"
#include "lib/Parse/Maps.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::StringRef;

static bool sameWeights(ArrayRef<WeightInfo> a, ArrayRef<WeightInfo> b) {
  return llvm::equal(a, b, [](const WeightInfo &x, const WeightInfo &y) {
    return x.path == y.path && x.type == y.type;
  });
}

/// The one value of a call, or null: it has another number of them, or names.
static const Expr *onlyValue(const Expr &call) {
  bool isOne =
      call.args.size() == 1 && call.args[0].key.text.empty() && call.args[0].over.text.empty();
  return isOne ? call.args[0].value : nullptr;
}

/// The arguments by position, a number as a tensor; nothing after an error.
static std::optional<std::vector<Val>> readArguments(ModelBuilder &model, const Expr &call,
                                                     Evaluate evaluate) {
  std::vector<Val> args;
  for (const Arg &arg : call.args) {
    if (!arg.key.text.empty() || !arg.over.text.empty()) {
      model.report.error(arg.key.text.empty() ? arg.over.loc : arg.key.loc,
                         "a layer's values go by position; sizes belong in its brackets, at its "
                         "declaration");
      return std::nullopt;
    }
    args.push_back(evaluate(*arg.value));
    if (args.back().kind == Val::Error)
      return std::nullopt;
    args.back() = model.asTensor(args.back(), call.loc);
  }
  return args;
}

/// Calls the layer of `member`, whose weights are below `prefix`; yields its specialisation too.
static std::vector<Val> callLayer(ModelBuilder &model, Layers &layers, const LayerRef &layer,
                                  StringRef prefix, const Expr &call, Evaluate evaluate,
                                  Specialisation *&callee) {
  std::optional<std::vector<Val>> args = readArguments(model, call, evaluate);
  if (!args || model.gaveUp)
    return {};
  callee = layers.specialise(layer, *args, call);
  if (callee->failed || model.tooLarge(call.loc, 1 + callee->ops))
    return {};
  SmallVector<Value> operands;
  for (const Val &arg : *args)
    if (arg.kind == Val::Tensor)
      operands.push_back(arg.value);
  auto op = lang::CallOp::create(
      model.builder, model.report.at(call.loc), callee->results, SymbolRefAttr::get(callee->op),
      model.builder.getStringAttr(prefix), operands, ArrayAttr(), ArrayAttr());
  std::vector<Val> results;
  for (Value value : op.getResults())
    results.push_back(Val::of(value));
  return results;
}

static std::vector<Val> callLayerMember(ModelBuilder &model, Layers &layers, Member &member,
                                        const Expr &call, Scope &scope, Evaluate evaluate) {
  if (!member.layer) { // its declaration failed
    member.called = true;
    return {};
  }
  // In a for body the element's own prefix is that of the list.
  StringRef prefix = scope.loop ? StringRef() : member.name.text;
  Specialisation *callee = nullptr;
  std::vector<Val> results = callLayer(model, layers, member.layer, prefix, call, evaluate, callee);
  // Only now: the arguments may call it too.
  bool first = !std::exchange(member.called, true);
  if (results.empty())
    return {};
  if (first) {
    member.calledAt = call.loc;
    member.weights = callee->weights;
    model.addWeights(callee->weights, prefix, scope, call.loc);
  } else if (!sameWeights(member.weights, callee->weights)) {
    model.report
        .error(call.loc,
               "two calls of {0} need different weights: calls of one member share "
               "them",
               member.name.text)
        .note(member.calledAt, "the first call is here");
    return {};
  }
  return results;
}

/// A linear or a table.
static Val callMap(ModelBuilder &model, Member &member, const Expr &call, Evaluate evaluate) {
  member.called = true;
  const Expr *value = onlyValue(call);
  if (!value) {
    model.report.error(call.loc, "{0} takes one value, found {1}", member.name.text,
                       call.args.size());
    return {};
  }
  Val x = evaluate(*value);
  if (x.kind == Val::Error)
    return {};
  return member.kind == Member::Linear ? applyLinear(model, member, x, call.loc)
                                       : applyTable(model, member, x, call.loc);
}

std::vector<Val> tplan::parse::callMember(ModelBuilder &model, Layers &layers, Member &member,
                                          const Expr &call, Scope &scope, Evaluate evaluate) {
  switch (member.kind) {
  case Member::List:
    refuse(model.report, call.loc, Feature::ListCall);
    return {};
  case Member::Layer:
    return callLayerMember(model, layers, member, call, scope, evaluate);
  case Member::Linear:
  case Member::Table:
    return asList(callMap(model, member, call, evaluate));
  }
  return {};
}

Val tplan::parse::callBackwards(ModelBuilder &model, Member &member, const Expr &call,
                                Evaluate evaluate) {
  const Expr *value = onlyValue(call);
  if (!value) {
    model.report.error(call.loc, "{0}.T takes one value, found {1}", member.name.text,
                       call.args.size());
    return {};
  }
  Val x = evaluate(*value);
  return x.kind == Val::Error ? x : applyBackwards(model, member, x, call.loc);
}
