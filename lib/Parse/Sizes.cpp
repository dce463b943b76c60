//===- Sizes.cpp - numbers, dimensions and tensor types --------------------===//
#include "lib/Parse/Sizes.h"
#include "lib/Parse/Foreign.h"
#include "lib/Parse/Limits.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Exact where both are whole, and the quotient is; null where that overflows.
static std::optional<Number> ofWhole(char op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
  case '+':
    overflow = __builtin_add_overflow(a, b, &result);
    break;
  case '-':
    overflow = __builtin_sub_overflow(a, b, &result);
    break;
  case '*':
    overflow = __builtin_mul_overflow(a, b, &result);
    break;
  default:
    if (b == -1) // the one quotient that can overflow
      overflow = __builtin_sub_overflow(int64_t(0), a, &result);
    else if (a % b)
      return Number::of(static_cast<double>(a) / static_cast<double>(b));
    else
      result = a / b;
  }
  if (overflow)
    return std::nullopt;
  return Number::of(result);
}

static double ofReals(char op, double a, double b) {
  switch (op) {
  case '+':
    return a + b;
  case '-':
    return a - b;
  case '*':
    return a * b;
  default:
    return a / b;
  }
}

/// `a op b`, where `at` is the place of the operator.
static std::optional<Number> arithmetic(Report &report, llvm::SMLoc at, llvm::StringRef op,
                                        Number a, Number b) {
  bool exact = a.integer && b.integer;
  if (exact && op[0] == '/' && b.whole == 0) {
    report.error(at, "division by zero");
    return std::nullopt;
  }
  std::optional<Number> result =
      exact ? ofWhole(op[0], a.whole, b.whole) : Number::of(ofReals(op[0], a.real, b.real));
  if (result && std::isfinite(result->real))
    return result;
  report.error(at, "number out of range: {0} {1} {2}", spell(a), op, spell(b));
  return std::nullopt;
}

static bool isArithmetic(llvm::StringRef op) {
  return llvm::is_contained({"+", "-", "*", "/"}, op);
}

std::optional<Number> tplan::parse::number(Report &report, const Expr &expr, const Env &env) {
  switch (expr.kind) {
  case Expr::Literal:
    return expr.number;
  case Expr::Ref:
    if (const Bound *bound = env.findOwn(expr.text))
      return bound->number;
    report.error(expr.loc, "unknown size: {0}", expr.text).suggest(expr.text, env.ownNames());
    return std::nullopt;
  case Expr::Unary: {
    std::optional<Number> operand = number(report, *expr.lhs, env);
    if (!operand)
      return std::nullopt;
    return arithmetic(report, expr.loc, "-", Number::of(int64_t(0)), *operand);
  }
  case Expr::Binary: {
    std::optional<Number> lhs = number(report, *expr.lhs, env);
    std::optional<Number> rhs = number(report, *expr.rhs, env);
    if (!lhs || !rhs)
      return std::nullopt;
    if (isArithmetic(expr.text))
      return arithmetic(report, expr.loc, expr.text, *lhs, *rhs);
    [[fallthrough]];
  }
  default:
    report.error(expr.loc, "expected a number");
    return std::nullopt;
  }
}

std::optional<int64_t> tplan::parse::whole(Report &report, const Expr &expr, const Env &env,
                                           int64_t least, int64_t most, llvm::StringRef what) {
  std::optional<Number> n = number(report, expr, env);
  if (!n)
    return std::nullopt;
  if (!n->integer) {
    report.error(expr.loc, "{0} must be a whole number, found {1}", what, spell(*n));
    return std::nullopt;
  }
  if (n->whole < least || n->whole > most) {
    report.error(expr.loc, "{0} must be from {1} to {2}, found {3}", what, least, most, n->whole);
    return std::nullopt;
  }
  return n->whole;
}

