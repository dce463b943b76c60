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
    bool isTask = event.section->task >= 0;
    std::string name = event.section->name, microbatch;
    if (isTask) {
      name += std::to_string(event.microbatch);
      microbatch = format(R"(,"stage":%lld,"microbatch":%lld)", (long long)event.section->task,
                          (long long)event.microbatch);
    }
    // The kind of a task follows the number of its stage: "0F".
    const char *kind = event.section->name;
    while (isTask && *kind >= '0' && *kind <= '9')
      ++kind;
    all += format(",\n"
                  R"({"ph":"X","pid":0,"tid":%d,"name":"%s","cat":"%s","ts":%.3f,"dur":%.3f,)"
                  R"("args":{"step":%lld%s}})",
                  rank, name.c_str(), isTask ? kind : "section", event.begin * 1e6,
                  (event.end - event.begin) * 1e6, (long long)event.step, microbatch.c_str());
  }
  return all;
}
