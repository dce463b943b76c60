//===- Host/Program.h - entry points and tables of the binary -------------===//
#ifndef TPLAN_LOWER_HOST_PROGRAM_H
#define TPLAN_LOWER_HOST_PROGRAM_H

#include "lib/Lower/Host/Calls.h"
#include "lib/Lower/Host/Places.h"
#include "lib/Memory/Memory.h"
#include <array>

namespace tplan::lower {

/// The table of a program's entries, by tp_entry_kind, and which of them the program has.
struct EntryPoints {
  Table<tp_entry> table;
  std::array<bool, TP_ENTRIES> has = {};
};

/// A program, and what is emitted of it.
struct HostProgram {
  sched::ProgramOp op;
  HostPlaces places;
  EntryPoints entries;
  memory::GraphCounts graphs; // of a device
};

class SharedSections;

/// Emits the tables of the entry points, and the functions of sections that no earlier program has
/// emitted.
EntryPoints emitEntryPoints(HostBuilder &host, SharedSections &shared, HostPlaces &places,
                            sched::ProgramOp program);

/// Emits a tp_program with its tables for each program, and `main` where the target has it. All
/// code is emitted before, because the tables say which groups, kernels and events it has.
void emitTables(HostBuilder &host, HostGroups &groups, HostCalls &calls,
                llvm::MutableArrayRef<HostProgram> programs);

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_PROGRAM_H
