//===- metrics.h - what a step leaves behind ------------------------------===//
//
// One decision: the sums over ranks are made where they are read, a group at a time, so that no
// function of the step waits for them.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_METRICS_H
#define TPLAN_RUNTIME_METRICS_H

#include "runtime/rank.h"

#include <cstdio>
#include <string>
#include <vector>

namespace tplan::runtime {

/// Sum and count of a metric, over all ranks.
struct MetricValue {
  double sum = 0, count = 1; // count is 1 where the metric has none
  /// Of nothing, 0: a step may have no target that counts.
  double value() const { return sum == 0 && count == 0 ? 0 : sum / count; }
};

/// The metrics as a step or an evaluation left them; the same on every rank.
class Metrics {
public:
  explicit Metrics(const tp_program &program);
  /// Reads them and adds up those of which each rank has a part, a group at a time. Called
  /// by all ranks.
  Status read(tp_rank &rank);
  int64_t size() const { return (int64_t)values.size(); }
  const MetricValue &operator[](int64_t i) const { return values[i]; }

private:
  struct Number {
    int64_t group, metric, offset;
    int32_t type;
    bool isCount;
  };
  Status fetch(tp_rank &rank);

  std::vector<Number> numbers;        // by group
  std::vector<double> sums;           // of each
  int64_t begin = INT64_MAX, end = 0; // of all of them, in the arena
  std::vector<char> bytes;
  std::vector<MetricValue> values;
};

/// Draws values over steps in characters: mean loss of each column.
void drawCurve(FILE *to, const std::vector<float> &losses, int64_t firstStep);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_METRICS_H
