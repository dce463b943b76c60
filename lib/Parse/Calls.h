//===- Calls.h - calls of members ------------------------------------------===//
#ifndef TPLAN_PARSE_CALLS_H
#define TPLAN_PARSE_CALLS_H

#include "lib/Parse/BuiltinCall.h"
#include "lib/Parse/Layers.h"

namespace tplan::parse {

/// The results of `member(..)`, none after an error. Its weights become those of the scope at
/// the first call.
std::vector<Val> callMember(ModelBuilder &model, Layers &layers, Member &member, const Expr &call,
                            Scope &scope, Evaluate evaluate);

/// The result of `member.T(x)`.
Val callBackwards(ModelBuilder &model, Member &member, const Expr &call, Evaluate evaluate);

} // namespace tplan::parse

#endif // TPLAN_PARSE_CALLS_H
