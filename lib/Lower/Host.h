//===- Host.h - the host program as code ----------------------------------===//
#ifndef TPLAN_LOWER_HOST_H
#define TPLAN_LOWER_HOST_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace tplan::lower {

/// --record-calls: writes beside each call what the host and the profile must
/// know of it (tasks, FLOPs, bytes, category), before its kernel becomes code.
std::unique_ptr<mlir::Pass> createRecordCallsPass();

/// --lower-host: functions, the program and its tables become LLVM. Runs when
/// kernels are code; afterwards the module holds LLVM alone.
std::unique_ptr<mlir::Pass> createLowerHostPass();

/// File and line of the .tplan source that a location comes from; ("", 0) where
/// it comes from none.
std::pair<llvm::StringRef, int64_t> sourceOf(mlir::Location loc);

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_H
