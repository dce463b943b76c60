//===- Losses.h - `loss` and `metric`: the numbers of a step ---------------===//
#ifndef TPLAN_PARSE_LOSSES_H
#define TPLAN_PARSE_LOSSES_H

#include "lib/Parse/Expressions.h"

namespace tplan::parse {

/// `loss name = factor * term`, where term is a cross_entropy or a sum or mean
/// over tokens: a mean is its sum and the number of terms, so that microbatches add.
void elaborateLoss(ModelBuilder &model, Expressions &expressions, const Stmt &stmt, Scope &scope);

/// `metric overload = ..`
void elaborateMetric(ModelBuilder &model, Expressions &expressions, const Stmt &stmt, Scope &scope);

} // namespace tplan::parse

#endif // TPLAN_PARSE_LOSSES_H
