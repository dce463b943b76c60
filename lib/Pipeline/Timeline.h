//===- Timeline.h - a simulated step as a trace and as a picture ----------------===//
#ifndef TPLAN_PIPELINE_TIMELINE_H
#define TPLAN_PIPELINE_TIMELINE_H

#include "lib/Pipeline/Simulate.h"

namespace tplan::pipeline {

/// When a stream of a rank, beside its tasks, does something.
struct Interval {
  double begin, end;
};
/// By the names of streams.
using Streams = std::map<std::string, std::vector<Interval>>;

/// Ranks over time, in the JSON of Chrome's trace events, which Perfetto shows: a thread for each
/// rank, a slice for each task, and a thread for each stream of a rank. One unit of time is
/// `microseconds`. `streams` are by rank; without them there are tasks alone.
void printTrace(llvm::StringRef title, const Simulation &simulation,
                llvm::ArrayRef<Streams> streams, double microseconds, llvm::raw_ostream &os);

/// The same as SVG, for a page: a row for each rank, time to the right, the microbatch in each
/// task, and below it a thin row for each stream.
void printPicture(llvm::StringRef title, const Pipeline &pipeline, const Simulation &simulation,
                  llvm::ArrayRef<Streams> streams, llvm::raw_ostream &os);

} // namespace tplan::pipeline

#endif // TPLAN_PIPELINE_TIMELINE_H
