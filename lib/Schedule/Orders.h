//===- Orders.h - what the programs of a module do, as orders of tasks --------===//
#ifndef TPLAN_SCHEDULE_ORDERS_H
#define TPLAN_SCHEDULE_ORDERS_H

#include "lib/Pipeline/Pipeline.h"
#include "mlir/IR/BuiltinOps.h"

namespace tplan::schedule {

/// Which tasks of programs an order has.
enum class With {
  Work, // F, B, I and W, as users write orders
  All   // and R, the sums over ranks, and messages
};
/// The pipeline and the orders of the programs of a module: what lib/Pipeline simulates and draws.
pipeline::Scheduled ordersOf(mlir::ModuleOp module, With with);

} // namespace tplan::schedule

#endif // TPLAN_SCHEDULE_ORDERS_H
