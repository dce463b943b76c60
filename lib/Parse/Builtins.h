//===- Builtins.h - calls of built-in functions ----------------------------===//
#ifndef TPLAN_PARSE_BUILTINS_H
#define TPLAN_PARSE_BUILTINS_H

#include "lib/Parse/BuiltinCall.h"

namespace tplan::parse {

bool isBuiltin(llvm::StringRef name);
std::vector<llvm::StringRef> builtinNames();

/// The table of built-in functions as markdown rows: name, shapes, meaning.
void printBuiltins(llvm::raw_ostream &os);

/// A call of a function for which isBuiltin holds.
Val callBuiltin(ModelBuilder &model, const Expr &call, Scope &scope, Evaluate evaluate);

} // namespace tplan::parse

#endif // TPLAN_PARSE_BUILTINS_H
