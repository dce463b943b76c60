//===- Expressions.cpp - values of expressions ------------------------------===//
//
// Numbers fold as they are read and become `constant` only where they meet a
// tensor; masks never become values.
//
//===----------------------------------------------------------------------===//
#include "lib/Parse/Elaborate.h"
#include "lib/Parse/Foreign.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

static Val tensorVal(Value value, SMLoc loc) {
  Val v;
  v.kind = Val::Tensor;
  v.value = value;
  v.loc = loc;
  return v;
}

Variable *Elaborator::findVariable(StringRef name, Scope &scope) {
  for (Scope *s = &scope; s; s = s->outer)
    if (auto it = s->variables.find(name); it != s->variables.end())
      return &it->second;
  return nullptr;
}

Member *Elaborator::findMember(StringRef name, Scope &scope, bool *outer) {
  for (Scope *s = &scope; s; s = s->outer)
    if (auto it = s->members.find(name); it != s->members.end()) {
      if (outer)
        *outer = s != &scope;
      return &it->second;
    }
  return nullptr;
}

std::vector<StringRef> Elaborator::visibleNames(Scope &scope) {
  std::vector<StringRef> names;
  for (Scope *s = &scope; s; s = s->outer) {
    for (auto &[name, variable] : s->variables)
      names.push_back(name);
    for (auto &[name, member] : s->members)
      names.push_back(name);
  }
  for (auto &[name, loc] : scope.env->own)
    names.push_back(name);
  return names;
}

bool Elaborator::tooLarge(SMLoc loc, unsigned added) {
  ops += added;
  if (ops <= limits::ops || gaveUp)
    return gaveUp;
  gaveUp = true;
  report.error(loc, "the program is too large: more than {0} operations; repeat layers in lists",
               limits::ops);
  return true;
}

Val Elaborator::apply(StringRef function, ArrayRef<Value> args, nn::Tensor result, SMLoc loc,
                      ArrayRef<NamedAttribute> attrs) {
  if (tooLarge(loc))
    return {};
  auto op = lang::ApplyOp::create(builder, report.at(loc), TypeRange{result}, function, args);
  for (NamedAttribute attr : attrs)
    op->setAttr(attr.getName(), attr.getValue());
  return tensorVal(op.getResult(0), loc);
}

Val Elaborator::asTensor(Val v, SMLoc loc) {
  if (v.kind != Val::Num)
    return v;
  return apply("constant", {}, nn::Tensor::get(context, {}, builder.getF32Type()), loc,
               builder.getNamedAttr("value", builder.getF64FloatAttr(v.number.real)));
}

/// True if `v` is a tensor; else an error that says what it is.
bool Elaborator::wantTensor(const Val &v, SMLoc loc, StringRef what) {
  if (v.kind == Val::Tensor)
    return true;
  if (v.kind == Val::Mask)
    report.error(loc, "{0} must be a tensor, found a mask", what);
  else if (v.kind == Val::Num)
    report.error(loc, "{0} must be a tensor, found the number {1}", what, spell(v.number));
  else if (v.kind == Val::Loss)
    report.error(loc,
                 "{0} must be a tensor, found a sum and a count: cross_entropy belongs "
                 "into a `loss`",
                 what);
  return false;
}

bool Elaborator::wantFloat(const Val &v, SMLoc loc, StringRef what) {
  if (!wantTensor(v, loc, what))
    return false;
  if (isa<FloatType>(v.type().getElementType()))
    return true;
  report.error(loc, "{0} must hold floats, found {1}: convert with f32(..)", what, spell(v.type()));
  return false;
}

static std::optional<nn::MaskAttr> joinMasks(MLIRContext *context, StringRef op, const Val &a,
                                             const Val &b) {
  if (a.kind != Val::Mask || b.kind != Val::Mask)
    return std::nullopt;
  return nn::MaskAttr::get(context, op == "&" ? "and" : "or", 0, {a.mask, b.mask});
}

