//===- Host/Arena.cpp - which bytes of the arena are whose ----------------===//
#include "lib/Lower/Host/Arena.h"
#include "lib/Schedule/Walk.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetOperations.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;
using sched::Owner;
using sched::ValueOp;

namespace {

class ArenaTable {
public:
  ArenaTable(HostBuilder &host, sched::ProgramOp program, HostPlaces &places,
             const HostCalls &calls, ArenaNames &names)
      : host(host), program(program), places(places), calls(calls), names(names) {
    llvm::DenseSet<Value> step = touchedIn(sched::EntryKind::Step),
                          early = touchedIn(sched::EntryKind::EarlyStep);
    trained = touchedIn(sched::EntryKind::Prepare);
    llvm::set_union(trained, step);
    llvm::set_union(trained, early);
    if (!early.empty()) // else all steps are alike
      for (Value value : trained)
        if (step.contains(value) != early.contains(value))
          ofSomeSteps.insert(value);
  }

  ArenaTables take() {
    addValues();
    addFrames();
    Table<int64_t> numbers = host.numbers("places", table);
    return {{numbers.symbol},
            numbers.size / kWords,
            bases.empty() ? Table<int64_t>() : host.numbers("bases", bases)};
  }

private:
  HostBuilder &host;
  sched::ProgramOp program;
  HostPlaces &places;
  const HostCalls &calls;
  llvm::DenseSet<Value> trained;     // what is touched outside of evaluations
  llvm::DenseSet<Value> ofSomeSteps; // only in the first steps, or only in later ones
  ArenaNames &names;
  SmallVector<int64_t> table; // tp_slot, as words
  SmallVector<int64_t> bases;

  // As numbers, because a table of many thousand structs would be slow to make.
  static constexpr int64_t kWords = sizeof(tp_slot) / sizeof(int64_t);
  static_assert(kWords == 4 && offsetof(tp_slot, offset) == 0 && offsetof(tp_slot, bytes) == 8 &&
                offsetof(tp_slot, name) == 16 && offsetof(tp_slot, use) == 20 &&
                offsetof(tp_slot, first_base) == 24 && offsetof(tp_slot, num_bases) == 28);
  /// Two fields of 32 bits as they lie in memory.
  static int64_t word(int64_t first, int64_t second) { return first | second << 32; }

  /// Without bases the offset counts from the start of the arena.
  void add(StringRef name, int64_t offset, int64_t bytes, tp_slot_use use,
           ArrayRef<int64_t> from = {}) {
    // Values of one family come one after the other, and share its bases.
    ArrayRef<int64_t> last = ArrayRef(bases).take_back(from.size());
    if (last != from)
      llvm::append_range(bases, from);
    int64_t first = bases.size() - from.size();
    table.append({offset, bytes, word(names.placeOf(name), use), word(first, from.size())});
  }
  llvm::DenseSet<Value> touchedIn(sched::EntryKind entry) {
    llvm::DenseSet<Value> touched;
    schedule::forEachStep(program, entry, [&](sched::Step step, int64_t) {
      for (const sched::Use &use : step.getUses())
        for (Value value : use.values())
          touched.insert(value);
    });
    return touched;
  }
  tp_slot_use useOf(ValueOp value) {
    bool isTemporary = value.getLives() != sched::Life::Always;
    if (isTemporary && !trained.contains(value.getMemory()))
      return TP_EVALUATION;
    bool isOptional = value.getOwner() == Owner::Workspace || value.getOwner() == Owner::Event ||
                      (isTemporary && ofSomeSteps.contains(value.getMemory()));
    return isOptional ? TP_OPTIONAL : TP_WRITTEN;
  }
  void addValue(ValueOp value, int64_t at, ArrayRef<int64_t> bases);
  void addValues();
  void addFrame(ValueOp frame, ArrayRef<rt::FuncOp> functions);
  void addFrames();
};

} // namespace

