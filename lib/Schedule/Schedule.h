//===- Schedule.h - the passes of `schedule` ------------------------------===//
#ifndef TPLAN_SCHEDULE_SCHEDULE_H
#define TPLAN_SCHEDULE_SCHEDULE_H

#include "mlir/Pass/Pass.h"
#include <memory>

namespace tplan::schedule {
#define GEN_PASS_DECL
#include "lib/Schedule/Passes.h.inc"
} // namespace tplan::schedule

#endif // TPLAN_SCHEDULE_SCHEDULE_H
