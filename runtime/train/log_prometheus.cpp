//===- log_prometheus.cpp - a page of text for Prometheus -----------------===//
//
// The file of a node exporter's textfile collector, or of anything that serves it; the runtime
// listens on no port. Format: Prometheus text exposition 0.0.4.
//
// One decision: numbers of the model are one family with a label, because a metric of a model may
// have any name.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/logs.h"

#include <cerrno>
#include <cmath>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

using namespace tplan::runtime;

namespace {

class PrometheusLog : public Log {
public:
  Status open(const std::string &path, const tp_program &program, bool resume,
              int64_t lastStep) override;
  Status step(const Metrics &metrics, const StepReport &report) override;
  Status evaluation(int64_t step, double loss, int64_t tokens) override;
  Status finish() override { return isWritten ? Status() : write(); }

private:
  void family(const char *name, const char *kind, const char *help);
  void sample(const char *name, const char *metric, double value);
  void number(const char *name, const char *kind, const char *help, double value);
  Status write();

  std::string path, unfinished, page;
  std::string plan;                                    // as a value of a label
  std::vector<std::pair<const char *, double>> values; // that are shown
  StepReport last{};
  double evaluated = NAN, lastWrite = 0;
  bool isWritten = true; // the page is as the last step has it
};

/// A label's value: backslash, quote and line feed are escaped.
std::string escaped(const char *text) {
  std::string result;
  for (; *text; ++text) {
    if (*text == '\\' || *text == '"')
      result += '\\';
    *text == '\n' ? result += "\\n" : result += *text;
  }
  return result;
}

Status PrometheusLog::open(const std::string &file, const tp_program &logged, bool, int64_t) {
  path = file;
  unfinished = path + ".tmp";
  plan = escaped(logged.plan);
  Metrics shown(logged);
  for (int64_t i = 0; i < shown.size(); ++i)
    values.push_back({shown.name(i), 0});
  page.reserve(4096 + 128 * values.size());
  // A file that cannot be written is reported before the training.
  return write();
}

void PrometheusLog::family(const char *name, const char *kind, const char *help) {
  page.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
  page.append(name).append(" ").append(kind).append("\n");
}

void PrometheusLog::sample(const char *name, const char *metric, double value) {
  page.append(name).append("{plan=\"").append(plan);
  if (metric)
    page.append("\",metric=\"").append(metric);
  char text[40];
  snprintf(text, sizeof text, "%.17g", value);
  page.append("\"} ");
  page.append(std::isnan(value) ? "NaN" : std::isinf(value) ? value < 0 ? "-Inf" : "+Inf" : text);
  page.append("\n");
}

void PrometheusLog::number(const char *name, const char *kind, const char *help, double value) {
  family(name, kind, help);
  sample(name, nullptr, value);
}

/// Writes the whole page or leaves the old one, because a collector may read at any time.
Status PrometheusLog::write() {
  page.clear();
  number("tplan_step", "gauge", "Steps that have ended.", (double)last.step);
  number("tplan_steps", "gauge", "Steps of the training.", (double)last.steps);
  number("tplan_tokens_total", "counter", "Tokens since the first step.", (double)last.tokens);
  number("tplan_step_seconds", "gauge", "Seconds of the last step.", last.seconds);
  number("tplan_tokens_per_second", "gauge", "Tokens a second of the last step.",
         last.tokensPerSecond);
  number("tplan_learning_rate", "gauge", "Learning rate of the last step.", last.learningRate);
  family("tplan_metric", "gauge", "Losses and metrics of the last step.");
  for (size_t i = 0; i < values.size(); ++i)
    sample("tplan_metric", values[i].first, values[i].second);
  if (!std::isnan(evaluated))
    number("tplan_evaluation_loss", "gauge", "Loss of the last evaluation, nats per token.",
           evaluated);
  int descriptor =
      ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644); // for a collector
  if (descriptor < 0)
    return errorf("cannot write '%s': %s", unfinished.c_str(), strerror(errno));
  Status status = writeAll(descriptor, unfinished, page.data(), page.size());
  close(descriptor);
  if (status.ok() && rename(unfinished.c_str(), path.c_str()) != 0)
    status = errorf("cannot write '%s': %s", path.c_str(), strerror(errno));
  if (!status.ok())
    unlink(unfinished.c_str());
  lastWrite = monotonicSeconds();
  isWritten = true;
  return status;
}

Status PrometheusLog::step(const Metrics &metrics, const StepReport &report) {
  last = report;
  for (size_t i = 0; i < values.size(); ++i)
    values[i].second = metrics.value((int64_t)i);
  isWritten = false;
  // No collector reads more often.
  return monotonicSeconds() - lastWrite < 1 ? Status() : write();
}

Status PrometheusLog::evaluation(int64_t, double loss, int64_t) {
  evaluated = loss;
  return write();
}

} // namespace

std::unique_ptr<Log> tplan::runtime::makePrometheusLog() {
  return std::make_unique<PrometheusLog>();
}
