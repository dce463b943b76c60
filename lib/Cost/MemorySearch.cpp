//===- MemorySearch.cpp - how much memory overlap may take ---------------------===//
#include "lib/Cost/MemorySearch.h"
#include "dialects/sched/Sched.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::cost;

/// Numbers of a room in the attribute.
static constexpr size_t kNumbers = 3;

bool cost::hasRooms(ModuleOp module) { return module->hasAttr(kRoom); }

Room cost::roomOf(ModuleOp module, size_t program) {
  auto rooms = module->getAttrOfType<DenseI64ArrayAttr>(kRoom);
  if (!rooms)
    return {};
  size_t at = kNumbers * program;
  if (at >= static_cast<size_t>(rooms.size()))
    return {Room::All, INT32_MAX};
  return {rooms[at], rooms[at + 1], rooms[at + 2]};
}

void cost::setRooms(ModuleOp module, ArrayRef<Room> rooms) {
  SmallVector<int64_t> numbers;
  for (const Room &room : rooms)
    numbers.append({room.cut, room.layers, room.spare});
  module->setAttr(kRoom, Builder(module).getDenseI64ArrayAttr(numbers));
}

/// All first, then none; then between what fits and what does not.
Room MemorySearch::Program::next() const {
  if (fails == INT64_MAX)
    return {cut, INT32_MAX};
  return {cut, fits < 0 ? 0 : fits + (fails - fits) / 2, spare.value_or(0)};
}

/// `left`: bytes of the limit that were left, none where it did not fit. A program may have done
/// fewer layers than it was asked for, which then would be no more.
void MemorySearch::Program::judge(Room tried, std::optional<int64_t> left) {
  if (!left && spare.value_or(0) > 0) {
    spare = 0; // packed, it needs more than the functions
    return;
  }
  bool isFirst = fails == INT64_MAX;
  int64_t layers = isFirst ? tried.layers : next().layers;
  if (!left) {
    fails = std::min(fails, layers);
    if (fits >= fails) // because functions that it shares with other programs hold more since
      fits = -1, spare.reset();
  } else if (layers >= fits) {
    fits = layers, rest = spare ? rest : *left;
    if (isFirst)
      fails = layers + 1; // there are no more
  }
  if (fails == 0)
    *this = {cut - 1};
  else if (!spare && fails == fits + 1)
    spare = Room{cut}.ordersFreely() ? 0 : rest;
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
    std::optional<int64_t> left;
    if (op.getArena() && static_cast<int64_t>(*op.getArena()) <= limit)
      left = limit - static_cast<int64_t>(*op.getArena());
    its.judge(tried, left);
    if (its.cut < least) {
      state = State::stuck;
      return;
    }
    if (!left || (its.next() != asked && its.next() != tried))
      state = State::searching;
  }
}
