//===- Host/Program.cpp - entry points of the binary ----------------------===//
//
// An entry point is a table of sections in their order, which the runtime executes. So code grows
// with runs and stages, never with microbatches or layers.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Host/Program.h"
#include "lib/Lower/Host/SharedSections.h"
#include "lib/Schedule/Walk.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;
using sched::SectionOp;

namespace {
class ProgramEmitter {
public:
  ProgramEmitter(HostBuilder &host, SharedSections &shared, HostPlaces &places,
                 sched::ProgramOp program)
      : host(host), shared(shared), places(places), program(program) {}

  EntryPoints emitAll();

private:
  HostBuilder &host;
  SharedSections &shared;
  HostPlaces &places;
  sched::ProgramOp program;
  std::vector<Record<tp_section>> sections;
  llvm::DenseMap<Operation *, int32_t> numbers; // of sections that do something

  /// Distinguishes the programs of several ranks.
  std::string suffix() {
    return program.getRank() ? ".rank" + std::to_string(*program.getRank()) : "";
  }
  void addSection(SectionOp section);
  Record<tp_entry> recordOf(sched::EntryOp entry, const Table<tp_section> &table);
};
} // namespace

/// "F", the kind of a task, "F+3I" of a pair with I of stage 3; or the section's own name.
static std::string nameOf(SectionOp section) {
  if (section.isOfPair())
    return (sched::stringifyTaskKind(*section.getKind()) + "+" + Twine(*section.getWithStage()) +
            sched::stringifyTaskKind(*section.getWith()))
        .str();
  return section.isOfTask() ? sched::stringifyTaskKind(*section.getKind()).str()
                            : section.getSymName().str();
}

void ProgramEmitter::addSection(SectionOp section) {
  StringRef what = section.isOfTask() ? "tplan.task." : "tplan.section.";
  SharedSection of = shared.get(section, places, (what + section.getSymName()).str() + suffix());
  if (of.head.empty() && of.body.empty())
    return;
  numbers[section] = sections.size();
  auto graphs = section.getGraphOf();
  using Code = Address<int(tp_rank *, char *, int64_t, const int64_t *, const void *const *)>;
  bool isOfStage = program.isOfPipeline() && section.isOfTask();
  sections.push_back({.head = Code{of.head},
                      .body = Code{of.body},
                      .offsets = of.offsets,
                      .pointers = of.pointers,
                      .graph = section.getGraph() ? static_cast<int64_t>(*section.getGraph()) : -1,
                      .graph_of = graphs ? host.numbers("graph_of", *graphs) : Table<int32_t>(),
                      .stage = isOfStage ? static_cast<int64_t>(*section.getStage()) : -1,
                      .task = section.isOfTask() ? static_cast<int64_t>(*section.getStage()) : -1,
                      .name = nameOf(section)});
}

Record<tp_entry> ProgramEmitter::recordOf(sched::EntryOp entry, const Table<tp_section> &table) {
  SmallVector<int32_t> items;
  schedule::forEachExecution(entry, [&](SectionOp section, int64_t microbatch) {
    auto found = numbers.find(section);
    if (found == numbers.end())
      return;
    int64_t item = found->second + microbatch * TP_SECTIONS;
    if (found->second >= TP_SECTIONS || item > std::numeric_limits<int32_t>::max())
      llvm::reportFatalInternalError("a program has too many sections or microbatches");
    items.push_back(static_cast<int32_t>(item));
  });
  return {.sections = table,
          .items = items.empty() ? Table<int32_t>() : host.numbers("items", items),
          .num_items = items.size()};
}

/// The number of an entry for the runtime.
static tp_entry_kind kindOf(sched::EntryOp entry) {
  switch (entry.getKind()) {
  case sched::EntryKind::Prepare:
    return TP_PREPARE;
  case sched::EntryKind::Step:
    return TP_TRAIN;
  case sched::EntryKind::Evaluate:
    return TP_EVALUATE;
  case sched::EntryKind::Predict:
    return TP_PREDICT;
  case sched::EntryKind::EarlyStep:
    return TP_TRAIN_EARLY;
  }
  llvm_unreachable("covered");
}

EntryPoints ProgramEmitter::emitAll() {
  for (auto section : program.getBody().getOps<SectionOp>())
    addSection(section);
  host.loc = program.getLoc();
  Table<tp_section> table = host.table<tp_section>("sections", sections);
  EntryPoints entries;
  std::vector<Record<tp_entry>> records(
      TP_ENTRIES, Record<tp_entry>{.sections = nullptr, .items = nullptr, .num_items = 0});
  for (auto entry : program.getBody().getOps<sched::EntryOp>()) {
    tp_entry_kind kind = kindOf(entry);
    records[kind] = recordOf(entry, table);
    entries.has[kind] = true;
  }
  entries.table = host.table<tp_entry>("entries", records);
  return entries;
}

EntryPoints lower::emitEntryPoints(HostBuilder &host, SharedSections &shared, HostPlaces &places,
                                   sched::ProgramOp program) {
  return ProgramEmitter(host, shared, places, program).emitAll();
}
