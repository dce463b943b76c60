//===- TplanEnums.h - words of recipes, plans and targets ----------------------===//
#ifndef TPLAN_DIALECTS_TPLAN_ENUMS_H
#define TPLAN_DIALECTS_TPLAN_ENUMS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/DenseMapInfo.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

#include "dialects/tplan/TplanEnums.h.inc"

#endif // TPLAN_DIALECTS_TPLAN_ENUMS_H
