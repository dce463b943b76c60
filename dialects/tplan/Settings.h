//===- Settings.h - recipe, plan and target of a module -------------------===//
#ifndef TPLAN_DIALECTS_TPLAN_SETTINGS_H
#define TPLAN_DIALECTS_TPLAN_SETTINGS_H

#include "dialects/tplan/Tplan.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include <optional>

namespace tplan::lang {

/// The recipe, plan and cluster of a module; the defaults where it has none.
struct Settings {
  const Recipe &recipe;
  const Plan &plan;
  const Cluster &cluster;
  llvm::StringRef planName;

  explicit Settings(mlir::ModuleOp module);

  /// Where a line of the recipe stands in the source; the recipe's own place where it has none.
  mlir::Location recipeLine(llvm::StringRef key) const;
  /// Where a line of the plan stands in the source; the plan's own place where it has none.
  mlir::Location planLine(llvm::StringRef key) const;
  /// Where a line of the cluster stands; the cluster's own place where it has none.
  mlir::Location clusterLine(llvm::StringRef key) const;

  /// Bytes that a rank may use: the plan's `memory`, else the cluster's, else its device's; nothing
  /// where none of them says.
  std::optional<int64_t> memoryLimit() const;

  /// Ranks of the mesh; 1 without one. Ranks along some of its axes, given by name: the product of
  /// their sizes.
  int64_t ranks() const;
  int64_t ranksAlong(llvm::ArrayRef<std::string> axes) const;
  /// Ranks that share the batch: the product of the axes over which B is sharded.
  int64_t dataRanks() const;
  /// Sequences of one rank in a microbatch.
  int64_t microbatch() const;

private:
  mlir::Operation *recipeOp, *planOp, *clusterOp; // or the module
};

/// Each dimension of the values in a module, and its size where it first occurs.
llvm::MapVector<llvm::StringRef, int64_t> dimensionsOf(mlir::ModuleOp module);

/// The machine that a plan is compiled for, which the driver writes on the module. Without it, the
/// default: a CPU.
inline constexpr llvm::StringLiteral kTarget = "tplan.target";
const Target &targetOf(mlir::ModuleOp module);

/// Sizes of dimensions by which collectives are chosen. The driver writes them on the module where
/// they differ from the sizes of its types: so a plan that was shrunk keeps its collectives.
inline constexpr llvm::StringLiteral kCostSizes = "tplan.cost_sizes";

/// Without a list of what runs beside other work: it may need no more memory than a plan without
/// overlap. The driver writes it on the module where a rank has no more.
inline constexpr llvm::StringLiteral kKeepsMemory = "tplan.keeps_memory";

/// Microbatches of a step on each rank: the rank's part of the batch, divided by microbatch. Error
/// at its line where the division leaves a remainder.
mlir::FailureOr<int64_t> countMicrobatches(const Settings &settings);

} // namespace tplan::lang

#endif // TPLAN_DIALECTS_TPLAN_SETTINGS_H
