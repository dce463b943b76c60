//===- Host/Program.h - entry points and tables of the binary -------------===//
#ifndef TPLAN_LOWER_HOST_PROGRAM_H
#define TPLAN_LOWER_HOST_PROGRAM_H

#include "lib/Lower/Host/Calls.h"
#include "lib/Lower/Host/Places.h"

namespace tplan::lower {

/// Symbols of the generated entry points; `predict` is empty where the model has
/// no logits.
struct EntryPoints {
  std::string prepare, step, evaluate, predict;
};

/// Emits the entry points.
EntryPoints emitEntryPoints(HostBuilder &host, HostGroups &groups, HostCalls &calls,
                            HostPlaces &places, sched::ProgramOp program);

/// Emits the tp_program with its tables, and `main` where the target has it.
void emitTables(HostBuilder &host, HostGroups &groups, HostCalls &calls, HostPlaces &places,
                sched::ProgramOp program, const EntryPoints &entries, int64_t stepCalls);

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_PROGRAM_H
