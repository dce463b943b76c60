//===- Text.h - orders as text ---------------------------------------------------===//
//
// The form that `--emit=schedule-json` prints and that `pipeline from` and `--check-schedule` read:
// a token is stage, kind and microbatch, `3F2`; a pair `(3F2;1B0)`; a batch of messages
// `[S>1:0F3|R<1:1B0]`. docs/schedules.md has all of it.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PIPELINE_TEXT_H
#define TPLAN_PIPELINE_TEXT_H

#include "lib/Pipeline/Check.h"
#include "lib/Pipeline/Simulate.h"

namespace tplan::pipeline {

/// A schedule as a file has it.
struct OrderFile {
  std::string schedule; // its name
  Pipeline pipeline;
  Orders orders;
  std::vector<Program> programs; // empty: those of placeMessages
};

struct ReadOrders {
  std::optional<OrderFile> file;
  Fault fault; // where there is none
};
/// Reads JSON. What it says is not checked beyond that it can be read: stages, ranks and
/// microbatches of tokens may be any.
ReadOrders readOrders(llvm::StringRef json);

/// The object of `--emit=schedule-json`.
void printOrders(llvm::StringRef schedule, const Pipeline &pipeline, const Orders &orders,
                 const Costs &costs, llvm::raw_ostream &os);
/// Judges a file, prints the object of `--check-schedule`, and returns whether it is legal whether
/// sends block or not.
bool judgeOrders(llvm::StringRef json, const Costs &costs, llvm::raw_ostream &os);

} // namespace tplan::pipeline

#endif // TPLAN_PIPELINE_TEXT_H
