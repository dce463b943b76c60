//===- Weights.h - names and layouts on disk -------------------------------===//
#ifndef TPLAN_PARSE_WEIGHTS_H
#define TPLAN_PARSE_WEIGHTS_H

#include "lib/Parse/ModelBuilder.h"

namespace tplan::parse {

/// Makes tplan.disk of what a model's body says of its weights on disk, when the model is built.
void readWeightMaps(ModelBuilder &model, const Body &body, const Env &env);

} // namespace tplan::parse

#endif // TPLAN_PARSE_WEIGHTS_H
