//===- toy_tables.h - the tables of the toy program ----------------------===//

#ifndef TPLAN_TEST_TOY_TABLES_H
#define TPLAN_TEST_TOY_TABLES_H

#include "slot_table.h"
#include "toy_program.h"

#include <cstddef>

namespace toy {

constexpr int64_t V = vocabulary, S = length - 1;
constexpr int numTensors = 6;

/// Scalars, as they lie in the arena.
struct Scalars {
  int32_t seed, step;
  float lr, power;
  int64_t rows;
  int32_t member;
};
constexpr int64_t scalarBytes = offsetof(Scalars, member) + sizeof(int32_t);

/// One layout's tables and places.
struct Tables {
  tp_tensor tensors[numTensors]; // first: entry points find the rest by them
  Layout layout;
  int64_t shapes[numTensors][2], whole[numTensors][2];
  int32_t cuts[numTensors][2];
  tp_input input;
  tp_scalar scalars[6];
  tp_metric metrics[2];
  Slot slots[11 + numTensors];
  SlotTable slotTable;
  tp_axis axes[3];
  tp_group groups[5];
  tp_gemm forward, backward;
  int64_t onehotAt, logitsAt, arenaBytes;
  int64_t wholeAt[numTensors]; // each tensor as if there were one rank

  int64_t tokens() const { return layout.rows * S; }
  explicit Tables(const Layout &layout);
  int64_t numSlots() const { return layout.ranks() > 1 ? 11 + numTensors : 11; }
};

/// Elements of a tensor on a rank alone.
constexpr int64_t wholeElements(int tensor) { return tensor % 2 ? V : V * V; }

} // namespace toy

#endif // TPLAN_TEST_TOY_TABLES_H
