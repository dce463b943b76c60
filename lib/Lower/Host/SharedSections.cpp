//===- Host/SharedSections.cpp - code that programs of a pipeline have in common --===//
//
// The stages in the middle of a model do the same with other weights, and their arenas differ in how
// many microbatches they keep. So the text of a section, with the places of its memory left out, says
// whether a program before this one had the same.
//
// One decision: each use of an op has its own place in the table, in the order of the ops, whatever
// value it is of. Two sections are then alike where their ops are, and no value has to be matched.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Host/SharedSections.h"
#include "lib/Lower/Lower.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

/// What of an op its code depends on, beside its uses: all that it says but its instances, which
/// stand with the uses, the titles of runs, which are for people, and whom a message is for, which
/// the program says.
static void spellOp(Operation *op, llvm::raw_ostream &os) {
  auto [file, line] = sourceOf(op->getLoc());
  os << op->getName() << ' ' << file << ':' << line << ' ';
  if (auto run = dyn_cast<sched::RunOp>(op)) {
    os << run.getTimes() << run.getDescending() << '\n';
    return;
  }
  bool isMessage = isa<sched::SendOp, sched::ReceiveOp>(op);
  for (NamedAttribute attr : op->getAttrs())
    if (attr.getName() != "instances" && !(isMessage && (attr.getName() == "peer" || attr.getName() == "of")))
      os << attr.getName() << ' ' << attr.getValue() << ' ';
}

static void spellUse(const PlaceOfUse &place, llvm::raw_ostream &os) {
  sched::ValueOp value = place.value;
  os << value.getBytes();
  if (place.instance)
    os << ' ' << place.instance << " by " << value.getStride();
  if (value.getRows())
    os << ' ' << *value.getRows();
  if (value.getType())
    os << ' ' << *value.getType();
  os << ';';
}

SharedSection SharedSections::get(sched::SectionOp section, HostPlaces &places, StringRef name) {
  std::string key;
  llvm::raw_string_ostream os(key);
  SmallVector<int64_t> offsets;
  std::vector<Cell<const void *>> pointers;
  llvm::DenseMap<Operation *, size_t> families; // where their pointers are
  HostSections sections(host, groups, calls, places);
  os << section.isOfTask() << '\n';
  section.getBody().front().walk<WalkOrder::PreOrder>([&](Operation *op) {
    spellOp(op, os);
    auto step = dyn_cast<sched::Step>(op);
    if (isa<sched::SendOp, sched::ReceiveOp>(op)) {
      MessageConstants message = sections.constantsOf(step);
      pointers.emplace_back(Address<void>{message.call.symbol});
      pointers.emplace_back(Address<void>{message.all.symbol});
    }
    if (step)
      for (const PlaceOfUse &place : places.placesOf(step, section.isOfTask())) {
        spellUse(place, os);
        offsets.push_back(place.offset);
        if (!place.family)
          continue;
        auto [at, isNew] = families.try_emplace(place.family, pointers.size());
        os << " in " << at->second;
        if (!isNew)
          continue;
        auto [slotOf, slots] = places.slotsOf(place.family);
        pointers.emplace_back(Address<void>{slotOf.symbol});
        pointers.emplace_back(Address<void>{slots.symbol});
      }
    os << '\n';
  });
  std::string &function = functions[key];
  if (function.empty()) {
    function = name.str();
    host.loc = section.getLoc();
    host.begin(function, {host.ptr, host.ptr, host.i64, host.ptr, host.ptr});
    PlaceTables tables{host.argument(3), host.argument(4)};
    sections.emit(section, {host.argument(0), host.argument(1), host.argument(2),
                            section.isOfTask(), Value(), 1, &tables});
    host.end();
  }
  return {function, offsets.empty() ? Table<int64_t>() : host.numbers("offsets", offsets),
          host.array<const void *>("pointers", pointers)};
}
