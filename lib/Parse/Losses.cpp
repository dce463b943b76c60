//===- Losses.cpp - `loss` and `metric`: the numbers of a step -------------===//
//
// Their expressions are like those of any statement; that a metric is a function of states and of
// sums over the batch alone is checked where it is cut (lib/Model/CutUpdates.cpp).
//
//===----------------------------------------------------------------------===//
#include "lib/Parse/Losses.h"
#include "dialects/tplan/Dimensions.h"
#include "lib/Parse/Features.h"
#include "lib/Parse/Operators.h"
#include "lib/Parse/Sizes.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// What a line of metrics holds already.
static constexpr StringRef kReserved[] = {"step",      "loss",         "lr",
                                          "grad_norm", "step_seconds", "tokens",
                                          "eval_loss", "eval_tokens",  "tokens_per_second",
                                          "skipped",   "loss_scale"};

/// True if no other number of the step has this name; else an error.
static bool declareNumber(ModelBuilder &model, const Name &name) {
  if (llvm::is_contained(kReserved, name.text)) {
    model.report.error(name.loc, "every step has a number of this name, choose another: {0}",
                       name.text);
    return false;
  }
  // The same line again comes from another form of its layer.
  auto [first, fresh] = model.numbers.try_emplace(name.text, name.loc);
  if (fresh || first->second == name.loc)
    return true;
  model.report.error(name.loc, "declared twice: {0}", name.text)
      .note(first->second, "{0} is declared here", name.text);
  return false;
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

namespace {
/// What a loss is the product of.
struct Product {
  double factor = 1;
  const Expr *term;
};
} // namespace

static bool isNumber(const Expr &expr, Scope &scope) {
  switch (expr.kind) {
  case Expr::Literal:
    return true;
  case Expr::Unary:
    return isNumber(*expr.lhs, scope);
  case Expr::Ref:
    return !scope.findVariable(expr.text) && scope.env->findOwn(expr.text);
  default:
    return false;
  }
}

/// The side of `term`, a product or quotient, that is a number, or null.
static const Expr *numberOf(const Expr &term, Scope &scope) {
  if (term.text == "*" && isNumber(*term.lhs, scope))
    return term.lhs;
  return isNumber(*term.rhs, scope) ? term.rhs : nullptr;
}

/// `-0.1 * (x / 2)` as -0.05 and x; nothing after an error.
static std::optional<Product> splitProduct(ModelBuilder &model, Expressions &expressions,
                                           const Expr &expr, Scope &scope) {
  Product product{1, &expr};
  const Expr *&term = product.term;
  while (term->kind == Expr::Unary ||
         (term->kind == Expr::Binary && (term->text == "*" || term->text == "/"))) {
    if (term->kind == Expr::Unary) {
      product.factor = -product.factor;
      term = term->lhs;
      continue;
    }
    const Expr *side = numberOf(*term, scope);
    if (!side)
      break;
    double value = expressions.eval(*side, scope).number.real;
    if (term->text == "/" && value == 0) {
      model.report.error(term->loc, "division by zero");
      return std::nullopt;
    }
    product.factor = term->text == "*" ? product.factor * value : product.factor / value;
    term = side == term->lhs ? term->rhs : term->lhs;
  }
  return product;
}

/// `sum(x over B, ..)` or `mean(..)`: a call of the function, not of a member with its name.
static bool isReduction(const Expr &term, Scope &scope) {
  return term.kind == Expr::Call && term.lhs->kind == Expr::Ref &&
         (term.lhs->text == "sum" || term.lhs->text == "mean") && !scope.findMember(term.lhs->text);
}

static void addLoss(ModelBuilder &model, const Name &name, double factor, Value sum, Value count,
                    int64_t divisor) {
  OpBuilder &builder = model.builder;
  lang::LossOp::create(builder, model.report.at(name.loc), builder.getStringAttr(name.text),
                       builder.getF64FloatAttr(factor), sum, count,
                       builder.getI64IntegerAttr(divisor));
}

static bool wantNumber(Report &report, const Val &val, SMLoc loc, StringRef what) {
  if (!val.type().isScalar())
    report.error(loc, "{0} must be a number, found {1}: reduce over its dimensions too", what,
                 spell(val.type()));
  return val.type().isScalar();
}

static void addReduction(ModelBuilder &model, Expressions &expressions, const Name &name,
                         const Product &product, Scope &scope) {
  const Expr &term = *product.term;
  bool isMean = term.lhs->text == "mean";
  Expr sum = term, callee = *term.lhs;
  callee.text = "sum";
  sum.lhs = &callee;
  Val val = expressions.eval(sum, scope);
  if (val.kind == Val::Error)
    return;
  if (!wantNumber(model.report, val, term.loc, "a loss"))
    return;
  auto reduced = cast<nn::Tensor>(val.value.getDefiningOp()->getOperand(0).getType());
  if (!reduced.has(lang::dimension::batch)) {
    refuse(model.report, term.loc, Feature::PlainLoss);
    return;
  }
  addLoss(model, name, product.factor, val.value, Value(), isMean ? reduced.getNumElements() : 1);
}

void tplan::parse::elaborateLoss(ModelBuilder &model, Expressions &expressions, const Stmt &stmt,
                                 Scope &scope) {
  std::optional<Product> product = splitProduct(model, expressions, *stmt.values.front(), scope);
  const Name &name = stmt.names.front();
  if (!product || !declareNumber(model, name))
    return;
  if (isReduction(*product->term, scope))
    return addReduction(model, expressions, name, *product, scope);
  Val val = expressions.eval(*product->term, scope);
  if (val.kind == Val::Error)
    return;
  if (val.kind != Val::Loss) {
    model.report.error(product->term->loc,
                       "a loss is cross_entropy(..), or mean(.. over B, ..) or sum(.. over B, "
                       "..), times a number");
    return;
  }
  addLoss(model, name, product->factor * val.factor, val.value, val.count, 0);
}

//===----------------------------------------------------------------------===//
// Metrics
//===----------------------------------------------------------------------===//

void tplan::parse::elaborateMetric(ModelBuilder &model, Expressions &expressions, const Stmt &stmt,
                                   Scope &scope) {
  const Name &name = stmt.names.front();
  const Expr &value = *stmt.values.front();
  if (!declareNumber(model, name))
    return;
  Val val = model.asTensor(expressions.eval(value, scope), name.loc);
  if (val.kind == Val::Error || !wantFloat(model.report, val, name.loc, "a metric") ||
      !wantNumber(model.report, val, value.loc, "a metric"))
    return;
  lang::MetricOp::create(model.builder, model.report.at(name.loc), name.text, val.value);
}
