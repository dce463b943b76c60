//===- Host/SharedSections.cpp - code that programs of a pipeline have in common --===//
//
// The stages in the middle of a model do the same with other weights, and their arenas differ in
// how many microbatches they keep. So the text of a section, without the places of its memory, says
// whether an earlier program had the same section.
//
// One decision: each use of an op has its own place in the table, in the order of the ops,
// whichever value is used. Two sections are then alike where their ops are, and no values have to
// be matched.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Host/SharedSections.h"
#include "lib/Lower/Lower.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

/// Writes the attributes on which an op's code depends, each as its address, because equal ones are
/// one and printing takes longer than all else here. Left out are instances, which are written
/// with the uses; titles of runs, which people read; the peer of a message, which the program says;
/// and events, because any will do.
static void spellOp(Operation *op, llvm::raw_ostream &os) {
  auto [file, line] = sourceOf(op->getLoc());
  os << op->getName() << ' ' << file << ':' << line << ' ';
  if (auto run = dyn_cast<sched::RunOp>(op)) {
    os << run.getDescending() << '\n';
    return;
  }
  bool isMessage = isa<sched::SendOp, sched::ReceiveOp>(op);
  for (NamedAttribute attr : op->getAttrs())
    if (attr.getName() != "instances" && attr.getName() != sched::kTurn &&
        !(isMessage && (attr.getName() == "peer" || attr.getName() == "of")))
      os << attr.getName().getAsOpaquePointer() << ' ' << attr.getValue().getAsOpaquePointer()
         << ' ';
}

static void spellUse(const PlaceOfUse &place, llvm::raw_ostream &os) {
  sched::ValueOp value = place.value;
  os << value.getBytes();
  if (place.instance)
    os << ' ' << place.instance.getAsOpaquePointer() << " by " << value.getStride();
  if (place.shift)
    os << " of " << place.shift;
  if (value.getRows())
    os << ' ' << *value.getRows();
  if (value.getType())
    os << ' ' << value.getType()->getAsOpaquePointer();
  os << ';';
}

namespace {
/// An op of a section, and where what it uses begins in the tables.
struct Part {
  Operation *op;
  size_t firstOffset, firstPointer;
  std::string function; // the function, if it is a run
};

/// The text and tables of a section.
class SectionTables {
public:
  SectionTables(HostSections &sections, HostPlaces &places, bool isOfTask)
      : sections(sections), places(places), isOfTask(isOfTask) {}

  SmallVector<int64_t> offsets;
  std::vector<Cell<const void *>> pointers;

  /// Adds what an op and the ops in it use. Pointers of families are counted from `first`.
  void add(Operation *op, size_t first, llvm::DenseMap<Operation *, size_t> &families,
           llvm::raw_ostream &os) {
    op->walk<WalkOrder::PreOrder>([&](Operation *nested) {
      spellOp(nested, os);
      auto step = dyn_cast<sched::Step>(nested);
      if (isa<sched::SendOp, sched::ReceiveOp>(nested)) {
        MessageConstants message = sections.constantsOf(step);
        pointers.emplace_back(Address<void>{message.call.symbol});
        pointers.emplace_back(Address<void>{message.all.symbol});
      }
      if (step)
        for (const PlaceOfUse &place : places.placesOf(step, isOfTask))
          add(place, first, families, os);
      os << '\n';
    });
  }

private:
  HostSections &sections;
  HostPlaces &places;
  const bool isOfTask;

  void add(const PlaceOfUse &place, size_t first, llvm::DenseMap<Operation *, size_t> &families,
           llvm::raw_ostream &os) {
    spellUse(place, os);
    offsets.push_back(place.offset);
    if (!place.family)
      return;
    auto [at, isNew] = families.try_emplace(place.family, pointers.size());
    os << " in " << at->second - first;
    if (!isNew)
      return;
    auto [slotOf, slots] = places.slotsOf(place.family);
    pointers.emplace_back(Address<void>{slotOf.symbol});
    pointers.emplace_back(Address<void>{slots.symbol});
  }
};
} // namespace

std::string SharedSections::emitFunction(StringRef name, Location loc, bool isEmpty,
                                         llvm::function_ref<void()> body) {
  if (isEmpty)
    return {};
  host.loc = loc;
  host.begin(name, {host.ptr, host.ptr, host.i64, host.ptr, host.ptr});
  body();
  host.end();
  return name.str();
}

