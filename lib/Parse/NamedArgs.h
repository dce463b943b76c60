//===- NamedArgs.h - arguments of words in settings --------------------------===//
#ifndef TPLAN_PARSE_NAMEDARGS_H
#define TPLAN_PARSE_NAMEDARGS_H

#include "lib/Parse/Ast.h"
#include "lib/Parse/Report.h"

namespace tplan::parse {

/// Visits the arguments of a word, `f16(scale = 1024)`, each a number with one of these names.
/// False after an error: an unknown name, one that is given twice, no number, or false from
/// `visit`.
bool forEachNamedArg(
    Report &report, llvm::StringRef word, const Args &args, llvm::ArrayRef<llvm::StringRef> names,
    llvm::function_ref<bool(const Arg &, llvm::StringRef name, const Number &)> visit);

} // namespace tplan::parse

#endif // TPLAN_PARSE_NAMEDARGS_H