Val Elaborator::binary(StringRef op, Val lhs, Val rhs, SMLoc loc) {
  if (lhs.kind == Val::Error || rhs.kind == Val::Error)
    return {};
  if (op == "&" || op == "|") {
    std::optional<nn::MaskAttr> mask = joinMasks(context, op, lhs, rhs);
    if (!mask) {
      report.error(loc, "`{0}` joins two masks", op);
      return {};
    }
    Val v;
    v.kind = Val::Mask;
    v.mask = *mask;
    return v;
  }
  if (lhs.kind == Val::Loss || rhs.kind == Val::Loss) {
    Val loss = lhs.kind == Val::Loss ? lhs : rhs, other = lhs.kind == Val::Loss ? rhs : lhs;
    bool scaled = other.kind == Val::Num && (op == "*" || (op == "/" && lhs.kind == Val::Loss));
    if (!scaled || (op == "/" && other.number.real == 0)) {
      report.error(loc,
                   "a loss can only be multiplied by a number: write each term as its own `loss`");
      return {};
    }
    loss.factor = op == "*" ? loss.factor * other.number.real : loss.factor / other.number.real;
    return loss;
  }
  lhs = asTensor(lhs, loc);
  rhs = asTensor(rhs, loc);
  if (!wantFloat(lhs, loc, "the left side") || !wantFloat(rhs, loc, "the right side"))
    return {};
  for (nn::DimAttr dim : lhs.type().getDims()) {
    int64_t i = rhs.type().find(dim.getName());
    if (i >= 0 && rhs.type().getDims()[i] != dim) {
      report.error(loc, "the sides disagree on the size of {0}: {1} and {2}", dim.getName(),
                   spell(lhs.type()), spell(rhs.type()));
      return {};
    }
  }
  nn::Tensor broadcast = nn::broadcastType(lhs.type(), rhs.type());
  std::optional<nn::Tensor> result = tensor(broadcast.getDims(), broadcast.getElementType(), loc);
  if (!result)
    return {};
  StringRef function = op == "+"   ? "add"
                       : op == "-" ? "sub"
                       : op == "*" ? "mul"
                       : op == "/" ? "div"
                                   : op;
  return apply(function, {lhs.value, rhs.value}, *result, loc);
}

Val Elaborator::eval(const Expr &expr, Scope &scope) {
  std::vector<Val> values = evalMany(expr, scope);
  if (values.size() == 1)
    return values.front();
  if (!values.empty())
    report.error(expr.loc, "expected one value, found {0}", values.size());
  return {};
}

