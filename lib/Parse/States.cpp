//===- States.cpp - `update` and `metric` ------------------------------------===//
//
// Their expressions are those of any statement; that they are functions of states and
// of sums over the batch alone is checked where they are cut (lib/Model/CutUpdates.cpp).
//
//===----------------------------------------------------------------------===//
#include "lib/Parse/Elaborate.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::StringRef;

/// `update bias = ..`: the value of a state in the next step.
void Elaborator::update(const Stmt &stmt, Scope &scope) {
  const Name &name = stmt.names.front();
  auto found = scope.states.find(name.text);
  if (found == scope.states.end()) {
    std::vector<StringRef> names;
    for (auto &[state, info] : scope.states)
      names.push_back(state);
    report.error(name.loc, "not a state of this layer: {0}", name.text).suggest(name.text, names);
    return;
  }
  State &state = found->second;
  if (state.updated.isValid()) {
    report.error(name.loc, "updated twice: {0}", name.text)
        .note(state.updated, "the first update is here");
    return;
  }
  state.updated = name.loc;
  Val v = asTensor(eval(*stmt.values.front(), scope), name.loc);
  if (v.kind == Val::Error || !state.value ||
      !wantFloat(v, name.loc, "the update of " + name.text.str()))
    return;
  auto type = cast<nn::Tensor>(state.value.getType());
  if (!llvm::all_of(v.type().getDims(),
                    [&](nn::DimAttr dim) { return llvm::is_contained(type.getDims(), dim); })) {
    report.error(stmt.values.front()->loc, "the state {0} is {1}, its update is {2}", name.text,
                 spell(type), spell(v.type()));
    return;
  }
  lang::UpdateOp::create(builder, report.at(name.loc), state.value, v.value);
}

/// What a line of metrics holds already.
static constexpr StringRef kReserved[] = {"step",      "loss",         "lr",
                                          "grad_norm", "step_seconds", "tokens",
                                          "eval_loss", "eval_tokens",  "tokens_per_second"};

bool Elaborator::declareNumber(const Name &name) {
  if (llvm::is_contained(kReserved, name.text)) {
    report.error(name.loc, "every step has a number of this name, choose another: {0}", name.text);
    return false;
  }
  // The same line again is another form of its layer.
  auto [first, fresh] = numbers.try_emplace(name.text, name.loc);
  if (fresh || first->second == name.loc)
    return true;
  report.error(name.loc, "declared twice: {0}", name.text)
      .note(first->second, "{0} is declared here", name.text);
  return false;
}

/// `metric overload = ..`: a number of the step.
void Elaborator::metric(const Stmt &stmt, Scope &scope) {
  const Name &name = stmt.names.front();
  if (!declareNumber(name))
    return;
  Val v = asTensor(eval(*stmt.values.front(), scope), name.loc);
  if (v.kind == Val::Error || !wantFloat(v, name.loc, "a metric"))
    return;
  if (!v.type().isScalar()) {
    report.error(stmt.values.front()->loc,
                 "a metric must be a number, found {0}: reduce over its dimensions too",
                 spell(v.type()));
    return;
  }
  lang::MetricOp::create(builder, report.at(name.loc), name.text, v.value);
}
