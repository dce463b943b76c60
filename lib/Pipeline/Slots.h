//===- Slots.h - memory for what lives from one task to another -----------------===//
#ifndef TPLAN_PIPELINE_SLOTS_H
#define TPLAN_PIPELINE_SLOTS_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace tplan::pipeline {

/// What one microbatch occupies: from its producer's place in the order to its last reader's, both
/// included.
struct Lifetime {
  int64_t begin, end;
};
struct Slots {
  int64_t count = 0;
  std::vector<int32_t> slotOf; // by microbatch
};
/// The fewest slots such that lifetimes that overlap have different slots.
Slots countSlots(llvm::ArrayRef<Lifetime> lifetimes);

} // namespace tplan::pipeline

#endif // TPLAN_PIPELINE_SLOTS_H
