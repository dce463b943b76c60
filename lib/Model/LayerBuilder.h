//===- LayerBuilder.h - a layer function from ops of the model ------------===//
#ifndef TPLAN_MODEL_LAYERBUILDER_H
#define TPLAN_MODEL_LAYERBUILDER_H

#include "lib/Model/Losses.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"

namespace tplan::model {

/// Cheap to write again in every layer, so never handed over.
bool isRematerialized(mlir::Operation *op);

/// Fills an `nn.layer` with clones of ops from the model's body or a list's kind.
class LayerBuilder {
public:
  LayerBuilder(mlir::ModuleOp module, llvm::StringRef name, mlir::Location loc,
               const Losses &losses);

  /// The run's carried value or invariant number `position`, as the layer takes it.
  void addInput(nn::Role role, unsigned position, mlir::Value value);

  /// Clones one op; weights and step scalars become arguments, losses, outputs and
  /// contributions results.
  void clone(mlir::Operation *op);

  void addCarriedResult(unsigned position, mlir::Value value);

  /// Writes part `states`, where the layer has something to do once a step.
  void finish();

  mlir::Value lookup(mlir::Value v);
  bool contains(mlir::Value v) const { return map.contains(v); }

  nn::LayerOp layer;
  llvm::MapVector<llvm::StringRef, lang::WeightOp> weights;

private:
  void addWeight(lang::WeightOp weight);
  void addScalar(nn::ScalarOp scalar);
  void addLoss(lang::LossOp loss);
  void addOnce(lang::OnceOp once);
  void addContribution(lang::ContributeOp contribution);

  mlir::OpBuilder builder;
  const Losses &losses;
  mlir::IRMapping map;
  llvm::StringMap<mlir::Value> scalars;
  llvm::SmallVector<lang::OnceOp> onces;
  int64_t sites = 0;
};

} // namespace tplan::model

#endif // TPLAN_MODEL_LAYERBUILDER_H
