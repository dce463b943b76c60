//===- Host/SharedSections.h - code that programs of a pipeline have in common --===//
#ifndef TPLAN_LOWER_HOST_SHAREDSECTIONS_H
#define TPLAN_LOWER_HOST_SHAREDSECTIONS_H

#include "lib/Lower/Host/Sections.h"

namespace tplan::lower {

/// A section as a program calls it: int f(rank, arena, microbatch, offsets, pointers).
struct SharedSection {
  using Function = int(tp_rank *, char *, int64_t, const int64_t *, const void *const *);
  std::string function;
  Table<int64_t> offsets; // offsets of what its ops use, in their order
  /// For a family, where it is used first: the slot of each microbatch, and where the slots are.
  /// For a message: its call and its collectives.
  Table<const void *> pointers;
};

/// The functions of sections, over all programs of a module. Runs of layers that do the same with
/// memory in other places have one function, and so have sections; each program has tables that say
/// where its memory is.
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
  llvm::StringMap<std::string> functions; // function names, by what their ops do
};

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_SHAREDSECTIONS_H
