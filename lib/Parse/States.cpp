//===- States.cpp - `update`: the value of a state in the next step --------===//
//
// Its expression is like that of any statement; that it is a function of states and of sums over
// the batch alone is checked where it is cut (lib/Model/CutUpdates.cpp).
//
//===----------------------------------------------------------------------===//
#include "lib/Parse/States.h"
#include "lib/Parse/Operators.h"
#include "lib/Parse/Spelling.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::StringRef;

/// The state of this body that is to be updated, or null after an error.
static State *findState(Report &report, const Name &name, Scope &scope) {
  auto found = scope.states.find(name.text);
  if (found == scope.states.end()) {
    std::vector<StringRef> names;
    for (auto &[state, info] : scope.states)
      names.push_back(state);
    report.error(name.loc, "not a state of this layer: {0}", name.text).suggest(name.text, names);
    return nullptr;
  }
  State &state = found->second;
  if (state.updated.isValid()) {
    report.error(name.loc, "updated twice: {0}", name.text)
        .note(state.updated, "the first update is here");
    return nullptr;
  }
  return &state;
}

void tplan::parse::elaborateUpdate(ModelBuilder &model, Expressions &expressions, const Stmt &stmt,
                                   Scope &scope) {
  Report &report = model.report;
  const Name &name = stmt.names.front();
  const Expr &value = *stmt.values.front();
  State *state = findState(report, name, scope);
  if (!state)
    return;
  state->updated = name.loc;
  Val val = model.asTensor(expressions.eval(value, scope), name.loc);
  if (val.kind == Val::Error || !state->value ||
      !wantFloat(report, val, name.loc, "the update of " + name.text.str()))
    return;
  auto type = cast<nn::Tensor>(state->value.getType());
  if (!llvm::all_of(val.type().getDims(),
                    [&](nn::DimAttr dim) { return llvm::is_contained(type.getDims(), dim); })) {
    report.error(value.loc, "the state {0} is {1}, its update is {2}", name.text, spell(type),
                 spell(val.type()));
    return;
  }
  lang::UpdateOp::create(model.builder, report.at(name.loc), state->value, val.value);
}
