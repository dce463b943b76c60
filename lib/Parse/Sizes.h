//===- Sizes.h - numbers, dimensions and tensor types ----------------------===//
//
// What the text of a size, a dimension or a type stands for, or an error where it
// stands for nothing.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PARSE_SIZES_H
#define TPLAN_PARSE_SIZES_H

#include "lib/Parse/Scope.h"
#include "lib/Parse/Spelling.h"

namespace tplan::parse {

/// The value of a size expression: numbers, own names of sizes, + - * / and parentheses.
std::optional<Number> number(Report &report, const Expr &expr, const Env &env);
/// The same, of a whole number in a range; `what` names it in errors.
std::optional<int64_t> whole(Report &report, const Expr &expr, const Env &env, int64_t least,
                             int64_t most, llvm::StringRef what);

/// A dimension with its size; one with `at most` where `bounds` are allowed.
std::optional<nn::DimAttr> dim(Report &report, const DimDecl &decl, const Env &env,
                               bool bounds = false);
std::optional<std::vector<nn::DimAttr>> dims(Report &report, llvm::ArrayRef<DimDecl> decls,
                                             const Env &env);
/// Whether a declared type says nothing of its elements, or one of the words that it may; else an
/// error.
bool knowsElement(Report &report, const TypeExpr &want);
/// The type with these dimensions, or an error: names twice, or too large.
std::optional<nn::Tensor> tensor(Report &report, llvm::ArrayRef<nn::DimAttr> dims,
                                 mlir::Type element, llvm::SMLoc loc);

/// The divisors of n beside `near`, as text: "4 and 6".
std::string nearestDivisors(int64_t n, int64_t near, llvm::StringRef conjunction,
                            int64_t multipleOf = 1);
/// The same as numbers, the nearer first: multiples of `multipleOf`, where there are some.
std::vector<int64_t> divisorsBeside(int64_t n, int64_t near, int64_t multipleOf = 1);

} // namespace tplan::parse

#endif // TPLAN_PARSE_SIZES_H
