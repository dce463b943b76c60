//===- ChainValues.h - what runs and tasks leave to each other ------------------===//
#ifndef TPLAN_SCHEDULE_CHAINVALUES_H
#define TPLAN_SCHEDULE_CHAINVALUES_H

#include "lib/Schedule/Values.h"

namespace tplan::schedule {

sched::KeyAttr activationKey(mlir::MLIRContext *context, const llvm::Twine &name);
/// A residual of the layers of function j: "r1.block.0.res_fw.h".
sched::KeyAttr residualKey(const Run &run, unsigned j, nn::Role role, llvm::StringRef name);
/// Carried input number k of the layers of function j, or the cotangent of their carried result
/// number k, kept for a later task: "r1.block.0.in.c0", "r1.block.0.cot.c0".
sched::KeyAttr keptKey(const Run &run, unsigned j, unsigned k, bool cotangent);
/// A value of the chain, "tokens+1" or "r0.embed.0.out.c0", or its cotangent.
sched::KeyAttr chainKey(const Chain &chain, mlir::Value value, bool cotangent = false);
/// What a rank sends or receives of one, where it goes in parts.
sched::KeyAttr sentKey(const Chain &chain, mlir::Value value, bool cotangent);
/// "r1.F", with "counts." before it in that chain.
std::string partName(const Chain &chain, const Run &run, Part part);
/// Carried value (or cotangent) number k on its way from layer to layer, where nothing keeps it.
sched::KeyAttr handoverKey(const Chain &chain, const Run &run, Part part, unsigned k);

/// Declares what the runs of a chain hand to each other, and in training what one task leaves to
/// another. It must come before anything is built of the chain.
void declareChainValues(ProgramValues &values, const Chain &chain);

/// The runs of the chain whose backward writes the cotangent of `value`.
llvm::SmallVector<Reader> cotangentWriters(const Chain &chain, mlir::Value value);
/// Values that go from stage `stage` to the next and whose cotangents come back: a later
/// stage gives one and the producer takes it.
llvm::SmallVector<mlir::Value> cotangentsBefore(const Chain &chain, int64_t stage);
/// Whether `value` has a cotangent: a reader makes one, or its producer takes one.
bool hasCotangent(const Chain &chain, mlir::Value value);

} // namespace tplan::schedule

#endif // TPLAN_SCHEDULE_CHAINVALUES_H
