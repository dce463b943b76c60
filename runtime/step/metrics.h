//===- metrics.h - the numbers that a step leaves ------------------------===//
//
// One decision: the sums over ranks are made where they are read, one group after the other, so
// that no function of the step waits for them. Then the parts of a number are added up, in their
// order.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_STEP_METRICS_H
#define TPLAN_RUNTIME_STEP_METRICS_H

#include "runtime/ranks/rank.h"

#include <cstdio>
#include <string>
#include <vector>

namespace tplan::runtime {

/// Sum and count of a metric, over all ranks.
struct MetricValue {
  double sum = 0, count = 1; // count is 1 where the metric has none
  /// 0 where nothing is counted: a step may have no target that counts.
  double value() const { return sum == 0 && count == 0 ? 0 : sum / count; }
};

/// The metrics as a step or an evaluation left them; the same on every rank. The numbers that are
/// shown begin with the training loss: where it has several terms, first their sum and then each
/// term with its factor, so that they add up.
class Metrics {
public:
  explicit Metrics(const tp_program &program);
  /// Reads them and adds up those of which each rank has a part, one group after the other. Called
  /// by all ranks.
  Status read(tp_rank &rank);
  /// Metric number i of the program.
  const MetricValue &term(int64_t i) const { return values[i]; }

  /// What is shown.
  int64_t size() const { return (int64_t)rows.size(); }
  const char *name(int64_t i) const { return rows[i].name; }
  double value(int64_t i) const;
  bool isUnbounded(int64_t i) const { return rows[i].isUnbounded; }

private:
  struct Row {
    const char *name;
    int64_t first, count; // of the program's metrics, that it is the sum of
    bool isUnbounded;
  };
  /// A part of a sum or a count.
  struct Number {
    int64_t group, metric, offset;
    int32_t type, part;
    bool isCount;
  };
  void add(int64_t metric, int64_t group, int64_t offset, int32_t type, int32_t parts,
           bool isCount);
  Status fetch(tp_rank &rank);

  std::vector<Number> numbers;        // by group
  std::vector<double> sums;           // of each
  int64_t begin = INT64_MAX, end = 0; // of all of them, in the arena
  std::vector<char> bytes;
  std::vector<MetricValue> values;
  std::vector<double> factors;
  std::vector<Row> rows;
};

/// Draws values over steps in characters: mean loss of each column.
void drawCurve(FILE *to, const std::vector<float> &losses, int64_t firstStep);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_STEP_METRICS_H
