//===- Host/Disk.h - names and layouts on disk, as tables -----------------===//
#ifndef TPLAN_LOWER_HOST_DISK_H
#define TPLAN_LOWER_HOST_DISK_H

#include "dialects/sched/Sched.h"
#include "lib/Lower/Host/Builder.h"

namespace tplan::lower {

/// The tp_disk that tplan.disk of the module says; null where there is none. `values` are what
/// lives from step to step, in the order of the tables of tensors.
Address<tp_disk> diskTable(HostBuilder &host, mlir::ModuleOp module,
                           llvm::ArrayRef<sched::ValueOp> values);

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_DISK_H
