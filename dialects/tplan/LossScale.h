//===- LossScale.h - what an f16 plan multiplies its losses by --------------===//
//
// f16 has too few exponents for gradients, so the cotangents of the losses are multiplied by a
// power of two where the backward begins, and gradients divided by it where part `update` reads
// them. A step whose gradients are not finite is skipped.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DIALECTS_TPLAN_LOSSSCALE_H
#define TPLAN_DIALECTS_TPLAN_LOSSSCALE_H

#include "llvm/ADT/StringRef.h"

namespace tplan::lang {

/// Parameters of kind state that belong to the step and not to a layer, where steps change the
/// scale: the scale, and how many steps in a row had finite gradients. In files they are
/// `loss.scale` and `loss.good_steps`.
inline constexpr llvm::StringLiteral kLossScale = "tplan.loss_scale",
                                     kGoodSteps = "tplan.good_steps";

} // namespace tplan::lang

#endif // TPLAN_DIALECTS_TPLAN_LOSSSCALE_H
