//===- MemorySearch.cpp - how much memory overlap may take ---------------------===//
#include "lib/Cost/MemorySearch.h"
#include "dialects/sched/Sched.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::cost;

bool cost::hasRooms(ModuleOp module) { return module->hasAttr(kRoom); }

Room cost::roomOf(ModuleOp module, size_t program) {
  auto rooms = module->getAttrOfType<DenseI64ArrayAttr>(kRoom);
  if (!rooms)
    return {};
  if (2 * program >= static_cast<size_t>(rooms.size()))
    return {Room::All, INT32_MAX};
  return {rooms[2 * program], rooms[2 * program + 1]};
}

void cost::setRooms(ModuleOp module, ArrayRef<Room> rooms) {
  SmallVector<int64_t> numbers;
  for (const Room &room : rooms)
    numbers.append({room.cut, room.layers});
  module->setAttr(kRoom, Builder(module).getDenseI64ArrayAttr(numbers));
}

/// All first, then none; then between what fits and what does not.
Room MemorySearch::Program::next() const {
  if (fails == INT64_MAX)
    return {cut, INT32_MAX};
  return {cut, fits < 0 ? 0 : fits + (fails - fits) / 2};
}

/// A program may have done fewer layers than it was asked for, which then would be no more.
void MemorySearch::Program::judge(Room tried, bool itFits) {
  bool isFirst = fails == INT64_MAX;
  int64_t layers = isFirst ? tried.layers : next().layers;
  if (itFits)
    fits = std::max(fits, layers);
  else
    fails = std::min(fails, layers);
  if (itFits && isFirst)
    fails = layers + 1; // there are no more
  if (fails == 0)
    *this = {cut - 1, -1, INT64_MAX};
}

void MemorySearch::ask(ModuleOp module) const {
  SmallVector<Room> rooms;
  for (const Program &each : programs)
    rooms.push_back(state == State::stuck ? Room{least, 0} : each.next());
  setRooms(module, rooms);
}

void MemorySearch::judge(ModuleOp module) {
  state = State::found;
  size_t i = 0;
  for (auto op : module.getOps<sched::ProgramOp>()) {
    if (i == programs.size())
      programs.emplace_back();
    Program &its = programs[i];
    Room asked = its.next(), tried = roomOf(module, i++);
    bool fits = op.getArena() && static_cast<int64_t>(*op.getArena()) <= limit;
    its.judge(tried, fits);
    if (its.cut < least) {
      state = State::stuck;
      return;
    }
    if (!fits || (its.next() != asked && its.next() != tried))
      state = State::searching;
  }
}
