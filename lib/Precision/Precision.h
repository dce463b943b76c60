//===- Precision.h - the precision phase: element types are final ---------===//
#ifndef TPLAN_LIB_PRECISION_H
#define TPLAN_LIB_PRECISION_H

#include "mlir/Pass/Pass.h"

namespace tplan::precision {
std::unique_ptr<mlir::Pass> createSetPrecisionPass();
} // namespace tplan::precision

#endif // TPLAN_LIB_PRECISION_H
