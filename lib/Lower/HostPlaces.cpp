//===- HostPlaces.cpp - addresses of the values that functions are given --===//
#include "lib/Lower/HostPlaces.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

HostPlaces::HostPlaces(HostBuilder &host, sched::ProgramOp program) : host(host) {
  for (Operation &op : program.getBody().front()) {
    if (auto value = dyn_cast<sched::ValueOp>(op))
      values[value.getKey()] = {value, {}};
    if (auto family = dyn_cast<sched::FamilyOp>(op))
      for (auto value : family.getBody().getOps<sched::ValueOp>())
        values[value.getKey()] = {value, family};
  }
}

int64_t HostPlaces::offsetOf(StringRef key) const {
  auto it = values.find(key);
  if (it == values.end())
    llvm::report_fatal_error("no place in memory for: " + key);
  auto [value, family] = it->second;
  return *value.getAt() + (family ? *family.getAt() : 0);
}

Value HostPlaces::at(Value arena, StringRef key, Value instance) {
  int64_t base = offsetOf(key);
  return host.offset(arena, host.multiplyAdd(host.number(base), instance, find(key).getStride()));
}

Value HostPlaces::at(Value arena, StringRef key, Value instance, Value microbatch) {
  Value place = at(arena, key, instance);
  sched::FamilyOp family = values.lookup(key).family;
  if (!family || family.getSlots() == 1)
    return place;
  std::string &table = slotTables[family.getName()];
  if (table.empty())
    table = host.tableSymbol("slots", family.getSlotOf());
  Value entry = host.offset(host.address(table), host.multiplyAdd(host.number(0), microbatch, 4));
  Value slot = LLVM::SExtOp::create(host.b, host.loc, host.i64, host.load(host.i32, entry));
  return host.offset(place, host.multiplyAdd(host.number(0), slot, family.getBytes()));
}
