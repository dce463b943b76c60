//===- Sizes.cpp - numbers, dimensions and tensor types --------------------===//
#include "lib/Parse/Elaborate.h"
#include "lib/Parse/Foreign.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include <cmath>

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;

llvm::StringRef tplan::parse::sentence(Feature feature) {
  static const llvm::StringLiteral sentences[] = {
#define NOT_BUILT(id, sentence) sentence,
#include "lib/Parse/NotBuilt.def"
  };
  return sentences[static_cast<size_t>(feature)];
}

void Elaborator::refuse(llvm::SMLoc loc, Feature feature) {
  report.error(loc, "{0}", sentence(feature));
}

std::string tplan::parse::spell(const Number &number) {
  if (number.integer)
    return std::to_string(number.whole);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number.real);
  return text;
}

std::string tplan::parse::spell(nn::Tensor type) {
  std::string text = type.getElementType().isInteger(32) ? "i32[" : "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(type.getDims(), os, [&](nn::DimAttr dim) {
    os << dim.getName() << (dim.getBounded() ? " at most " : " ") << dim.getSize();
  });
  os << "]";
  return text;
}

std::string Env::key() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto &[name, bound] : numbers) {
    os << name << "=";
    // All bits of a real: two sizes that print alike are still two.
    if (bound.number.integer)
      os << bound.number.whole;
    else
      os << "r" << llvm::bit_cast<uint64_t>(bound.number.real);
    os << ";";
  }
  for (auto &[name, layer] : layers)
    os << name << "=" << layer->key << ";";
  return text;
}

namespace {

std::optional<Number> arithmetic(Report &report, const Expr &at, Number a, Number b) {
  if (a.integer && b.integer) {
    int64_t r = 0;
    bool overflow = false;
    switch (at.text[0]) {
    case '+':
      overflow = __builtin_add_overflow(a.whole, b.whole, &r);
      break;
    case '-':
      overflow = __builtin_sub_overflow(a.whole, b.whole, &r);
      break;
    case '*':
      overflow = __builtin_mul_overflow(a.whole, b.whole, &r);
      break;
    default:
      if (b.whole == 0) {
        report.error(at.loc, "division by zero");
        return std::nullopt;
      }
      if (b.whole == -1)
        overflow = __builtin_sub_overflow(int64_t(0), a.whole, &r);
      else if (a.whole % b.whole)
        return Number::of(static_cast<double>(a.whole) / static_cast<double>(b.whole));
      else
        r = a.whole / b.whole;
    }
    if (overflow) {
      report.error(at.loc, "number out of range: {0} {1} {2}", a.whole, at.text, b.whole);
      return std::nullopt;
    }
    return Number::of(r);
  }
  double r = 0;
  switch (at.text[0]) {
  case '+':
    r = a.real + b.real;
    break;
  case '-':
    r = a.real - b.real;
    break;
  case '*':
    r = a.real * b.real;
    break;
  default:
    r = a.real / b.real;
  }
  if (!std::isfinite(r)) {
    report.error(at.loc, "number out of range: {0} {1} {2}", spell(a), at.text, spell(b));
    return std::nullopt;
  }
  return Number::of(r);
}

} // namespace

/// The value of a size expression: numbers, names of sizes, + - * / and
/// parentheses. `inherited` admits names that the text does not declare itself.
std::optional<Number> Elaborator::number(const Expr &expr, const Env &env, bool inherited) {
  switch (expr.kind) {
  case Expr::Literal:
    return expr.number;
  case Expr::Ref: {
    auto it = env.numbers.find(expr.text);
    if (it != env.numbers.end() && (inherited || env.own.count(expr.text)))
      return it->second.number;
    std::vector<llvm::StringRef> names;
    for (auto &[name, loc] : env.own)
      names.push_back(name);
    report.error(expr.loc, "unknown size: {0}", expr.text).suggest(expr.text, names);
    return std::nullopt;
  }
  case Expr::Unary: {
    std::optional<Number> x = number(*expr.lhs, env, inherited);
    if (!x)
      return std::nullopt;
    Expr minus = expr;
    minus.text = "-";
    return arithmetic(report, minus, Number::of(int64_t(0)), *x);
  }
  case Expr::Binary: {
    std::optional<Number> a = number(*expr.lhs, env, inherited), b;
    b = number(*expr.rhs, env, inherited);
    if (!a || !b)
      return std::nullopt;
    if (llvm::is_contained({"+", "-", "*", "/"}, expr.text))
      return arithmetic(report, expr, *a, *b);
    [[fallthrough]];
  }
  default:
    report.error(expr.loc, "expected a number");
    return std::nullopt;
  }
}

std::optional<int64_t> Elaborator::whole(const Expr &expr, const Env &env, int64_t least,
                                         int64_t most, llvm::StringRef what) {
  std::optional<Number> n = number(expr, env);
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

std::optional<nn::DimAttr> Elaborator::dim(const DimDecl &decl, const Env &env, bool bounds) {
  if (decl.atMost) {
    if (!bounds) {
      report.error(decl.name.loc, "a bound belongs to an input: {0} at most", decl.name.text);
      return std::nullopt;
    }
    std::optional<int64_t> n = whole(*decl.atMost, env, 1, limits::size, "a bound");
    if (!n)
      return std::nullopt;
    return nn::DimAttr::get(context, decl.name.text, *n, true);
  }
  auto it = env.numbers.find(decl.name.text);
  if (it == env.numbers.end() || !env.own.count(decl.name.text)) {
    std::vector<llvm::StringRef> names;
    for (auto &[name, loc] : env.own)
      names.push_back(name);
    auto error = report.error(decl.name.loc, "unknown dimension: {0}", decl.name.text);
    suggestOurs(error, Habit::Size, decl.name.text, names);
    return std::nullopt;
  }
  const Number &n = it->second.number;
  if (!n.integer || n.whole < 1 || n.whole > limits::size) {
    report
        .error(decl.name.loc,
               "the size of a dimension must be a whole number from 1 to 2^40, "
               "found {0} = {1}",
               decl.name.text, spell(n))
        .note(it->second.loc, "{0} is given here", decl.name.text);
    return std::nullopt;
  }
  return nn::DimAttr::get(context, decl.name.text, n.whole, false);
}

std::optional<std::vector<nn::DimAttr>> Elaborator::dims(llvm::ArrayRef<DimDecl> decls,
                                                         const Env &env) {
  std::vector<nn::DimAttr> list;
  for (const DimDecl &decl : decls) {
    std::optional<nn::DimAttr> d = dim(decl, env);
    if (!d)
      return std::nullopt;
    list.push_back(*d);
  }
  return list;
}

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

/// The type with these dimensions, or an error: names twice, or too large.
std::optional<nn::Tensor> Elaborator::tensor(llvm::ArrayRef<nn::DimAttr> dims, Type element,
                                             llvm::SMLoc loc) {
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
                   spell(nn::Tensor::get(context, dims, element)));
      return std::nullopt;
    }
  return nn::Tensor::get(context, dims, element);
}
