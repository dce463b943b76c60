//===- Interleave.h - several chunks on a rank, in turn -----------------------===//
#ifndef TPLAN_PIPELINE_INTERLEAVE_H
#define TPLAN_PIPELINE_INTERLEAVE_H

#include "lib/Pipeline/Policy.h"

namespace tplan::pipeline {

/// The chunks that a rank takes one after the other, in groups of microbatches: all of a group
/// through one chunk, then through the next. The last group may be smaller.
struct VirtualOrder {
  explicit VirtualOrder(const Request &request);
  std::vector<int32_t> forwards, backwards; // chunk of each
  int32_t size() const { return forwards.size(); }
};

/// The rule of groups that the numbers break, or "".
std::string refuseGroup(int32_t ranks, int32_t microbatches, int32_t group);

} // namespace tplan::pipeline

#endif // TPLAN_PIPELINE_INTERLEAVE_H
