//===- Host/Program.cpp - entry points of the binary ----------------------===//
//
// A step walks the constant table of tasks: one function for each section of a task, called with
// the microbatch. So code grows with runs and stages, never with microbatches or layers.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Host/Program.h"
#include "lib/Lower/Host/SharedSections.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;
using sched::Times;

namespace {
class ProgramEmitter {
public:
  ProgramEmitter(HostBuilder &host, HostGroups &groups, HostCalls &calls, SharedSections &shared,
                 HostPlaces &places, sched::ProgramOp program)
      : host(host), sections(host, groups, calls, places), shared(shared), places(places),
        program(program) {}

  EntryPoints emitAll();

private:
  HostBuilder &host;
  HostSections sections;
  SharedSections &shared;
  HostPlaces &places;
  sched::ProgramOp program;
  llvm::DenseMap<Operation *, SharedSection> functions; // the functions of sections

  /// Distinguishes the programs of several ranks.
  std::string suffix() {
    return program.getRank() ? ".rank" + std::to_string(*program.getRank()) : "";
  }
  std::string nameOf(sched::SectionOp section) {
    StringRef what = section.isOfTask() ? "tplan.task." : "tplan.section.";
    return (what + section.getSymName()).str() + suffix();
  }
  bool isFunction(sched::SectionOp section) { return section.isOfTask() || program.isOfPipeline(); }
  void emitFunction(sched::SectionOp section);
  void emitSection(sched::SectionOp section, Value rank, Value arena, Value microbatch);
  void emitTasks(Value rank, Value arena);
  std::string emitEntry(sched::EntryOp entry);
};
} // namespace

void ProgramEmitter::emitFunction(sched::SectionOp section) {
  if (program.isOfPipeline()) {
    functions[section] = shared.get(section, places, nameOf(section));
    return;
  }
  host.loc = program.getLoc();
  functions[section].function = nameOf(section);
  host.begin(nameOf(section), {host.ptr, host.ptr, host.i64});
  sections.emit(
      section, {host.argument(0), host.argument(1), host.argument(2), section.isOfTask(), Value()});
  host.end();
}

void ProgramEmitter::emitSection(sched::SectionOp section, Value rank, Value arena,
                                 Value microbatch) {
  if (!isFunction(section))
    return sections.emit(section, {rank, arena, microbatch, section.isOfTask(), Value()});
  const SharedSection &of = functions[section];
  auto addressOf = [&](StringRef symbol) {
    return symbol.empty() ? host.null() : host.address(symbol);
  };
  host.call(of.function,
            {rank, arena, microbatch, addressOf(of.offsets.symbol), addressOf(of.pointers.symbol)});
}

/// Most sections of tasks, so that one number can hold a task: microbatches are at most 2^14.
static constexpr int64_t kSections = 1 << 16;

/// Calls the function of each task in the order of the table.
void ProgramEmitter::emitTasks(Value rank, Value arena) {
  SmallVector<int32_t> stages; // the stage of each section
  SmallVector<int32_t> tasks;  // section + microbatch * kSections
  std::vector<Cell<SharedSection::Function *>> addresses;
  std::vector<Cell<const int64_t *>> offsets;
  std::vector<Cell<const void *const *>> pointers;
  llvm::DenseMap<std::pair<int, int64_t>, int32_t> caseOf;
  for (int64_t i = 0, e = program.getNumTasks(); i < e; ++i) {
    sched::Task task = program.getTask(i);
    auto [number, added] =
        caseOf.try_emplace({static_cast<int>(task.kind), task.stage}, addresses.size());
    if (added) {
      const SharedSection &of = functions[program.findSection(task.kind, task.stage)];
      addresses.emplace_back(Address<SharedSection::Function>{of.function});
      offsets.emplace_back(of.offsets);
      pointers.emplace_back(of.pointers);
      stages.push_back(task.stage);
    }
    tasks.push_back(number->second + task.microbatch * kSections);
  }
  if (addresses.size() > kSections)
    llvm::reportFatalInternalError("a program has too many sections of tasks");
  auto functionTable = host.array<SharedSection::Function *>("functions", addresses);
  Table<const int64_t *> offsetsTable;
  Table<const void *const *> pointersTable;
  if (program.isOfPipeline()) {
    offsetsTable = host.array<const int64_t *>("offsets_of", offsets);
    pointersTable = host.array<const void *const *>("pointers_of", pointers);
  }
  Table<int32_t> taskTable = host.numbers("tasks", tasks), stageTable;
  if (program.isOfPipeline())
    stageTable = host.numbers("stages", stages);
  host.loop(program.getNumTasks(), [&](Value i) {
    Value place = host.offset(host.address(taskTable), host.multiplyAdd(host.number(0), i, 4));
    Value task = LLVM::SExtOp::create(host.b, host.loc, host.i64, host.load(host.i32, place));
    Value number = LLVM::AndOp::create(host.b, host.loc, task, host.number(kSections - 1));
    Value m = LLVM::LShrOp::create(host.b, host.loc, task, host.number(llvm::Log2_64(kSections)));
    auto pointer = [&](StringRef table) {
      Value at = host.multiplyAdd(host.number(0), number, 8);
      return host.load(host.ptr, host.offset(host.address(table), at));
    };
    SmallVector<Value> arguments = {rank, arena, m};
    if (program.isOfPipeline()) {
      arguments.append({pointer(offsetsTable.symbol), pointer(pointersTable.symbol)});
      Value at = host.offset(host.address(stageTable), host.multiplyAdd(host.number(0), number, 4));
      Value stage = LLVM::SExtOp::create(host.b, host.loc, host.i64, host.load(host.i32, at));
      host.call("tp_begin_task", {rank, stage, m});
    }
    host.callPointer(pointer(functionTable.symbol), arguments);
  });
  if (program.isOfPipeline())
    host.call("tp_begin_task", {rank, host.number(-1), host.number(-1)});
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
    host.loop(item.getTimes() == Times::Once ? 1 : program.getMicrobatches(),
              [&](Value m) { emitSection(section, rank, arena, m); });
  }
  host.end();
  return name;
}

EntryPoints ProgramEmitter::emitAll() {
  for (auto section : program.getBody().getOps<sched::SectionOp>())
    if (isFunction(section))
      emitFunction(section);
  EntryPoints entries;
  for (auto entry : program.getBody().getOps<sched::EntryOp>()) {
    std::string *symbol = llvm::StringSwitch<std::string *>(entry.getName())
                              .Case("prepare", &entries.prepare)
                              .Case("step", &entries.step)
                              .Case("evaluate", &entries.evaluate)
                              .Case("predict", &entries.predict)
                              .Default(nullptr);
    assert(symbol && "the verifier knows no other entry");
    *symbol = emitEntry(entry);
  }
  return entries;
}

EntryPoints lower::emitEntryPoints(HostBuilder &host, HostGroups &groups, HostCalls &calls,
                                   SharedSections &shared, HostPlaces &places,
                                   sched::ProgramOp program) {
  return ProgramEmitter(host, groups, calls, shared, places, program).emitAll();
}
