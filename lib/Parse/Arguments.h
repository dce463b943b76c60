//===- Arguments.h - a layer's arguments bind dimensions by name -----------===//
#ifndef TPLAN_PARSE_ARGUMENTS_H
#define TPLAN_PARSE_ARGUMENTS_H

#include "lib/Parse/Brackets.h"

namespace tplan::parse {

/// What the body of `layer` sees when it is called with `args`, or nothing after an error.
std::optional<Env> bindArguments(Report &report, LayerTypes &types, const LayerValue &layer,
                                 llvm::ArrayRef<Val> args, const Expr &call);

} // namespace tplan::parse

#endif // TPLAN_PARSE_ARGUMENTS_H
