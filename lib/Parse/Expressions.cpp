//===- Expressions.cpp - values of expressions -----------------------------===//
#include "lib/Parse/Expressions.h"
#include "lib/Parse/Builtins.h"
#include "lib/Parse/Calls.h"
#include "lib/Parse/Features.h"
#include "lib/Parse/Foreign.h"
#include "lib/Parse/Operators.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::StringRef;

Val Expressions::eval(const Expr &expr, Scope &scope) {
  std::vector<Val> values = evalMany(expr, scope);
  if (values.size() == 1)
    return values.front();
  if (!values.empty())
    model.report.error(expr.loc, "expected one value, found {0}", values.size());
  return {};
}

std::vector<Val> Expressions::evalMany(const Expr &expr, Scope &scope) {
  if (model.gaveUp)
    return {};
  switch (expr.kind) {
  case Expr::Literal:
    return {Val::of(expr.number)};
  case Expr::Ref:
    // A variable whose statement failed is a value; its error has been reported.
    if (Variable *variable = scope.findVariable(expr.text))
      return {variable->val};
    return asList(evalName(expr, scope));
  case Expr::Unary:
    return asList(negate(model, eval(*expr.lhs, scope), expr.loc));
  case Expr::Binary:
    return asList(evalBinary(expr, scope));
  case Expr::Call:
    return evalCall(expr, scope);
  case Expr::Tuple:
    model.report.error(expr.loc, "a list in parentheses has no value here");
    return {};
  case Expr::Specialise:
    model.report.error(expr.loc, "brackets belong to a member's declaration: `name : layer[..]`");
    return {};
  case Expr::Member:
    model.report.error(expr.loc, "a member of a layer cannot be read from outside: {0}", expr.text);
    return {};
  }
  return {};
}

/// A name that is no variable: a size or a mask.
Val Expressions::evalName(const Expr &expr, Scope &scope) {
  if (const Bound *bound = scope.env->findOwn(expr.text))
    return Val::of(bound->number);
  for (nn::MaskKind kind : {nn::MaskKind::Causal, nn::MaskKind::All})
    if (expr.text == nn::stringifyMaskKind(kind))
      return Val::of(nn::MaskAttr::getLeaf(model.context, kind));
  if (Member *member = scope.findMember(expr.text))
    model.report.error(expr.loc, "{0} is a layer: call it", expr.text)
        .note(member->name.loc, "{0} is declared here", expr.text);
  else if (isBuiltin(expr.text))
    model.report.error(expr.loc, "{0} is a function: call it", expr.text);
  else
    model.report.error(expr.loc, "unknown name: {0}", expr.text)
        .suggest(expr.text, scope.visibleNames());
  return {};
}

static Expr literal(const Expr &expr, const Number &number) {
  Expr folded = expr;
  folded.kind = Expr::Literal;
  folded.number = number;
  return folded;
}

Val Expressions::evalBinary(const Expr &expr, Scope &scope) {
  Val lhs = eval(*expr.lhs, scope), rhs = eval(*expr.rhs, scope);
  bool isFolded =
      lhs.kind == Val::Num && rhs.kind == Val::Num && expr.text != "&" && expr.text != "|";
  if (!isFolded)
    return binary(model, expr.text, lhs, rhs, expr.loc);
  Expr folded = expr, left = literal(*expr.lhs, lhs.number), right = literal(*expr.rhs, rhs.number);
  folded.lhs = &left;
  folded.rhs = &right;
  std::optional<Number> value = number(model.report, folded, *scope.env);
  return value ? Val::of(*value) : Val();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static std::vector<StringRef> callableNames(Scope &scope) {
  std::vector<StringRef> names = scope.visibleNames();
  llvm::append_range(names, builtinNames());
  return names;
}

std::vector<Val> Expressions::evalCall(const Expr &call, Scope &scope) {
  const Expr &callee = *call.lhs;
  switch (callee.kind) {
  case Expr::Ref:
    return callNamed(call, scope);
  case Expr::Member:
    // embed.T(x): the map backwards.
    if (callee.text == "T" && callee.lhs->kind == Expr::Ref)
      if (Member *member = scope.findMember(callee.lhs->text))
        return asList(callBackwards(model, *member, call,
                                    [&](const Expr &expr) { return eval(expr, scope); }));
    return asList(refuseMemberCall(call, scope));
  default:
    model.report.error(call.loc,
                       "only a layer or a function can be called: declare `name : layer[..]`");
    return {};
  }
}

/// `nn.relu(x)`: what other tools write for `relu(x)`, and no map backwards.
Val Expressions::refuseMemberCall(const Expr &call, Scope &scope) {
  auto error = model.report.error(
      call.loc, "unknown name: {0}; only `.T` of a linear or a table can be called",
      call.lhs->text);
  explainCall(error, call, callableNames(scope));
  return {};
}

/// A member comes first, so that a layer may be called as a function is.
std::vector<Val> Expressions::callNamed(const Expr &call, Scope &scope) {
  Report &report = model.report;
  StringRef name = call.lhs->text;
  auto evaluate = [&](const Expr &expr) { return eval(expr, scope); };
  bool outer = false;
  if (Member *member = scope.findMember(name, &outer)) {
    if (!outer)
      return callMember(model, layers, *member, call, scope, evaluate);
    refuse(report, call.loc, Feature::SharedInLoop);
    return {};
  }
  if (isBuiltin(name))
    return asList(callBuiltin(model, call, scope, evaluate));
  if (layers.types.has(name)) {
    report.error(call.loc, "{0} is a layer type: declare a member `name : {0}` and call that",
                 name);
    return {};
  }
  auto error = report.error(call.loc, "unknown function or layer: {0}", name);
  suggestOurs(error, Habit::Function, name, callableNames(scope));
  return {};
}
