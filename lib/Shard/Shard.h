//===- Shard.h - the shard phase: local sizes -----------------------------===//
#ifndef TPLAN_LIB_SHARD_H
#define TPLAN_LIB_SHARD_H

#include "mlir/Pass/Pass.h"

namespace tplan::shard {
std::unique_ptr<mlir::Pass> createSplitMicrobatchesPass();
std::unique_ptr<mlir::Pass> createSplitStagesPass();
std::unique_ptr<mlir::Pass> createAssignLayoutsPass();
std::unique_ptr<mlir::Pass> createCheckLayoutsPass();
std::unique_ptr<mlir::Pass> createDeriveCollectivesPass();
std::unique_ptr<mlir::Pass> createLocalizePass();
std::unique_ptr<mlir::Pass> createSumStagesPass();
} // namespace tplan::shard

#endif // TPLAN_LIB_SHARD_H
