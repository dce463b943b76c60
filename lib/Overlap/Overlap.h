//===- Overlap.h - the passes of `overlap` --------------------------------===//
#ifndef TPLAN_OVERLAP_OVERLAP_H
#define TPLAN_OVERLAP_OVERLAP_H

#include "mlir/Pass/Pass.h"
#include <memory>

namespace tplan::overlap {
/// --overlap: refuses what nothing waits for.
std::unique_ptr<mlir::Pass> createOverlapPass();
/// --warn-waits: what a step waits for, though another plan would not.
std::unique_ptr<mlir::Pass> createWarnWaitsPass();
} // namespace tplan::overlap

#endif // TPLAN_OVERLAP_OVERLAP_H
