//===- Operators.cpp - what operators make of values -----------------------===//
//
// Masks are joined, a loss is scaled, and all else is arithmetic of tensors, in
// which a number is a constant.
//
//===----------------------------------------------------------------------===//
#include "lib/Parse/Operators.h"
#include "lib/Parse/Sizes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

bool tplan::parse::wantTensor(Report &report, const Val &val, SMLoc loc, StringRef what) {
  switch (val.kind) {
  case Val::Tensor:
    return true;
  case Val::Mask:
    report.error(loc, "{0} must be a tensor, found a mask", what);
    return false;
  case Val::Num:
    report.error(loc, "{0} must be a tensor, found the number {1}", what, spell(val.number));
    return false;
  case Val::Loss:
    report.error(loc,
                 "{0} must be a tensor, found a sum and a count: cross_entropy belongs "
                 "into a `loss`",
                 what);
    return false;
  case Val::Error:
    return false;
  }
  return false;
}

bool tplan::parse::wantFloat(Report &report, const Val &val, SMLoc loc, StringRef what) {
  if (!wantTensor(report, val, loc, what))
    return false;
  if (isa<FloatType>(val.type().getElementType()))
    return true;
  report.error(loc, "{0} must hold floats, found {1}: convert with f32(..)", what,
               spell(val.type()));
  return false;
}

Val tplan::parse::negate(ModelBuilder &model, Val operand, SMLoc loc) {
  if (operand.kind == Val::Num) {
    const Number &number = operand.number;
    return Val::of(number.integer && number.whole != INT64_MIN ? Number::of(-number.whole)
                                                               : Number::of(-number.real));
  }
  if (operand.kind == Val::Error || !wantFloat(model.report, operand, loc, "the operand of `-`"))
    return {};
  return model.apply("neg", {operand.value}, operand.type(), loc);
}

/// `causal & window(128)`
static Val joinMasks(ModelBuilder &model, StringRef op, const Val &lhs, const Val &rhs, SMLoc loc) {
  if (lhs.kind == Val::Mask && rhs.kind == Val::Mask)
    return Val::of(nn::MaskAttr::get(
        model.context, op == "&" ? nn::MaskKind::And : nn::MaskKind::Or, 0, {lhs.mask, rhs.mask}));
  model.report.error(loc, "`{0}` joins two masks", op);
  return {};
}

/// `0.1 * loss`, `loss * 0.1` or `loss / 10`
static Val scaleLoss(Report &report, StringRef op, const Val &lhs, const Val &rhs, SMLoc loc) {
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

/// The built-in function that an operator stands for; max2 and min2 are functions themselves.
static StringRef functionOf(StringRef op) {
  return llvm::StringSwitch<StringRef>(op)
      .Case("+", "add")
      .Case("-", "sub")
      .Case("*", "mul")
      .Case("/", "div")
      .Default(op);
}

Val tplan::parse::binary(ModelBuilder &model, StringRef op, Val lhs, Val rhs, SMLoc loc) {
  Report &report = model.report;
  if (lhs.kind == Val::Error || rhs.kind == Val::Error)
    return {};
  if (op == "&" || op == "|")
    return joinMasks(model, op, lhs, rhs, loc);
  if (lhs.kind == Val::Loss || rhs.kind == Val::Loss)
    return scaleLoss(report, op, lhs, rhs, loc);
  lhs = model.asTensor(lhs, loc);
  rhs = model.asTensor(rhs, loc);
  if (!wantFloat(report, lhs, loc, "the left side") ||
      !wantFloat(report, rhs, loc, "the right side"))
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
  std::optional<nn::Tensor> result =
      tensor(report, broadcast.getDims(), broadcast.getElementType(), loc);
  if (!result)
    return {};
  return model.apply(functionOf(op), {lhs.value, rhs.value}, *result, loc);
}