std::optional<nn::DimAttr> tplan::parse::dim(Report &report, const DimDecl &decl, const Env &env,
                                             bool bounds) {
  if (decl.atMost) {
    if (!bounds) {
      report.error(decl.name.loc, "a bound belongs to an input: {0} at most", decl.name.text);
      return std::nullopt;
    }
    std::optional<int64_t> n = whole(report, *decl.atMost, env, 1, limits::size, "a bound");
    if (!n)
      return std::nullopt;
    return nn::DimAttr::get(&report.context, decl.name.text, *n, true);
  }
  const Bound *bound = env.findOwn(decl.name.text);
  if (!bound) {
    auto error = report.error(decl.name.loc, "unknown dimension: {0}", decl.name.text);
    suggestOurs(error, Habit::Size, decl.name.text, env.ownNames());
    return std::nullopt;
  }
  const Number &n = bound->number;
  if (!n.integer || n.whole < 1 || n.whole > limits::size) {
    report
        .error(decl.name.loc,
               "the size of a dimension must be a whole number from 1 to 2^40, "
               "found {0} = {1}",
               decl.name.text, spell(n))
        .note(bound->loc, "{0} is given here", decl.name.text);
    return std::nullopt;
  }
  return nn::DimAttr::get(&report.context, decl.name.text, n.whole, false);
}

std::optional<std::vector<nn::DimAttr>>
tplan::parse::dims(Report &report, llvm::ArrayRef<DimDecl> decls, const Env &env) {
  std::vector<nn::DimAttr> list;
  for (const DimDecl &decl : decls) {
    std::optional<nn::DimAttr> d = dim(report, decl, env);
    if (!d)
      return std::nullopt;
    list.push_back(*d);
  }
  return list;
}

//===----------------------------------------------------------------------===//
// Divisors
//===----------------------------------------------------------------------===//

std::vector<int64_t> tplan::parse::divisorsBeside(int64_t n, int64_t near, int64_t multipleOf) {
  if (n % multipleOf)
    multipleOf = 1;
  int64_t down = multipleOf, up = n;
  for (int64_t d = 1; d <= n / d; ++d) // they come in pairs
    if (n % d == 0)
      for (int64_t divisor : {d, n / d}) {
        if (divisor % multipleOf)
          continue;
        if (divisor > near)
          up = std::min(up, divisor);
        else
          down = std::max(down, divisor);
      }
  if (down == up)
    return {up};
  return near - down <= up - near ? std::vector<int64_t>{down, up} : std::vector<int64_t>{up, down};
}

std::string tplan::parse::nearestDivisors(int64_t n, int64_t near, StringRef conjunction,
                                          int64_t multipleOf) {
  std::vector<int64_t> beside = divisorsBeside(n, near, multipleOf);
  llvm::sort(beside);
  return llvm::formatv(beside.size() == 1 ? "{0}" : "{0} {1} {2}", beside.front(), conjunction,
                       beside.back())
      .str();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool tplan::parse::knowsElement(Report &report, const TypeExpr &want) {
  llvm::StringRef text = want.element.text;
  if (text.empty() || text == "f32" || text == "i32")
    return true;
  report.error(want.element.loc, "unknown element type: {0}; known are f32, i32 and mask", text);
  return false;
}

std::optional<nn::Tensor> tplan::parse::tensor(Report &report, llvm::ArrayRef<nn::DimAttr> dims,
                                               Type element, llvm::SMLoc loc) {
  llvm::StringMap<int> seen;
  int64_t elements = 1;
  if (dims.size() > limits::rank) {
    report.error(loc, "a tensor has at most {0} dimensions, found {1}", limits::rank, dims.size());
    return std::nullopt;
  }
  for (nn::DimAttr dim : dims)
    if (seen[dim.getName()]++) {
      report.error(loc, "a tensor's dimensions must have different names, found twice: {0}",
                   dim.getName());
      return std::nullopt;
    }
  for (nn::DimAttr dim : dims)
    if (__builtin_mul_overflow(elements, dim.getSize(), &elements) || elements > limits::elements) {
      report.error(loc, "a tensor has at most 2^50 elements, found {0}",
                   spell(nn::Tensor::get(&report.context, dims, element)));
      return std::nullopt;
    }
  return nn::Tensor::get(&report.context, dims, element);
}
