//===- Narrow.h - types that values are rounded to ------------------------===//
#ifndef TPLAN_DIALECTS_NN_NARROW_H
#define TPLAN_DIALECTS_NN_NARROW_H

#include "dialects/nn/NN.h"

namespace tplan::nn {

/// Whether values are of this type where they are handed on, and computed in f32.
inline bool isNarrow(mlir::Type element) {
#define NARROW(TYPE) llvm::isa<TYPE>(element) ||
  return
#include "dialects/nn/Narrow.def"
      false;
}

} // namespace tplan::nn

#endif // TPLAN_DIALECTS_NN_NARROW_H
