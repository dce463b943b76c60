//===- Optimizers.h - the line `optimizer` of a recipe ---------------------===//
#ifndef TPLAN_PARSE_OPTIMIZERS_H
#define TPLAN_PARSE_OPTIMIZERS_H

#include "lib/Parse/ModelBuilder.h"

namespace tplan::parse {

/// The model is built, so that `except` names its weights. `line` may be null.
std::optional<lang::Optimizer> readOptimizer(ModelBuilder &model, const Setting *line);

} // namespace tplan::parse

#endif // TPLAN_PARSE_OPTIMIZERS_H
