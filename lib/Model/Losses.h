//===- Losses.h - the terms of the training loss, by name -----------------===//
//
// A `loss` statement of a layer runs as often as its layer: in a list, in two calls,
// in two forms. All that it emits adds up under one name.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_MODEL_LOSSES_H
#define TPLAN_MODEL_LOSSES_H

#include "dialects/nn/NNBuilder.h"
#include "dialects/tplan/Tplan.h"
#include "llvm/ADT/MapVector.h"

namespace tplan::model {

class Losses {
public:
  /// Reads them off a model. An error where one name would need two counts.
  mlir::LogicalResult collect(lang::ModelOp model);

  bool empty() const { return named.empty(); }
  /// Name -> weight of what the name's sum, divided by its count, adds to the loss.
  mlir::DictionaryAttr weights(mlir::MLIRContext *context) const;
  /// What one emitted sum is multiplied by before it is added to the sum of its name:
  /// the calls of a layer may differ in weight and in the number of terms.
  double factor(lang::LossOp loss) const;
  /// One statement of each name: the one whose terms are counted.
  llvm::SmallVector<lang::LossOp> counted() const;

private:
  llvm::MapVector<llvm::StringRef, lang::LossOp> named;
};

/// The number of terms of a mean in one microbatch: so many for each sequence of `batch`.
mlir::Value countTerms(nn::NNBuilder &b, lang::LossOp loss, nn::DimAttr batch);

} // namespace tplan::model

#endif // TPLAN_MODEL_LOSSES_H
