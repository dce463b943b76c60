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

/// A program, and what is emitted of it.
struct HostProgram {
  sched::ProgramOp op;
  HostPlaces places;
  EntryPoints entries;
  int64_t stepCalls = 0; // of a device
};

class SharedSections;

/// Emits the entry points. Among several programs sections are functions that those have in common.
EntryPoints emitEntryPoints(HostBuilder &host, HostGroups &groups, HostCalls &calls,
                            SharedSections &shared, HostPlaces &places, sched::ProgramOp program);

/// Emits a tp_program with its tables for each program, and `main` where the target has it. All
/// code is emitted before, because the tables say which groups, kernels and events it has.
void emitTables(HostBuilder &host, HostGroups &groups, HostCalls &calls,
                llvm::MutableArrayRef<HostProgram> programs);

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_PROGRAM_H