SharedSection SharedSections::emitAlone(sched::SectionOp section, HostPlaces &places,
                                        StringRef name) {
  HostSections sections(host, groups, calls, places);
  auto emit = [&](auto ops, const Twine &name) {
    return emitFunction(name.str(), section.getLoc(), ops.empty(), [&] {
      SectionContext context = {.rank = host.argument(0),
                                .arena = host.argument(1),
                                .microbatch = host.argument(2),
                                .isOfTask = section.isOfTask()};
      for (Operation &op : ops)
        sections.emit(&op, context);
    });
  };
  SharedSection all;
  all.head = emit(section.getHeadOps(), name + ".head");
  all.body = emit(section.getBodyOps(), name);
  return all;
}

/// It has the number of periods as a sixth argument.
std::string SharedSections::functionOf(sched::RunOp run, HostSections &sections, bool isOfTask,
                                       StringRef key, StringRef name) {
  std::string &function = functions[key];
  if (!function.empty())
    return function;
  function = name.str();
  host.loc = run.getLoc();
  host.begin(function, {host.ptr, host.ptr, host.i64, host.ptr, host.ptr, host.i64});
  PlaceTables at{host.argument(3), host.argument(4)};
  sections.emit(run,
                {.rank = host.argument(0),
                 .arena = host.argument(1),
                 .microbatch = host.argument(2),
                 .isOfTask = isOfTask,
                 .tables = &at},
                host.argument(5));
  host.end();
  return function;
}

SharedSection SharedSections::share(sched::SectionOp section, HostPlaces &places, StringRef name) {
  HostSections sections(host, groups, calls, places);
  bool isOfTask = section.isOfTask();
  SectionTables tables(sections, places, isOfTask);
  std::vector<Part> parts;
  llvm::DenseMap<Operation *, size_t> families; // where their pointers outside of runs are
  std::string key;
  llvm::raw_string_ostream os(key);
  os << (isOfTask ? "task, head " : "section, head ") << section.getHead() << '\n';
  for (Operation &op : section.getBody().front()) {
    if (parts.size() == section.getHead()) // the body is a function of its own
      families.clear();
    Part &part =
        parts.emplace_back(Part{&op, tables.offsets.size(), tables.pointers.size(), std::string()});
    auto run = dyn_cast<sched::RunOp>(op);
    if (!run) {
      tables.add(&op, 0, families, os);
      continue;
    }
    std::string keyOfRun = isOfTask ? "run of a task " : "run ";
    llvm::raw_string_ostream ofRun(keyOfRun);
    llvm::DenseMap<Operation *, size_t> familiesOfRun;
    tables.add(run, part.firstPointer, familiesOfRun, ofRun);
    part.function = functionOf(run, sections, isOfTask, keyOfRun,
                               (name + ".run" + Twine(parts.size() - 1)).str());
    os << part.function << ' ' << run.getTimes() << '\n';
  }
  auto emit = [&](ArrayRef<Part> ofFunction, const Twine &name) {
    return emitFunction(name.str(), section.getLoc(), ofFunction.empty(), [&] {
      Value rank = host.argument(0), arena = host.argument(1), microbatch = host.argument(2);
      PlaceTables at{host.argument(3), host.argument(4)};
      for (const Part &part : ofFunction) {
        at.nextOffset = part.firstOffset, at.nextPointer = part.firstPointer;
        if (part.function.empty()) {
          sections.emit(part.op, {.rank = rank,
                                  .arena = arena,
                                  .microbatch = microbatch,
                                  .isOfTask = isOfTask,
                                  .tables = &at});
          continue;
        }
        host.call(part.function,
                  {rank, arena, microbatch, host.offset(at.offsets, 8 * part.firstOffset),
                   host.offset(at.pointers, 8 * part.firstPointer),
                   host.number(cast<sched::RunOp>(part.op).getTimes())});
      }
    });
  };
  SharedSection &known = shared[key];
  if (known.head.empty() && known.body.empty()) {
    known.head = emit(ArrayRef(parts).take_front(section.getHead()), name + ".head");
    known.body = emit(ArrayRef(parts).drop_front(section.getHead()), name);
  }
  return {known.head, known.body,
          tables.offsets.empty() ? Table<int64_t>() : host.numbers("offsets", tables.offsets),
          host.array<const void *>("pointers", tables.pointers)};
}

SharedSection SharedSections::get(sched::SectionOp section, HostPlaces &places, StringRef name) {
  auto program = section->getParentOfType<sched::ProgramOp>();
  return program.isOfPipeline() ? share(section, places, name) : emitAlone(section, places, name);
}
