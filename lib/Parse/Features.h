//===- Features.h - what the grammar knows and no phase implements ---------===//
#ifndef TPLAN_PARSE_FEATURES_H
#define TPLAN_PARSE_FEATURES_H

#include "lib/Parse/Report.h"

namespace tplan::parse {

/// The rows of NotBuilt.def.
enum class Feature {
#define NOT_BUILT(id, sentence) id,
#include "lib/Parse/NotBuilt.def"
};
llvm::StringRef sentence(Feature feature);

/// The error that says so.
void refuse(Report &report, llvm::SMLoc loc, Feature feature);

} // namespace tplan::parse

#endif // TPLAN_PARSE_FEATURES_H
