//===- Maps.h - linear maps and tables, applied ----------------------------===//
#ifndef TPLAN_PARSE_MAPS_H
#define TPLAN_PARSE_MAPS_H

#include "lib/Parse/ModelBuilder.h"

namespace tplan::parse {

Val applyLinear(ModelBuilder &model, const Member &linear, const Val &x, llvm::SMLoc loc);
Val applyTable(ModelBuilder &model, const Member &table, const Val &ids, llvm::SMLoc loc);
/// embed.T(x): a table or linear read from its outputs to its inputs, without bias.
Val applyBackwards(ModelBuilder &model, Member &member, const Val &x, llvm::SMLoc loc);

} // namespace tplan::parse

#endif // TPLAN_PARSE_MAPS_H
