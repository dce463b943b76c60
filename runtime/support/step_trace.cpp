//===- step_trace.cpp - when a rank did what, as measured ------------------===//

#include "runtime/support/step_trace.h"
#include "runtime/support/status.h"

using namespace tplan::runtime;

void StepTrace::add(const tp_section &section, int64_t microbatch, double begin, double end) {
  if (events.size() < kMost)
    events.push_back({&section, microbatch, step, begin - start, end - start});
  else if (!leftOut)
    leftOut = step;
}

std::string StepTrace::text(int rank) const {
  std::string all = format(R"({"ph":"M","pid":0,"tid":%d,"name":"thread_name",)"
                           R"("args":{"name":"rank %d"}})",
                           rank, rank);
  for (const Event &event : events) {
    std::string name = event.section->name, kind = "section", of;
    if (long long stage = event.section->task, microbatch = event.microbatch; stage >= 0) {
      kind = name;
      name = format("%lld%s%lld", stage, kind.c_str(), microbatch);
      of = format(R"(,"stage":%lld,"microbatch":%lld)", stage, microbatch);
    }
    all += format(",\n"
                  R"({"ph":"X","pid":0,"tid":%d,"name":"%s","cat":"%s","ts":%.3f,"dur":%.3f,)"
                  R"("args":{"step":%lld%s}})",
                  rank, name.c_str(), kind.c_str(), event.begin * 1e6,
                  (event.end - event.begin) * 1e6, (long long)event.step, of.c_str());
  }
  return all;
}
