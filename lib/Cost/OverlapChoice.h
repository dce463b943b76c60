//===- OverlapChoice.h - which communication may run beside other work -------------===//
#ifndef TPLAN_COST_OVERLAPCHOICE_H
#define TPLAN_COST_OVERLAPCHOICE_H

#include "dialects/sched/Sched.h"
#include "dialects/tplan/Settings.h"
#include "lib/Cost/Prices.h"

namespace tplan::cost {

/// On a function that was made of two, the kind of overlap (lang::Overlap) for which it was: what
/// the one half exchanges may run beside the other.
inline constexpr llvm::StringLiteral kMergedBy = "sched.merged_by";

/// What a collective of a function is for: activations belong to `tp`, weights and gradients in
/// blocks to `zero`.
inline lang::Overlap overlapKindOf(rt::CollectiveOp op) {
  return op->hasAttr(dist::kActivation) ? lang::Overlap::Tp : lang::Overlap::Zero;
}

/// The kinds that the plan's line `overlap` names. Without the line costs decide, where they are
/// known or the target is a device, and a kind is one that may win.
class OverlapChoice {
public:
  explicit OverlapChoice(mlir::ModuleOp module) : OverlapChoice(module, lang::Settings(module)) {}
  OverlapChoice(mlir::ModuleOp module, const lang::Settings &settings, const Prices &prices)
      : kinds(settings.plan.overlap), hasCosts(prices.areKnown() || lang::targetOf(module).isGpu()),
        isShort(module->hasAttr(lang::kKeepsMemory)) {}

  /// Whether nobody has asked for what takes memory, and there is none left.
  bool keepsMemory() const { return isByCost() && isShort; }
  bool isByCost() const { return !kinds; }
  bool starts(lang::Overlap kind) const {
    return kinds ? llvm::is_contained(*kinds, kind) : hasCosts;
  }
  /// Whether a collective of a function may run beside its other calls.
  bool mayFly(rt::CollectiveOp op) const {
    auto merged = op->getParentOp()->getAttrOfType<mlir::IntegerAttr>(kMergedBy);
    return starts(overlapKindOf(op)) ||
           (merged && starts(static_cast<lang::Overlap>(merged.getInt())));
  }

private:
  std::optional<std::vector<lang::Overlap>> kinds;
  bool hasCosts, isShort;

  OverlapChoice(mlir::ModuleOp module, const lang::Settings &settings)
      : OverlapChoice(module, settings, Prices(settings, dist::meshOf(module))) {}
};

} // namespace tplan::cost

#endif // TPLAN_COST_OVERLAPCHOICE_H
