//===- Search.h - a schedule for given costs, found rather than written ------------===//
//
// `pipeline auto`. One decision: it starts from no named schedule. A list scheduler writes orders
// by a few rules whose numbers are tried one after the other, and the best of them are improved by
// moving tasks. All choices follow from a fixed count of steps and a generator with a fixed start,
// so a plan is compiled to the same bytes each time.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PIPELINE_SEARCH_H
#define TPLAN_PIPELINE_SEARCH_H

#include "lib/Pipeline/Pipeline.h"

namespace tplan::pipeline {

/// The best order found in which ranks keep at most `memory` activations of a chunk and microbatch
/// at a time, which is at least the number of chunks on a rank. `pipelines` are places where the
/// same stages may lie, of which one is taken. Backwards are cut into I and W, or all of them whole
/// where that is faster at these costs.
Scheduled search(llvm::ArrayRef<Pipeline> pipelines, const Costs &costs, int32_t memory);

/// A makespan that no order within the memory is shorter than: what a rank has to do, from when its
/// first input can be there, and what it cannot do before its first backward can begin.
double lowerBound(const Pipeline &pipeline, const Costs &costs, int32_t memory);

} // namespace tplan::pipeline

#endif // TPLAN_PIPELINE_SEARCH_H
