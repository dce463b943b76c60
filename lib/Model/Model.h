//===- Model.h - the model phase: tplan -> nn -----------------------------===//
#ifndef TPLAN_LIB_MODEL_H
#define TPLAN_LIB_MODEL_H

#include "mlir/Pass/Pass.h"

namespace tplan::model {
std::unique_ptr<mlir::Pass> createInlineLayersPass();
std::unique_ptr<mlir::Pass> createExpandBuiltinsPass();
std::unique_ptr<mlir::Pass> createCutUpdatesPass();
std::unique_ptr<mlir::Pass> createHoistTablesPass();
std::unique_ptr<mlir::Pass> createOutlineLayersPass();
std::unique_ptr<mlir::Pass> createMergeLayersPass();
} // namespace tplan::model

#endif // TPLAN_LIB_MODEL_H
