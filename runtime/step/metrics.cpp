//===- metrics.cpp - the numbers that a step leaves ----------------------===//

#include "runtime/step/metrics.h"

#include "runtime/ranks/tensors.h"

#include <algorithm>
#include <cmath>
#include <tuple>

using namespace tplan::runtime;

void Metrics::add(int64_t metric, int64_t group, int64_t offset, int32_t type, int32_t parts,
                  bool isCount) {
  for (int32_t part = 0; part < parts; ++part)
    numbers.push_back({group, metric, offset + part * scalarStride, type, part, isCount});
}

Metrics::Metrics(const tp_program &program) : values(program.num_metrics) {
  for (int64_t i = 0; i < program.num_metrics; ++i) {
    const tp_metric &it = program.metrics[i];
    add(i, it.group, it.offset, it.type, it.parts, false);
    if (it.count_offset >= 0)
      add(i, it.count_group, it.count_offset, it.type, it.count_parts, true);
  }
  std::sort(numbers.begin(), numbers.end(), [](const Number &a, const Number &b) {
    return std::tie(a.group, a.metric, a.isCount, a.part) <
           std::tie(b.group, b.metric, b.isCount, b.part);
  });
  sums.resize(numbers.size());
  for (const Number &number : numbers) {
    begin = std::min(begin, number.offset);
    end = std::max(end, number.offset + bytesOf(number.type));
  }
  int64_t losses = 0;
  for (int64_t i = 0; i < program.num_metrics; ++i) {
    const tp_metric &metric = program.metrics[i];
    losses += metric.is_loss != 0;
    factors.push_back(metric.is_loss ? metric.factor : 1);
    rows.push_back({metric.name, i, 1, metric.unbounded != 0});
  }
  if (losses > 1)
    rows.insert(rows.begin(), {"loss", 0, losses, false});
}

double Metrics::value(int64_t i) const {
  double sum = 0;
  for (int64_t term = rows[i].first; term < rows[i].first + rows[i].count; ++term)
    sum += factors[term] * values[term].value();
  return sum;
}

/// Numbers of a device that lie together are copied at once, because each copy is waited for.
Status Metrics::fetch(tp_rank &rank) {
  constexpr int64_t most = 1 << 16;
  bool isTogether = end - begin <= most;
  auto copy = [&](int64_t offset, int64_t count) {
    bytes.resize(count);
    return readArena(rank, offset, bytes.data(), count);
  };
  if (isTogether)
    TP_TRY(copy(begin, end - begin));
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Number &number = numbers[i];
    if (!isTogether)
      TP_TRY(copy(number.offset, bytesOf(number.type)));
    sums[i] = getElement(bytes.data() + (isTogether ? number.offset - begin : 0), number.type, 0);
  }
  return {};
}

Status Metrics::read(tp_rank &rank) {
  if (!numbers.empty())
    TP_TRY(fetch(rank));
  for (size_t begin = 0, end; begin < numbers.size(); begin = end) {
    int64_t group = numbers[begin].group;
    for (end = begin; end < numbers.size() && numbers[end].group == group;)
      ++end;
    if (group >= 0 && rank.transport)
      TP_TRY(rank.groups[group]->sum(&sums[begin], (int64_t)(end - begin), rank.team));
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    MetricValue &value = values[numbers[i].metric];
    double &number = numbers[i].isCount ? value.count : value.sum;
    number = numbers[i].part ? number + sums[i] : sums[i];
  }
  return {};
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
