//===- DeclareWeights.h - `linear`, `table`, `weight` and `state` ----------===//
#ifndef TPLAN_PARSE_DECLAREWEIGHTS_H
#define TPLAN_PARSE_DECLAREWEIGHTS_H

#include "lib/Parse/ModelBuilder.h"

namespace tplan::parse {

void declareLinear(ModelBuilder &model, const Stmt &stmt, Scope &scope);
void declareTable(ModelBuilder &model, const Stmt &stmt, Scope &scope);
/// `weight` and `state`: a state starts at zero and is not trained.
void declareWeight(ModelBuilder &model, const Stmt &stmt, Scope &scope);

} // namespace tplan::parse

#endif // TPLAN_PARSE_DECLAREWEIGHTS_H
