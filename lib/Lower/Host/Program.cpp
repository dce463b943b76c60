//===- Host/Program.cpp - entry points of the binary ----------------------===//
//
// A step walks the constant table of tasks: one function for each section of a task, called with
// the microbatch. So code grows with runs and stages, never with microbatches or layers.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Host/Program.h"
#include "lib/Lower/Host/Sections.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;
using sched::Times;

namespace {
class ProgramEmitter {
public:
  ProgramEmitter(HostBuilder &host, HostSections &sections, sched::ProgramOp program)
      : host(host), sections(sections), program(program) {}

  EntryPoints emitAll();

private:
  HostBuilder &host;
  HostSections &sections;
  sched::ProgramOp program;

  /// Programs of several ranks are told apart by it.
  std::string suffix() {
    return program.getRank() ? ".rank" + std::to_string(*program.getRank()) : "";
  }
  std::string taskName(sched::SectionOp section) {
    return "tplan.task." + section.getSymName().str() + suffix();
  }
  void emitTask(sched::SectionOp section);
  void emitTasks(Value rank, Value arena);
  std::string emitEntry(sched::EntryOp entry);
};
} // namespace

void ProgramEmitter::emitTask(sched::SectionOp section) {
  host.loc = program.getLoc();
  host.begin(taskName(section), {host.ptr, host.ptr, host.i64});
  sections.emit(
      section, {host.argument(0), host.argument(1), host.argument(2), section.isOfTask(), Value()});
  host.end();
}

/// Calls the function of each task in the order of the table.
void ProgramEmitter::emitTasks(Value rank, Value arena) {
  SmallVector<int32_t> which, microbatches;
  std::vector<std::string> functions;
  llvm::DenseMap<std::pair<int, int64_t>, int32_t> caseOf;
  for (int64_t i = 0, e = program.getNumTasks(); i < e; ++i) {
    sched::Task task = program.getTask(i);
    auto [number, added] =
        caseOf.try_emplace({static_cast<int>(task.kind), task.stage}, functions.size());
    if (added)
      functions.push_back(taskName(program.findSection(task.kind, task.stage)));
    which.push_back(number->second);
    microbatches.push_back(task.microbatch);
  }
  using Function = int(tp_rank *, char *, int64_t);
  std::vector<Cell<Function *>> addresses;
  for (const std::string &function : functions)
    addresses.emplace_back(Address<Function>{function});
  Table<Function *> functionTable = host.array<Function *>("functions", addresses);
  Table<int32_t> whichTable = host.numbers("tasks", which);
  Table<int32_t> microbatchTable = host.numbers("microbatches", microbatches);
  auto entry = [&](const Table<int32_t> &table, Value i) -> Value {
    Value place = host.offset(host.address(table), host.multiplyAdd(host.number(0), i, 4));
    return LLVM::SExtOp::create(host.b, host.loc, host.i64, host.load(host.i32, place));
  };
  host.loop(program.getNumTasks(), [&](Value i) {
    Value number = entry(whichTable, i), m = entry(microbatchTable, i);
    Value slot =
        host.offset(host.address(functionTable), host.multiplyAdd(host.number(0), number, 8));
    host.callPointer(host.load(host.ptr, slot), {rank, arena, m});
  });
}

std::string ProgramEmitter::emitEntry(sched::EntryOp entry) {
  std::string name = "tplan." + entry.getName().str() + suffix();
  host.loc = program.getLoc();
  host.begin(name, {host.ptr, host.ptr});
  Value rank = host.argument(0), arena = host.argument(1);
  for (auto item : entry.getSections().getAsRange<sched::ExecuteAttr>()) {
    host.loc = program.getLoc();
    if (item.getTimes() == Times::Tasks) {
      emitTasks(rank, arena);
      continue;
    }
    sched::SectionOp section = program.lookupSymbol<sched::SectionOp>(item.getSection().getValue());
    host.loop(item.getTimes() == Times::Once ? 1 : program.getMicrobatches(), [&](Value m) {
      sections.emit(section, {rank, arena, m, section.isOfTask(), Value()});
    });
  }
  host.end();
  return name;
}

EntryPoints ProgramEmitter::emitAll() {
  for (auto section : program.getBody().getOps<sched::SectionOp>())
    if (section.getKind())
      emitTask(section);
  EntryPoints entries;
  for (auto entry : program.getBody().getOps<sched::EntryOp>()) {
    std::string *symbol = llvm::StringSwitch<std::string *>(entry.getName())
                              .Case("prepare", &entries.prepare)
                              .Case("step", &entries.step)
                              .Case("evaluate", &entries.evaluate)
                              .Case("predict", &entries.predict)
                              .Default(nullptr);
    if (symbol)
      *symbol = emitEntry(entry);
  }
  return entries;
}

EntryPoints lower::emitEntryPoints(HostBuilder &host, HostGroups &groups, HostCalls &calls,
                                   HostPlaces &places, sched::ProgramOp program) {
  HostSections sections(host, groups, calls, places);
  return ProgramEmitter(host, sections, program).emitAll();
}
