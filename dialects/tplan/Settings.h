//===- Settings.h - recipe, plan and target of a module -------------------===//
#ifndef TPLAN_DIALECTS_TPLAN_SETTINGS_H
#define TPLAN_DIALECTS_TPLAN_SETTINGS_H

#include "dialects/tplan/Tplan.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include <optional>

namespace tplan::lang {

/// The settings of the module's recipe, plan and cluster; empty where absent.
struct Settings {
  mlir::DictionaryAttr recipe, plan, cluster;
  llvm::StringRef planName;

  explicit Settings(mlir::ModuleOp module);

  /// Where a line of the plan stands in the source; the plan's own place where it has none.
  mlir::Location planLine(llvm::StringRef key) const;
  /// Likewise of the cluster.
  mlir::Location clusterLine(llvm::StringRef key) const;

  /// Bytes that a rank may use: the plan's `memory`, else the cluster's; nothing where neither
  /// says.
  std::optional<int64_t> memoryLimit() const;

  /// Ranks of the mesh; 1 without one. Along axes of it, by their names: the product of their
  /// sizes.
  int64_t ranks() const;
  int64_t ranksAlong(llvm::ArrayRef<mlir::Attribute> axes) const;
  /// Ranks that share the batch: the product of the axes over which B is sharded.
  int64_t dataRanks() const;

private:
  mlir::Operation *planOp, *clusterOp; // or the module
};

/// Each dimension of the values in a module, and its size where it first occurs.
llvm::MapVector<llvm::StringRef, int64_t> dimensionsOf(mlir::ModuleOp module);

/// Facts of the machine that a plan is compiled for, which the driver writes on the module:
/// cpu, features and needs (for the runtime's check), text; vector_bytes (of a register),
/// registers (of vectors) and f16c (1 where it converts f16), numbers. Empty where nobody has
/// written them.
inline constexpr llvm::StringLiteral kTarget = "tplan.target";
mlir::DictionaryAttr targetOf(mlir::ModuleOp module);

/// Sizes of dimensions as which collectives are chosen, which the driver writes on the module
/// where they are others than those of its types: a plan that was shrunk keeps its collectives.
inline constexpr llvm::StringLiteral kCostSizes = "tplan.cost_sizes";

/// A whole number of a dictionary, or `otherwise` where the key is absent.
int64_t getInt(mlir::DictionaryAttr settings, llvm::StringRef key, int64_t otherwise);
double getFloat(mlir::DictionaryAttr settings, llvm::StringRef key, double otherwise);
llvm::StringRef getString(mlir::DictionaryAttr settings, llvm::StringRef key,
                          llvm::StringRef otherwise);

/// Microbatches of a step on each rank: the rank's part of the batch over microbatch. Error at
/// its line where the one is no multiple of the other.
mlir::FailureOr<int64_t> countMicrobatches(const Settings &settings);

} // namespace tplan::lang

#endif // TPLAN_DIALECTS_TPLAN_SETTINGS_H
