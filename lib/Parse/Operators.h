//===- Operators.h - what operators make of values -------------------------===//
#ifndef TPLAN_PARSE_OPERATORS_H
#define TPLAN_PARSE_OPERATORS_H

#include "lib/Parse/ModelBuilder.h"

namespace tplan::parse {

/// True if `val` is a tensor; else an error that says what it is.
bool wantTensor(Report &report, const Val &val, llvm::SMLoc loc, llvm::StringRef what);
bool wantFloat(Report &report, const Val &val, llvm::SMLoc loc, llvm::StringRef what);

Val negate(ModelBuilder &model, Val operand, llvm::SMLoc loc);

/// `op` is an operator, or max2 or min2. With two numbers it must be an operator of masks, and is
/// refused: arithmetic on numbers is folded before.
Val binary(ModelBuilder &model, llvm::StringRef op, Val lhs, Val rhs, llvm::SMLoc loc);

} // namespace tplan::parse

#endif // TPLAN_PARSE_OPERATORS_H
