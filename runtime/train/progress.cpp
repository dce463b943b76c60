//===- progress.cpp - lines for people who watch a training ---------------===//

#include "runtime/train/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace tplan::runtime;

double tplan::runtime::shown(double value) { return std::isnan(value) ? std::fabs(value) : value; }

TimeText::TimeText(double seconds) {
  if (seconds < 99.5)
    snprintf(text, sizeof text, "%.0f s", seconds);
  else if (seconds < 99.5 * 60)
    snprintf(text, sizeof text, "%.0f min", seconds / 60);
  else if (seconds < 48 * 3600)
    snprintf(text, sizeof text, "%.1f h", seconds / 3600);
  else
    snprintf(text, sizeof text, "%.1f days", seconds / 86400);
}

static void printMetric(const char *name, double value) {
  bool isSmall = value != 0 && std::fabs(value) < 1e-3;
  printf(isSmall ? "  %s %.3g" : "  %s %.4f", name, value);
}

void Progress::begin(int64_t first, int64_t steps, double seconds) {
  firstStep = first, every = steps, limit = seconds;
  pause(first - 1);
}

void Progress::pause(int64_t step) {
  lastPrint = monotonicSeconds();
  lastStep = step;
}

/// Time for the steps that are left, or the rest of the time limit.
double Progress::secondsLeft(const StepReport &report) const {
  int64_t done = report.step - firstStep;
  double mean = done ? counted / (double)done : trained;
  double left = mean * (double)(report.steps - report.step);
  return limit > 0 ? std::min(left, std::max(0.0, limit - trained)) : left;
}

void Progress::step(const tp_program &program, const Metrics &metrics, const StepReport &report) {
  bool first = report.step == firstStep, last = report.step == report.steps;
  trained += report.seconds;
  counted += first ? 0 : report.seconds;
  double now = monotonicSeconds();
  bool due = every ? report.step % every == 0 : now - lastPrint >= 1;
  if (!due && !first && !last)
    return;
  int64_t since = report.step - lastStep;
  double span = since > 1 || report.seconds <= 0 ? now - lastPrint : report.seconds;
  printf("step %lld/%lld (%.*f %%)", (long long)report.step, (long long)report.steps,
         report.steps < 1000 ? 0 : 1, 100.0 * (double)report.step / (double)report.steps);
  for (int64_t i = 0; i < metrics.size(); ++i)
    printMetric(metrics.name(i), shown(metrics.value(i)));
  if (program.num_lr)
    printf("  lr %.3g", report.learningRate);
  printf("  %.0f tokens/s", (double)(program.tokens_per_step * since) / std::max(span, 1e-9));
  if (!last)
    printf("  %s left", TimeText(secondsLeft(report)).text);
  printf("\n");
  fflush(stdout);
  pause(report.step);
}
