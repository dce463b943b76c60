//===- step-trace-test.cpp - when a rank did what ---------------------------===//
#include "runtime/support/step_trace.h"

#include <gtest/gtest.h>

using namespace tplan::runtime;

namespace {
tp_section sectionOf(const char *name, int64_t task) {
  tp_section section = {};
  section.name = name;
  section.task = task;
  return section;
}
} // namespace

TEST(StepTrace, NotesWhatItIsAskedFor) {
  StepTrace trace;
  trace.beginStep(2, true);
  EXPECT_FALSE(trace.notes()) << "without --trace";
  trace.enable(10);
  trace.beginStep(1, false);
  EXPECT_FALSE(trace.notes());
  trace.beginStep(2, true);
  EXPECT_TRUE(trace.notes());
  tp_section end = sectionOf("end", -1), forward = sectionOf("F", 3);
  trace.add(forward, 7, 10.5, 10.75);
  trace.add(end, 0, 11, 12);
  EXPECT_EQ(trace.text(4),
            R"({"ph":"M","pid":0,"tid":4,"name":"thread_name","args":{"name":"rank 4"}},)"
            "\n"
            R"({"ph":"X","pid":0,"tid":4,"name":"3F7","cat":"F","ts":500000.000,"dur":250000.000,)"
            R"("args":{"step":2,"stage":3,"microbatch":7}},)"
            "\n"
            R"({"ph":"X","pid":0,"tid":4,"name":"end","cat":"section","ts":1000000.000,)"
            R"("dur":1000000.000,"args":{"step":2}})");
}

TEST(StepTrace, EndsBeforeItTakesTooMuchMemory) {
  StepTrace trace;
  trace.enable(0);
  tp_section forward = sectionOf("F", 0);
  int64_t step = 0;
  while (!trace.leftOutFrom() && step < 2000) {
    trace.beginStep(++step, true);
    for (int64_t m = 0; m < 1024; ++m)
      trace.add(forward, m, 0, 1);
  }
  EXPECT_EQ(trace.leftOutFrom(), 1025);
}
