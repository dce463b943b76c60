//===- Recompute.h - the recompute phase: joint functions are cut ---------===//
#ifndef TPLAN_LIB_RECOMPUTE_H
#define TPLAN_LIB_RECOMPUTE_H

#include "mlir/Pass/Pass.h"

namespace tplan::recompute {
std::unique_ptr<mlir::Pass> createSplitPoliciesPass();
std::unique_ptr<mlir::Pass> createCutJointPass();
} // namespace tplan::recompute

#endif // TPLAN_LIB_RECOMPUTE_H