/// The values of an expression: several for a call of a layer with several
/// results, none after an error.
std::vector<Val> Elaborator::evalMany(const Expr &expr, Scope &scope) {
  if (gaveUp)
    return {};
  switch (expr.kind) {
  case Expr::Literal: {
    Val v;
    v.kind = Val::Num;
    v.number = expr.number;
    return {v};
  }
  case Expr::Ref: {
    if (Variable *variable = findVariable(expr.text, scope))
      return {variable->val};
    if (auto it = scope.env->numbers.find(expr.text);
        it != scope.env->numbers.end() && scope.env->own.count(expr.text)) {
      Val v;
      v.kind = Val::Num;
      v.number = it->second.number;
      return {v};
    }
    if (expr.text == "causal" || expr.text == "all") {
      Val v;
      v.kind = Val::Mask;
      v.mask = nn::MaskAttr::getLeaf(context, expr.text);
      return {v};
    }
    if (Member *member = findMember(expr.text, scope))
      report.error(expr.loc, "{0} is a layer: call it", expr.text)
          .note(member->name.loc, "{0} is declared here", expr.text);
    else if (isBuiltin(expr.text))
      report.error(expr.loc, "{0} is a function: call it", expr.text);
    else
      report.error(expr.loc, "unknown name: {0}", expr.text)
          .suggest(expr.text, visibleNames(scope));
    return {};
  }
  case Expr::Unary: {
    Val v = eval(*expr.lhs, scope);
    if (v.kind == Val::Num) {
      v.number = v.number.integer && v.number.whole != INT64_MIN ? Number::of(-v.number.whole)
                                                                 : Number::of(-v.number.real);
      return {v};
    }
    if (v.kind == Val::Error || !wantFloat(v, expr.loc, "the operand of `-`"))
      return {};
    return {apply("neg", {v.value}, v.type(), expr.loc)};
  }
  case Expr::Binary: {
    Val lhs = eval(*expr.lhs, scope), rhs = eval(*expr.rhs, scope);
    if (lhs.kind == Val::Num && rhs.kind == Val::Num && expr.text != "&" && expr.text != "|") {
      Expr folded = expr, left = *expr.lhs, right = *expr.rhs;
      left.kind = right.kind = Expr::Literal;
      left.number = lhs.number;
      right.number = rhs.number;
      folded.lhs = &left;
      folded.rhs = &right;
      std::optional<Number> n = number(folded, *scope.env);
      if (!n)
        return {};
      lhs.number = *n;
      return {lhs};
    }
    Val v = binary(expr.text, lhs, rhs, expr.loc);
    if (v.kind == Val::Error)
      return {};
    return {v};
  }
  case Expr::Call: {
    const Expr &callee = *expr.lhs;
    if (callee.kind == Expr::Member && callee.text == "T" && callee.lhs->kind == Expr::Ref) {
      // embed.T(x): the map backwards.
      Member *member = findMember(callee.lhs->text, scope);
      if (member) {
        Val x;
        if (expr.args.size() == 1 && expr.args[0].key.text.empty() &&
            expr.args[0].over.text.empty())
          x = eval(*expr.args[0].value, scope);
        else
          report.error(expr.loc, "{0}.T takes one value, found {1}", callee.lhs->text,
                       expr.args.size());
        Val v = x.kind == Val::Error ? x : applyBackwards(*member, x, expr.loc);
        return v.kind == Val::Error ? std::vector<Val>() : std::vector<Val>{v};
      }
    }
    if (callee.kind != Expr::Ref && callee.kind != Expr::Member) {
      report.error(expr.loc,
                   "only a layer or a function can be called: declare `name : layer[..]`");
      return {};
    }
    if (callee.kind == Expr::Member) {
      std::vector<StringRef> names = visibleNames(scope);
      llvm::append_range(names, builtinNames());
      auto error = report.error(expr.loc,
                                "unknown name: {0}; only `.T` of a linear or a table can be called",
                                callee.text);
      explainCall(error, expr, names);
      return {};
    }
    bool outer = false;
    if (Member *member = findMember(callee.text, scope, &outer)) {
      if (outer) {
        refuse(expr.loc, Feature::SharedInLoop);
        return {};
      }
      return callMember(*member, expr, scope);
    }
    if (isBuiltin(callee.text)) {
      Val v = callBuiltin(expr, scope);
      if (v.kind == Val::Error)
        return {};
      return {v};
    }
    if (layers.count(callee.text)) {
      report.error(expr.loc, "{0} is a layer type: declare a member `name : {0}` and call that",
                   callee.text);
      return {};
    }
    std::vector<StringRef> names = visibleNames(scope);
    llvm::append_range(names, builtinNames());
    auto error = report.error(expr.loc, "unknown function or layer: {0}", callee.text);
    suggestOurs(error, Habit::Function, callee.text, names);
    return {};
  }
  case Expr::Tuple:
    report.error(expr.loc, "a list in parentheses has no value here");
    return {};
  case Expr::Specialise:
    report.error(expr.loc, "brackets belong to a member's declaration: `name : layer[..]`");
    return {};
  case Expr::Member:
    report.error(expr.loc, "a member of a layer cannot be read from outside: {0}", expr.text);
    return {};
  }
  return {};
}
