//===- Orders.h - what the programs of a module do, as orders of tasks --------===//
#ifndef TPLAN_SCHEDULE_ORDERS_H
#define TPLAN_SCHEDULE_ORDERS_H

#include "lib/Pipeline/Pipeline.h"
#include "mlir/IR/BuiltinOps.h"

namespace tplan::schedule {

/// The pipeline and the orders of the programs of a module, without messages: what lib/Pipeline
/// simulates and draws.
pipeline::Scheduled ordersOf(mlir::ModuleOp module);

} // namespace tplan::schedule

#endif // TPLAN_SCHEDULE_ORDERS_H
