//===- Recompute.h - the recompute phase: joint functions are cut ---------===//
#ifndef TPLAN_LIB_RECOMPUTE_H
#define TPLAN_LIB_RECOMPUTE_H

#include "dialects/nn/NN.h"
#include "dialects/tplan/TplanEnums.h"
#include "mlir/Pass/Pass.h"
#include <optional>

namespace tplan::recompute {
/// What the backward of a joint function computes again: split-policies writes it on the layer, for
/// cut-joint. Without the attribute nothing is computed again.
std::optional<lang::RecomputePolicy> policyOf(nn::LayerOp layer);
void setPolicy(nn::LayerOp layer, lang::RecomputePolicy policy);

std::unique_ptr<mlir::Pass> createSplitPoliciesPass();
std::unique_ptr<mlir::Pass> createCutJointPass();
} // namespace tplan::recompute

#endif // TPLAN_LIB_RECOMPUTE_H
