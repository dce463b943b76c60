//===- Vocabularies.h - how many ids an input may have ---------------------===//
#ifndef TPLAN_PARSE_VOCABULARIES_H
#define TPLAN_PARSE_VOCABULARIES_H

#include "dialects/tplan/Tplan.h"

namespace tplan::parse {

/// The ids of an input are bounded by the tables that look them up and the
/// logits that they index, in whatever layer that happens.
void setVocabularies(mlir::ModuleOp module, lang::ModelOp model);

} // namespace tplan::parse

#endif // TPLAN_PARSE_VOCABULARIES_H
