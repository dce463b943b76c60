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

#define GEN_PASS_DECL
#include "lib/Recompute/Passes.h.inc"
} // namespace tplan::recompute

#endif // TPLAN_LIB_RECOMPUTE_H
