//===- log_json.cpp - a JSON object a line --------------------------------===//
//
// One decision: floats are written with all their digits (%.17g), so that two runs can be
// compared for equality from their files.
//
//===----------------------------------------------------------------------===//

#include "runtime/support/files.h"
#include "runtime/train/logs.h"

#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

using namespace tplan::runtime;

namespace {

class JsonLog : public Log {
public:
  ~JsonLog() override {
    if (descriptor >= 0)
      close(descriptor);
  }
  Status open(const std::string &path, const tp_program &program, bool resume,
              int64_t lastStep) override;
  Status step(const Metrics &metrics, const StepReport &report) override;
  Status evaluation(int64_t step, double loss, int64_t tokens) override;

private:
  std::string path;
  int descriptor = -1;
};

/// A line of JSON in a fixed buffer: steps must not allocate.
class Line {
public:
  __attribute__((format(printf, 2, 3))) void add(const char *format, ...) {
    va_list list;
    va_start(list, format);
    if (length < (int)sizeof text)
      length += vsnprintf(text + length, sizeof text - length, format, list);
    va_end(list);
  }
  /// JSON has no word for infinity or NaN.
  void number(const char *name, double value) {
    if (std::isfinite(value))
      add(", \"%s\": %.17g", name, value);
    else
      add(", \"%s\": null", name);
  }
  char text[4096];
  int length = 0;
};

/// Bytes of the lines of steps up to `lastStep`; what follows is dropped.
int64_t bytesUntil(const std::string &text, int64_t lastStep) {
  size_t at = 0;
  while (at < text.size()) {
    size_t end = text.find('\n', at);
    const char *key = "\"step\": ";
    size_t found = text.find(key, at);
    if (end == std::string::npos || found > end ||
        atoll(text.c_str() + found + strlen(key)) > lastStep)
      break;
    at = end + 1;
  }
  return (int64_t)at;
}

} // namespace

Status JsonLog::open(const std::string &file, const tp_program &, bool resume, int64_t lastStep) {
  path = file;
  int64_t keep = 0;
  if (resume && pathExists(path)) {
    std::string text;
    TP_TRY(readText(path, text, int64_t(1) << 32));
    keep = bytesUntil(text, lastStep);
  }
  descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0 || ftruncate(descriptor, keep) != 0 ||
      lseek(descriptor, keep, SEEK_SET) != keep)
    return errorf("cannot write '%s': %s", path.c_str(), strerror(errno));
  return {};
}

Status JsonLog::step(const Metrics &metrics, const StepReport &report) {
  Line line;
  line.add("{\"step\": %" PRId64, report.step);
  for (int64_t i = 0; i < metrics.size(); ++i)
    line.number(metrics.name(i), metrics.value(i));
  line.number("lr", report.learningRate);
  line.add(", \"tokens\": %" PRId64, report.tokens);
  line.number("step_seconds", report.seconds);
  line.number("tokens_per_second", report.tokensPerSecond);
  line.add("}\n");
  if (line.length >= (int)sizeof line.text)
    return errorf("a line of '%s' is longer than %zu bytes: the plan has too many metrics",
                  path.c_str(), sizeof line.text);
  return writeAll(descriptor, path, line.text, line.length);
}

Status JsonLog::evaluation(int64_t step, double loss, int64_t tokens) {
  Line line;
  line.add("{\"step\": %" PRId64, step);
  line.number("eval_loss", loss);
  line.add(", \"eval_tokens\": %" PRId64 "}\n", tokens);
  return writeAll(descriptor, path, line.text, line.length);
}

std::unique_ptr<Log> tplan::runtime::makeJsonLog() { return std::make_unique<JsonLog>(); }
