//===- Host/SharedSections.h - code that programs of a pipeline have in common --===//
#ifndef TPLAN_LOWER_HOST_SHAREDSECTIONS_H
#define TPLAN_LOWER_HOST_SHAREDSECTIONS_H

#include "lib/Lower/Host/Sections.h"

namespace tplan::lower {

/// A section as a program calls it: int f(rank, arena, microbatch, offsets, pointers).
struct SharedSection {
  std::string head, body; // symbols of functions; empty where there are no ops
  Table<int64_t> offsets; // offsets of what its ops use, in their order
  /// For a family, where it is used first: the slot of each microbatch, and where the slots are.
  /// For a message: its call and its collectives.
  Table<const void *> pointers;
};

/// The functions of sections, over all programs of a module. Among several programs, runs of layers
/// that do the same with memory in other places have one function, and so have sections; each
/// program has tables that say where its memory is. A single program has its places in its code.
class SharedSections {
public:
  SharedSections(HostBuilder &host, HostGroups &groups, HostCalls &calls)
      : host(host), groups(groups), calls(calls) {}

  /// `places` are those of the section's program; `name` is the name of the function if it has to
  /// be made.
  SharedSection get(sched::SectionOp section, HostPlaces &places, llvm::StringRef name);

private:
  HostBuilder &host;
  HostGroups &groups;
  HostCalls &calls;
  llvm::StringMap<std::string> functions; // of runs: their names, by what their ops do
  llvm::StringMap<SharedSection> shared;  // of sections, likewise; without tables

  SharedSection emitAlone(sched::SectionOp section, HostPlaces &places, llvm::StringRef name);
  SharedSection share(sched::SectionOp section, HostPlaces &places, llvm::StringRef name);
  std::string functionOf(sched::RunOp run, HostSections &sections, bool isOfTask,
                         llvm::StringRef key, llvm::StringRef name);
  /// Emits a function of a section's signature, unless there is nothing to do.
  std::string emitFunction(llvm::StringRef name, mlir::Location loc, bool isEmpty,
                           llvm::function_ref<void()> body);
};

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_SHAREDSECTIONS_H
