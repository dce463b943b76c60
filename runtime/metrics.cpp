//===- metrics.cpp - what a step leaves behind ----------------------------===//

#include "runtime/metrics.h"

#include "runtime/files.h"
#include "runtime/tensors.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include <fcntl.h>
#include <unistd.h>

using namespace tplan::runtime;

namespace {

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

Metrics::Metrics(const tp_program &program) : values(program.num_metrics) {
  for (int64_t i = 0; i < program.num_metrics; ++i) {
    const tp_metric &metric = program.metrics[i];
    numbers.push_back({metric.group, i, metric.offset, metric.type, false});
    if (metric.count_offset >= 0)
      numbers.push_back({metric.count_group, i, metric.count_offset, metric.type, true});
  }
  std::sort(numbers.begin(), numbers.end(), [](const Number &a, const Number &b) {
    return std::tie(a.group, a.metric, a.isCount) < std::tie(b.group, b.metric, b.isCount);
  });
  sums.resize(numbers.size());
}

Status Metrics::read(tp_rank &rank) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    alignas(8) char number[8];
    TP_TRY(readArena(rank, numbers[i].offset, number, bytesOf(numbers[i].type)));
    sums[i] = getElement(number, numbers[i].type, 0);
  }
  for (size_t begin = 0, end; begin < numbers.size(); begin = end) {
    int64_t group = numbers[begin].group;
    for (end = begin; end < numbers.size() && numbers[end].group == group;)
      ++end;
    if (group >= 0 && rank.transport)
      TP_TRY(rank.groups[group]->sum(&sums[begin], (int64_t)(end - begin), rank.team));
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    MetricValue &value = values[numbers[i].metric];
    (numbers[i].isCount ? value.count : value.sum) = sums[i];
  }
  return {};
}

MetricsLog::~MetricsLog() {
  if (descriptor >= 0)
    close(descriptor);
}

Status MetricsLog::open(const std::string &file, bool resume, int64_t lastStep) {
  path = file;
  if (path.empty())
    return {};
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

Status MetricsLog::writeLine(const char *line, int length) {
  if (descriptor < 0)
    return {};
  while (length > 0) {
    ssize_t written = write(descriptor, line, length);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return errorf("cannot write '%s': %s", path.c_str(), strerror(errno));
    line += written;
    length -= (int)written;
  }
  return {};
}

Status MetricsLog::step(const tp_program &program, const Metrics &metrics,
                        const StepReport &report) {
  if (descriptor < 0)
    return {};
  Line line;
  line.add("{\"step\": %" PRId64, report.step);
  for (int64_t i = 0; i < metrics.size(); ++i)
    line.number(program.metrics[i].name, metrics[i].value());
  line.number("lr", report.learningRate);
  line.add(", \"tokens\": %" PRId64, report.tokens);
  line.number("step_seconds", report.seconds);
  line.number("tokens_per_second", report.tokensPerSecond);
  line.add("}\n");
  if (line.length >= (int)sizeof line.text)
    return errorf("a line of '%s' is longer than %zu bytes: the plan has too many metrics",
                  path.c_str(), sizeof line.text);
  return writeLine(line.text, line.length);
}

Status MetricsLog::evaluation(int64_t step, double loss, int64_t tokens) {
  if (descriptor < 0)
    return {};
  Line line;
  line.add("{\"step\": %" PRId64, step);
  line.number("eval_loss", loss);
  line.add(", \"eval_tokens\": %" PRId64 "}\n", tokens);
  return writeLine(line.text, line.length);
}

void tplan::runtime::drawCurve(FILE *to, const std::vector<float> &losses, int64_t firstStep) {
  constexpr int maxWidth = 72, height = 14;
  if (losses.size() < 2)
    return;
  int width = (int)std::min<size_t>(maxWidth, losses.size());
  std::vector<double> columns(width);
  for (int column = 0; column < width; ++column) {
    size_t begin = losses.size() * column / width, end = losses.size() * (column + 1) / width;
    for (size_t i = begin; i < end; ++i)
      columns[column] += losses[i];
    columns[column] /= double(end - begin);
  }
  auto [low, high] = std::minmax_element(columns.begin(), columns.end());
  double bottom = *low, range = std::max(*high - *low, 1e-9);
  fprintf(to, "\n  loss\n");
  for (int row = 0; row < height; ++row) {
    fprintf(to, "%8.3f |", bottom + range * (height - 1 - row) / (height - 1));
    for (int column = 0; column < width; ++column) {
      int place = (int)std::lround((columns[column] - bottom) / range * (height - 1));
      fputc(place == height - 1 - row ? '*' : ' ', to);
    }
    fputc('\n', to);
  }
  fprintf(to, "         +");
  for (int column = 0; column < width; ++column)
    fputc('-', to);
  fprintf(to, "\n          step %-10lld%*lld\n", (long long)firstStep, std::max(1, width - 15),
          (long long)(firstStep + (int64_t)losses.size() - 1));
}
