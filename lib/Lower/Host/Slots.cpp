//===- Host/Slots.cpp - which bytes of the arena are whose ----------------===//
#include "lib/Lower/Host/Slots.h"
#include "lib/Schedule/Keys.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;
using namespace tplan::schedule;
using sched::Owner;

namespace {

class SlotTable {
public:
  SlotTable(sched::ProgramOp program, HostPlaces &places, const HostCalls &calls,
            const Chain &train, const Chain *counts)
      : program(program), places(places), calls(calls), train(train), counts(counts) {
    for (const Run &run : train.runs) {
      evaluation.insert(frameKey(train, run, Part::Evaluate));
      for (unsigned k = 0, e = nn::RunOp(run.op).getCarried().size(); k < e; ++k)
        evaluation.insert(handoverKey(train, run, Part::Evaluate, k));
    }
  }

  std::vector<Record<tp_slot>> take() {
    addValues();
    addFrames();
    return std::move(table);
  }

private:
  sched::ProgramOp program;
  HostPlaces &places;
  const HostCalls &calls;
  const Chain &train;
  const Chain *counts;
  llvm::StringSet<> evaluation; // keys of what only evaluations write
  std::vector<Record<tp_slot>> table;

  void add(StringRef name, int64_t offset, int64_t bytes, tp_slot_use use) {
    table.push_back({.name = name, .offset = offset, .bytes = bytes, .use = use});
  }
  void addValue(sched::ValueOp value, int64_t base);
  void addValues();
  void addFrame(const Chain &chain, const Run &run, Part part, tp_slot_use use);
  void addFrames();
};

} // namespace

void SlotTable::addValue(sched::ValueOp value, int64_t base) {
  bool evaluates = value.getOwner() == Owner::Logits || evaluation.contains(value.getKey());
  tp_slot_use use = evaluates                              ? TP_EVALUATION
                    : value.getOwner() == Owner::Workspace ? TP_OPTIONAL
                                                           : TP_WRITTEN;
  int64_t bytes = value.getBytes(), stride = value.getStride(), count = value.getCount();
  if (bytes == stride)
    return add(value.getKey(), base, bytes * count, use);
  for (int64_t i = 0; i < count; ++i)
    add(value.getKey(), base + i * stride, bytes, use);
}

void SlotTable::addValues() {
  for (Operation &op : program.getBody().front()) {
    auto value = dyn_cast<sched::ValueOp>(op);
    if (value && value.getOwner() != Owner::Frame)
      addValue(value, *value.getAt());
    auto family = dyn_cast<sched::FamilyOp>(op);
    for (int64_t slot = 0, e = family ? family.getSlots() : 0; slot < e; ++slot)
      for (auto member : family.getBody().getOps<sched::ValueOp>())
        addValue(member, (*family.getAt())[slot] + *member.getAt());
  }
}

/// The temporaries of a run's functions, as runs of bytes without holes. One that nothing reads is
/// room to work in, which kernels of a GPU do without: the workspace of attention.
void SlotTable::addFrame(const Chain &chain, const Run &run, Part part, tp_slot_use use) {
  std::string key = frameKey(chain, run, part);
  if (!places.has(key))
    return;
  int64_t base = places.offsetOf(key);
  std::vector<std::pair<int64_t, int64_t>> pieces;
  for (const Callee &callee : run.callees)
    if (rt::FuncOp func = callee.part(part))
      for (Operation &op : func.getBlock().without_terminator())
        for (auto [result, attr] :
             llvm::zip(op.getResults(), op.getAttrOfType<ArrayAttr>(sched::kPlaces)))
          if (auto place = cast<sched::PlaceAttr>(attr); place.getKind() == "frame") {
            int64_t begin = place.getN(), bytes = cast<nn::Tensor>(result.getType()).getBytes();
            if (calls.onDevice() && result.use_empty())
              add(key, base + begin, bytes, use == TP_WRITTEN ? TP_OPTIONAL : use);
            else
              pieces.push_back({begin, begin + bytes});
          }
  llvm::sort(pieces);
  for (size_t i = 0; i < pieces.size();) {
    auto [begin, end] = pieces[i];
    for (++i; i < pieces.size() && pieces[i].first <= end; ++i)
      end = std::max(end, pieces[i].second);
    add(key, base + begin, end - begin, use);
  }
}

void SlotTable::addFrames() {
  if (calls.onDevice()) { // one piece, with what lies between values
    auto [begin, end] = givenPiece(program);
    add("given", begin, end - begin, TP_OPTIONAL);
  }
  bool split = program.isSplit();
  for (const Run &run : train.runs)
    for (const nn::PartFacts &facts : nn::kPartFacts)
      if (nn::isOfStep(facts.part) && nn::isRunBy(facts.part, split))
        addFrame(train, run, facts.part, TP_WRITTEN);
  if (counts)
    for (const Run &run : counts->runs)
      addFrame(*counts, run, Part::Evaluate, TP_WRITTEN);
  for (const Run &run : train.runs)
    addFrame(train, run, Part::Evaluate, TP_EVALUATION);
}

std::vector<Record<tp_slot>> lower::slotsOf(sched::ProgramOp program, HostPlaces &places,
                                            const HostCalls &calls, const Chain &train,
                                            const Chain *counts) {
  return SlotTable(program, places, calls, train, counts).take();
}

std::pair<int64_t, int64_t> lower::givenPiece(sched::ProgramOp program) {
  int64_t begin = 0, end = 0;
  for (auto value : program.getBody().getOps<sched::ValueOp>())
    if (isGiven(value.getKey())) {
      int64_t at = *value.getAt();
      begin = end ? std::min(begin, at) : at;
      end = std::max(end, at + value.getTotal());
    }
  return {begin, end};
}
