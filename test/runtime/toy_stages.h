//===- toy_stages.h - a plan whose ranks run several programs ----------------===//
//
// A list of layers that an axis of the mesh cuts into stages, a weight that the first and the last
// stage have, and perhaps an axis d that cuts one kind of tensor. What steps do is trivial and goes
// element by element, so that every cut gives the bits of the serial plan.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_TOY_STAGES_H
#define TPLAN_TEST_TOY_STAGES_H

#include "slot_table.h"
#include "tplan/collectives.h"

#include <array>
#include <deque>
#include <string>
#include <vector>

namespace toy {

constexpr int64_t layers = 7;

struct Stages {
  const char *name = "Serial";
  std::vector<int64_t> ends = {layers}; // of each stage, the layer after its last
  int64_t d = 1;                        // ranks that share the weights of layers
  bool outer = true;                    // the axis of the stages is the first one
  int64_t ranks() const { return (int64_t)ends.size() * d; }
};

/// Cuts with more than one rank.
const std::vector<Stages> &stagedPlans();

class StagedPlan {
public:
  explicit StagedPlan(const Stages &how = {});
  StagedPlan(const StagedPlan &) = delete;
  const tp_program &program() const { return stages[0].program; }

  /// What one stage runs, with tables of its own, so that a test may change them.
  struct Stage {
    tp_program program = {}; // first: entry points find the rest by it
    int64_t number = 0, begin = 0, end = 0;
    bool first = false, last = false;
    std::vector<tp_tensor> tensors;
    std::vector<Slot> slots;
    SlotTable slotTable;
    std::array<tp_metric, 2> metrics = {};
    std::array<tp_scalar, 3> scalars = {};
    std::array<tp_axis, 2> axes = {};
    std::array<tp_group, 3> groups = {};
    std::array<tp_lr_piece, 1> lr = {};
    std::array<tp_stored, 4> stored = {};
    tp_input input = {};
    tp_disk disk = {};
    int64_t top = 0;
  };
  std::deque<Stage> stages;

private:
  void build(Stage &stage);
  void addTensors(Stage &stage);
  void addDisk(Stage &stage) const;
  static int64_t place(Stage &stage, const char *name, int64_t bytes, tp_slot_use use);

  const Stages how;
  std::vector<const tp_program *> list;
};

} // namespace toy

#endif // TPLAN_TEST_TOY_STAGES_H
