//===- Host/Program.h - entry points and tables of the binary -------------===//
#ifndef TPLAN_LOWER_HOST_PROGRAM_H
#define TPLAN_LOWER_HOST_PROGRAM_H

#include "lib/Lower/Host/Calls.h"
#include "lib/Lower/Host/Places.h"
#include "lib/Schedule/Chain.h"

namespace tplan::lower {

/// Symbols of the generated entry points; `predict` is empty where the model has
/// no logits.
struct EntryPoints {
  std::string prepare, step, evaluate, predict;
};

/// The metrics that the parts `states` give, by name, each once.
void forEachMetric(const schedule::Chain &train, llvm::function_ref<void(llvm::StringRef)> body);

/// Emits the entry points. `train` and `counts` (or null) are the program's chains.
EntryPoints emitEntryPoints(HostBuilder &host, HostGroups &groups, HostCalls &calls,
                            HostPlaces &places, sched::ProgramOp program,
                            const schedule::Chain &train, const schedule::Chain *counts);

/// Emits the tp_program with its tables, and `main` where the target has it.
void emitTables(HostBuilder &host, HostGroups &groups, HostCalls &calls, HostPlaces &places,
                sched::ProgramOp program, const schedule::Chain &train,
                const schedule::Chain *counts, const EntryPoints &entries, int64_t stepCalls);

/// The value that part `evaluate` hands to the runtime as logits, if the model has one.
std::optional<nn::Tensor> logitsType(const schedule::Chain &train);

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_PROGRAM_H
