//===- Expressions.h - values of expressions -------------------------------===//
//
// Numbers fold as they are read and become `constant` only where they meet a
// tensor; masks never become values.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PARSE_EXPRESSIONS_H
#define TPLAN_PARSE_EXPRESSIONS_H

#include "lib/Parse/Layers.h"

namespace tplan::parse {

class Expressions {
public:
  Expressions(ModelBuilder &model, Layers &layers) : model(model), layers(layers) {}

  /// The value of an expression that has one.
  Val eval(const Expr &expr, Scope &scope);
  /// The values of an expression: several for a call of a layer with several
  /// results, none after an error.
  std::vector<Val> evalMany(const Expr &expr, Scope &scope);

private:
  Val evalName(const Expr &expr, Scope &scope);
  Val evalBinary(const Expr &expr, Scope &scope);
  std::vector<Val> evalCall(const Expr &call, Scope &scope);
  std::vector<Val> callNamed(const Expr &call, Scope &scope);
  Val refuseMemberCall(const Expr &call, Scope &scope);

  ModelBuilder &model;
  Layers &layers;
};

} // namespace tplan::parse

#endif // TPLAN_PARSE_EXPRESSIONS_H