/// The padding between instances belongs to nobody.
void ArenaTable::addValue(ValueOp value, int64_t at, ArrayRef<int64_t> bases) {
  int64_t bytes = value.getBytes(), stride = value.getStride(), count = value.getCount();
  std::string name = value.getName();
  if (bytes == stride || count == 1)
    return add(name, at, bytes == stride ? bytes * count : bytes, useOf(value), bases);
  SmallVector<int64_t> instances;
  for (int64_t i = 0; i < count; ++i)
    instances.push_back(i * stride);
  if (bases.empty())
    return add(name, at, bytes, useOf(value), instances);
  for (int64_t instance : instances)
    add(name, at + instance, bytes, useOf(value), bases);
}

void ArenaTable::addValues() {
  for (auto value : program.getBody().getOps<ValueOp>()) {
    if (value.getOwner() == Owner::Frame)
      continue;
    ArrayRef<int64_t> slots;
    if (FlatSymbolRefAttr name = value.getFamilyAttr())
      slots = program.lookupSymbol<sched::FamilyOp>(name.getValue()).getAtAttr().asArrayRef();
    addValue(value, *value.getAt(), slots);
  }
}

/// The temporaries of functions that share a frame, as runs of bytes without holes. A temporary
/// that nothing reads is workspace, which kernels of a GPU do without: that of attention.
void ArenaTable::addFrame(ValueOp frame, ArrayRef<rt::FuncOp> functions) {
  int64_t base = places.offsetOf(frame);
  tp_slot_use use = useOf(frame);
  std::string name = frame.getName();
  std::vector<std::pair<int64_t, int64_t>> pieces;
  for (rt::FuncOp func : functions)
    for (Operation &op : func.getBlock().without_terminator())
      for (auto [result, attr] :
           llvm::zip(op.getResults(), op.getAttrOfType<ArrayAttr>(sched::kPlaces)))
        if (auto place = cast<sched::PlaceAttr>(attr); place.getKind() == sched::PlaceKind::Frame) {
          int64_t begin = place.getN(), bytes = cast<nn::Tensor>(result.getType()).getBytes();
          if (calls.onDevice() && result.use_empty())
            add(name, base + begin, bytes, use == TP_WRITTEN ? TP_OPTIONAL : use);
          else
            pieces.push_back({begin, begin + bytes});
        }
  llvm::sort(pieces);
  for (size_t i = 0; i < pieces.size();) {
    auto [begin, end] = pieces[i];
    for (++i; i < pieces.size() && pieces[i].first <= end; ++i)
      end = std::max(end, pieces[i].second);
    add(name, base + begin, end - begin, use);
  }
}

void ArenaTable::addFrames() {
  if (calls.onDevice()) { // one piece, with what lies between values
    auto [begin, end] = givenPiece(program);
    add("given", begin, end - begin, TP_OPTIONAL);
  }
  llvm::MapVector<Value, llvm::SmallSetVector<rt::FuncOp, 4>> functions; // by frame
  program.walk([&](sched::CallOp call) {
    if (Value frame = call.getFrame(); frame && sched::valueOf(frame).getBytes())
      functions[frame].insert(call.getFunction());
  });
  for (auto &[frame, of] : functions)
    addFrame(sched::valueOf(frame), of.getArrayRef());
}

ArenaTables lower::arenaTables(HostBuilder &host, sched::ProgramOp program, HostPlaces &places,
                               const HostCalls &calls, ArenaNames &names) {
  return ArenaTable(host, program, places, calls, names).take();
}

int64_t ArenaNames::placeOf(StringRef name) {
  auto [place, isNew] = places.try_emplace(name, text.size());
  if (isNew)
    text += name.str() + '\0';
  return place->second;
}

std::pair<int64_t, int64_t> lower::givenPiece(sched::ProgramOp program) {
  int64_t begin = 0, end = 0;
  for (auto value : program.getBody().getOps<ValueOp>())
    if (value.getGiven()) {
      int64_t at = *value.getAt();
      begin = end ? std::min(begin, at) : at;
      end = std::max(end, at + value.getTotal());
    }
  return {begin, end};
}
