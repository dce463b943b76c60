//===- Model.h - the model of a plan ---------------------------------------===//
#ifndef TPLAN_PARSE_MODEL_H
#define TPLAN_PARSE_MODEL_H

#include "lib/Parse/ModelBuilder.h"

namespace tplan::parse {

/// Builds the model with the given sizes (by the recipe or --set) and data dimensions. False after
/// an error.
bool buildModel(ModelBuilder &model, const ModelDecl &decl, const Sizes &sizes, const Sizes &data,
                llvm::StringRef symbol);

} // namespace tplan::parse

#endif // TPLAN_PARSE_MODEL_H
