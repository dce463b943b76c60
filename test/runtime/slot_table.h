//===- slot_table.h - slots of a program that tests make by hand --------------===//
#ifndef TPLAN_TEST_RUNTIME_SLOT_TABLE_H
#define TPLAN_TEST_RUNTIME_SLOT_TABLE_H

#include "runtime/device/arena.h"

#include <string>
#include <vector>

using tplan::runtime::Slot;

/// The tables of a program's slots, which must outlive it.
struct SlotTable {
  std::string names;
  std::vector<tp_slot> slots;

  void set(tp_program &program, const std::vector<Slot> &all) {
    names.clear(), slots.clear();
    for (const Slot &slot : all) {
      slots.push_back({slot.offset, slot.bytes, (int32_t)names.size(), slot.use, 0, 0});
      names += std::string(slot.name) + '\0';
    }
    program.slots = slots.data(), program.num_slots = (int64_t)slots.size();
    program.slot_names = names.data(), program.slot_bases = nullptr;
  }
};

#endif // TPLAN_TEST_RUNTIME_SLOT_TABLE_H
