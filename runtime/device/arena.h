//===- arena.h - the memory of a rank -------------------------------------===//
//
// One mapping of exactly the bytes that the plan reports, between two regions
// that fault when touched; or what a device gave.
//
// One decision: the audit's pattern is a NaN in every floating-point type and
// differs by position, so that memory read before it was written poisons the
// loss, and a copy of unwritten memory is not taken for written memory.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DEVICE_ARENA_H
#define TPLAN_RUNTIME_DEVICE_ARENA_H

#include "runtime/device/device.h"
#include "tplan/runtime.h"

#include <cstddef>
#include <vector>

namespace tplan::runtime {

/// A piece of the arena that somebody owns.
struct Slot {
  const char *name;
  int64_t offset, bytes;
  int32_t use; // tp_slot_use
};
/// The slots of a program, one by one.
std::vector<Slot> slotsOf(const tp_program &program);

class Arena {
public:
  Arena() = default;
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;
  ~Arena();

  /// Maps `bytes` zeroed bytes, aligned to a huge page.
  Status map(int64_t bytes);
  /// Takes memory of a device, which stays the device's.
  void adopt(Device &owner, char *memory, int64_t size) {
    device = &owner, start = memory, bytes = size;
  }

  char *data() const { return start; }
  int64_t size() const { return bytes; }

  /// Writes the audit's pattern over the whole arena.
  Status fillPattern();

  /// After fillPattern() and a step: each word of each slot has been written and
  /// each word outside all slots has not. Errors name the slot and the offset.
  Status audit(const Slot *slots, int64_t count) const;

private:
  Device *device = nullptr;
  char *start = nullptr;
  int64_t bytes = 0;
  void *mapping = nullptr;
  size_t mappingBytes = 0;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DEVICE_ARENA_H
