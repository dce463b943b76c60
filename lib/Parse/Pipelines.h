//===- Pipelines.h - a schedule by itself ---------===//
#ifndef TPLAN_PARSE_PIPELINES_H
#define TPLAN_PARSE_PIPELINES_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/SourceMgr.h"
#include <optional>
#include <string>

namespace tplan::parse {

/// A schedule by name, with the numbers that a plan gives it.
struct Schedule {
  std::string name;
  std::optional<int64_t> chunks{}, group{}, memory{}, ahead{};
};

/// The same of a text by itself, the main buffer of `sources`; nothing after an error.
std::optional<Schedule> parseSchedule(mlir::MLIRContext &context, llvm::SourceMgr &sources);

} // namespace tplan::parse

#endif // TPLAN_PARSE_PIPELINES_H
