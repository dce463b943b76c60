//===- Dimensions.h - dimensions that have a meaning by their names --------===//
#ifndef TPLAN_PARSE_DIMENSIONS_H
#define TPLAN_PARSE_DIMENSIONS_H

#include "llvm/ADT/StringRef.h"

/// The names in Dimensions.def, which says what each means.
namespace tplan::parse::dimension {

#define DIMENSION(id, name, meaning) inline constexpr llvm::StringLiteral id = name;
#include "lib/Parse/Dimensions.def"

} // namespace tplan::parse::dimension

#endif // TPLAN_PARSE_DIMENSIONS_H
