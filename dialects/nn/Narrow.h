//===- Narrow.h - types that values are rounded to ------------------------===//
#ifndef TPLAN_DIALECTS_NN_NARROW_H
#define TPLAN_DIALECTS_NN_NARROW_H

#include "mlir/IR/BuiltinTypes.h"

namespace tplan::nn {

/// Whether values are of this type where they are handed on, and computed in f32.
inline bool isNarrow(mlir::Type element) { return element.isBF16() || element.isF16(); }

} // namespace tplan::nn

#endif // TPLAN_DIALECTS_NN_NARROW_H
