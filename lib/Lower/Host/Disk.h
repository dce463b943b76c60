//===- Host/Disk.h - names and layouts on disk, as tables -----------------===//
#ifndef TPLAN_LOWER_HOST_DISK_H
#define TPLAN_LOWER_HOST_DISK_H

#include "dialects/sched/Sched.h"
#include "lib/Lower/Host/Builder.h"

namespace tplan::lower {

/// The tp_disk of the module's tplan.disk; null where there is none. `values` are the values that
/// live from step to step, in the order of the tables of tensors.
Address<tp_disk> diskTable(HostBuilder &host, mlir::ModuleOp module,
                           llvm::ArrayRef<sched::ValueOp> values);

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_DISK_H
