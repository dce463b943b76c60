//===- Dimensions.h - dimensions that have a meaning by their names --------===//
#ifndef TPLAN_DIALECTS_TPLAN_DIMENSIONS_H
#define TPLAN_DIALECTS_TPLAN_DIMENSIONS_H

#include "llvm/ADT/StringRef.h"

/// The names in Dimensions.def, which says what each means.
namespace tplan::lang::dimension {

#define DIMENSION(id, name, meaning) inline constexpr llvm::StringLiteral id = name;
#include "dialects/tplan/Dimensions.def"

} // namespace tplan::lang::dimension

#endif // TPLAN_DIALECTS_TPLAN_DIMENSIONS_H
