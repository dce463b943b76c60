//===- Overlap.h - the passes of `overlap` --------------------------------===//
#ifndef TPLAN_OVERLAP_OVERLAP_H
#define TPLAN_OVERLAP_OVERLAP_H

#include "mlir/Pass/Pass.h"
#include <memory>

namespace tplan::overlap {
/// --overlap: starts and waits of asynchronous operations.
std::unique_ptr<mlir::Pass> createOverlapPass();
} // namespace tplan::overlap

#endif // TPLAN_OVERLAP_OVERLAP_H
