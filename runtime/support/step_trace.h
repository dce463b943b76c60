//===- step_trace.h - when a rank did what, as measured --------------------===//
//
// Under --trace: when each section of a step began and ended on a rank, for all steps but the
// first. A GPU finishes a section before the next is issued, so that its time is the section's;
// such a step takes longer than one that is not traced.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_SUPPORT_STEP_TRACE_H
#define TPLAN_RUNTIME_SUPPORT_STEP_TRACE_H

#include "tplan/runtime.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tplan::runtime {

class StepTrace {
public:
  /// Times count from `zero`, a monotonicSeconds() at which all ranks met.
  void enable(double zero) { isOn = true, start = zero; }
  /// What is done from here on is of this step, and noted unless it is the first of the run.
  void beginStep(int64_t number, bool isNoted) { step = number, noted = isNoted; }
  bool notes() const { return isOn && noted; }
  /// A section, for a microbatch. After kMost of them later ones are left out.
  void add(const tp_section &section, int64_t microbatch, double begin, double end);
  /// The events of a rank as JSON for Perfetto, one after the other, without brackets.
  std::string text(int rank) const;
  /// The first step of which something was left out; 0: none.
  int64_t leftOutFrom() const { return leftOut; }

private:
  struct Event {
    const tp_section *section;
    int64_t microbatch, step;
    double begin, end; // seconds
  };
  static constexpr size_t kMost = 1 << 20;
  bool isOn = false, noted = false;
  double start = 0;
  int64_t step = 0, leftOut = 0;
  std::vector<Event> events;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_SUPPORT_STEP_TRACE_H
