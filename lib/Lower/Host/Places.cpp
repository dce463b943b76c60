//===- Host/Places.cpp - addresses of the values that functions are given -===//
#include "lib/Lower/Host/Places.h"

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
  return *value.getAt() + (family ? family.getAt()->front() : 0);
}

Value HostPlaces::at(Value arena, StringRef key, Value instance) {
  int64_t base = offsetOf(key);
  return host.offset(arena, host.multiplyAdd(host.number(base), instance, find(key).getStride()));
}

Value HostPlaces::at(Value arena, StringRef key, Value instance, Value microbatch) {
  sched::FamilyOp family = values.lookup(key).family;
  if (!family || family.getSlots() == 1)
    return at(arena, key, instance);
  std::string &table = slotTables[family.getName()]; // by microbatch: where its slot is
  if (table.empty()) {
    auto offsets = llvm::map_to_vector(family.getSlotOf(),
                                       [&](int32_t slot) { return (*family.getAt())[slot]; });
    table = host.numbers("slots", offsets).symbol;
  }
  Value entry = host.offset(host.address(table), host.multiplyAdd(host.number(0), microbatch, 8));
  sched::ValueOp value = find(key);
  Value slot = host.offset(arena, host.load(host.i64, entry));
  return host.offset(slot,
                     host.multiplyAdd(host.number(*value.getAt()), instance, value.getStride()));
}
