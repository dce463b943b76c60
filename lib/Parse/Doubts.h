//===- Doubts.h - what compiles, and is hardly meant -------------------------===//
//
// Warnings, each with a way out. What cannot be meant is an error where it is read.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PARSE_DOUBTS_H
#define TPLAN_PARSE_DOUBTS_H

#include "dialects/tplan/Tplan.h"
#include "lib/Parse/Layout.h"
#include "lib/Parse/Report.h"

namespace tplan::parse {

/// A part of the learning rate: the steps begin < step <= end.
struct RatePart {
  llvm::StringRef shape; // "warmup" too
  llvm::SMLoc loc;
  int64_t begin, end;
  double last; // the rate at its end
};

/// Parts that do not end with the training: a warmup that never does, parts that never
/// come, steps after the last.
void doubtRate(Report &report, llvm::ArrayRef<RatePart> parts, int64_t steps, llvm::SMLoc length);

/// A loss whose targets the model has read.
void doubtTargets(mlir::ModuleOp module);

/// Heads of an attention that are fewer than their ranks.
void doubtHeads(Report &report, mlir::ModuleOp module, const Layout &layout);

/// Warns of paths of one word that is nearly a kind of weights: `norm`, where `norms` are all of
/// them.
void doubtSelector(Report &report, const Selector &selector, llvm::ArrayRef<llvm::StringRef> kinds);

} // namespace tplan::parse

#endif // TPLAN_PARSE_DOUBTS_H
