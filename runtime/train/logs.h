//===- logs.h - where the numbers of steps are written --------------------===//
//
// A JSON object a line (--metrics F, --log jsonl F), event files of TensorBoard, a page of text
// for Prometheus. The leader alone writes.
//
// One decision: a kind of log is a row of the table in logs.cpp and a class in a file of its own;
// the training knows none of them. A step does not allocate, whatever is written.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_TRAIN_LOGS_H
#define TPLAN_RUNTIME_TRAIN_LOGS_H

#include "runtime/step/metrics.h"

#include <memory>
#include <string>
#include <vector>

namespace tplan::runtime {

struct StepReport {
  int64_t step, steps; // the latter: steps of the whole training
  double learningRate;
  int64_t tokens; // since the first step
  double seconds, tokensPerSecond;
};

class Log {
public:
  virtual ~Log() = default;
  /// On resume, numbers in `path` of steps after `lastStep` are dropped, so that it becomes that of
  /// an uninterrupted run.
  virtual Status open(const std::string &path, const tp_program &program, bool resume,
                      int64_t lastStep) = 0;
  virtual Status step(const Metrics &metrics, const StepReport &report) = 0;
  virtual Status evaluation(int64_t step, double loss, int64_t tokens) = 0;
  /// After the last step.
  virtual Status finish() { return {}; }
};

/// What --log names: a kind, and the file or folder.
struct LogRequest {
  std::string kind, path;
};

class Logs {
public:
  Status open(const std::vector<LogRequest> &requests, const tp_program &program, bool resume,
              int64_t lastStep);
  Status step(const Metrics &metrics, const StepReport &report);
  Status evaluation(int64_t step, double loss, int64_t tokens);
  Status finish();

private:
  std::vector<std::unique_ptr<Log>> logs;
};

/// The kinds, for messages: "jsonl, prometheus, tensorboard".
std::string logKinds();
bool isLogKind(const std::string &kind);

std::unique_ptr<Log> makeJsonLog();
std::unique_ptr<Log> makePrometheusLog();
std::unique_ptr<Log> makeTensorBoardLog();

/// Writes all of it; what signals cut short is written again.
Status writeAll(int descriptor, const std::string &path, const char *data, size_t bytes);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRAIN_LOGS_H
