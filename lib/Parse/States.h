//===- States.h - `update`: the value of a state in the next step ----------===//
#ifndef TPLAN_PARSE_STATES_H
#define TPLAN_PARSE_STATES_H

#include "lib/Parse/Expressions.h"

namespace tplan::parse {

/// `update bias = ..`
void elaborateUpdate(ModelBuilder &model, Expressions &expressions, const Stmt &stmt, Scope &scope);

} // namespace tplan::parse

#endif // TPLAN_PARSE_STATES_H
