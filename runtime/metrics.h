//===- metrics.h - what a step leaves behind ------------------------------===//
//
// A JSON object a line in --metrics, progress lines for people, and the curve.
//
// One decision: floats are written with all their digits (%.17g), so that two
// runs can be compared for equality from their files.
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
  std::vector<Number> numbers; // by group
  std::vector<double> sums;    // of each
  std::vector<MetricValue> values;
};

struct StepReport {
  int64_t step;
  double learningRate;
  int64_t tokens; // since the first step
  double seconds, tokensPerSecond;
};

class MetricsLog {
public:
  ~MetricsLog();
  /// Empty path: no file. On resume lines after `lastStep` are dropped, so that the
  /// file is that of an unbroken run.
  Status open(const std::string &path, bool resume, int64_t lastStep);
  Status step(const tp_program &program, const Metrics &metrics, const StepReport &report);
  Status evaluation(int64_t step, double loss, int64_t tokens);

private:
  Status writeLine(const char *line, int length);
  std::string path;
  int descriptor = -1;
};

/// Draws values over steps in characters: mean loss of each column.
void drawCurve(FILE *to, const std::vector<float> &losses, int64_t firstStep);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_METRICS_H
