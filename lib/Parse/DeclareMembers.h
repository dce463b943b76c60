//===- DeclareMembers.h - layers, lists of layers and inputs ---------------===//
#ifndef TPLAN_PARSE_DECLAREMEMBERS_H
#define TPLAN_PARSE_DECLAREMEMBERS_H

#include "lib/Parse/Brackets.h"
#include "lib/Parse/ModelBuilder.h"

namespace tplan::parse {

/// `attn : gqa` or `blocks : (local, global) x 61`
void declareMembers(Report &report, LayerTypes &types, const Stmt &stmt, Scope &scope);

/// `input tokens : i32[B, S]`
void declareInput(ModelBuilder &model, const Stmt &stmt, Scope &scope);

} // namespace tplan::parse

#endif // TPLAN_PARSE_DECLAREMEMBERS_H
