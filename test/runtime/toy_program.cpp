//===- toy_program.cpp - a program as the compiler would emit it -------------===//

#include "toy_tables.h"

#include "runtime/ranks/rank.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <mutex>

using namespace toy;
using tplan::runtime::errorf;

namespace {

template <typename T> T *at(char *arena, int64_t offset) { return (T *)(arena + offset); }

const Tables &tablesOf(const tp_rank *rank) { return *(const Tables *)rank->program->tensors; }

// Counted as in a microbatch of a rank alone.
constexpr int64_t N = toy::rows * S;
const tp_call onehotCall = {"onehot", "toy.tplan", 3, TP_KERNEL, 0, 4 * N *V, 0};
const tp_call logitsCall = {
    "logits", "toy.tplan", 4, TP_GEMM, 2 * N * V * V, 4 * (2 * N * V + V * V), 0};
const tp_call softmaxCall = {"softmax", "toy.tplan", 5, TP_KERNEL, 5 * N *V, 8 * N *V, 0};
const tp_call gradientCall = {
    "gradient", "toy.tplan", 4, TP_GEMM, 2 * N * V * V, 4 * (2 * N * V + V * V), 0};
const tp_call updateCall = {"update", "toy.tplan", 8, TP_OPTIMIZER, 4 * V *V, 16 * V *V, 0};
const tp_call zeroCall = {"zero", "toy.tplan", 8, TP_COPY, 0, 4 * V *V, 0};
const tp_call gatherCall = {"gather", "toy.tplan", 2, TP_COLLECTIVE, 0, 4 * V *V, 0};
const tp_call reduceCall = {"reduce", "toy.tplan", 6, TP_COLLECTIVE, 0, 4 * V *V, 0};

double roundTo(double value, double unit) { return std::round(value / unit) * unit; }

//--- what the ranks share, element by element, as runtime.h has it ----------------

constexpr int64_t padding = -1, notOwn = -2;

int64_t memberOf(const tp_rank *rank, int32_t group) {
  return group < 0 ? 0 : tp_member(rank, group);
}

/// Number in the logical tensor of element `at` of this rank's buffer.
int64_t logicalOf(const tp_rank *rank, const tp_tensor &t, int64_t at) {
  int64_t line = 1, logical = 0, stride = 1;
  for (int32_t d = 0; d < t.rank; ++d)
    line *= t.shape[d];
  if (t.chunk) {
    int64_t first = memberOf(rank, t.chunk_group) * t.chunk;
    at += t.in_whole ? 0 : first;
    if (at < first || at >= first + t.chunk)
      return notOwn;
  }
  if (at >= line)
    return padding;
  for (int32_t d = t.rank - 1; d >= 0; --d) {
    int64_t position = memberOf(rank, t.dim_groups[d]) * t.shape[d] + at % t.shape[d];
    if (position >= t.whole[d])
      return padding;
    logical += position * stride;
    stride *= t.whole[d];
    at /= t.shape[d];
  }
  return logical;
}

/// Calls function(element of the rank, element as if there were one rank or null, logical).
template <typename Function>
void forElements(tp_rank *rank, char *arena, int tensor, Function function) {
  const Tables &tables = tablesOf(rank);
  const tp_tensor &t = tables.tensors[tensor];
  int64_t whole = 1;
  for (int32_t d = 0; d < t.rank; ++d)
    whole *= t.whole[d];
  for (int64_t j = 0; j < t.count; ++j)
    for (int64_t i = 0; i < t.stride / 4; ++i) {
      int64_t logical = logicalOf(rank, t, i);
      auto *to =
          at<float>(arena, tables.wholeAt[tensor]) + j * whole + std::max<int64_t>(0, logical);
      function(at<float>(arena, t.offset + j * t.stride)[i], to, logical);
    }
}

int allReduce(tp_rank *rank, const tp_call *call, int32_t reduction, int32_t group, float *data,
              int64_t count) {
  tp_collective what = {TP_ALL_REDUCE, reduction, TP_F32, group, 1, count, 1, 1, count, 0, nullptr};
  void *pointers[] = {data, data};
  return tp_collectives(rank, call, &what, 1, pointers);
}

/// Tensors [begin, end), whole on every rank: elements that a rank does not hold are less than any
/// number.
int gather(tp_rank *rank, char *arena, int begin, int end) {
  const Tables &tables = tablesOf(rank);
  if (tables.layout.ranks() == 1)
    return 0;
  for (int tensor = begin; tensor < end; ++tensor) {
    float *whole = at<float>(arena, tables.wholeAt[tensor]);
    std::fill_n(whole, wholeElements(tensor), -std::numeric_limits<float>::infinity());
    forElements(rank, arena, tensor, [](float &mine, float *to, int64_t logical) {
      if (logical >= 0)
        *to = mine;
    });
    if (allReduce(rank, &gatherCall, TP_MAX, overAll, whole, wholeElements(tensor)))
      return 1;
  }
  return 0;
}

/// Each rank keeps what it holds of tensors [begin, end). The rest is made unusable.
void scatter(tp_rank *rank, char *arena, int begin, int end) {
  for (int tensor = begin; tensor < end && tablesOf(rank).layout.ranks() > 1; ++tensor)
    forElements(rank, arena, tensor, [](float &mine, float *from, int64_t logical) {
      mine = logical == padding ? 0 : logical == notOwn ? NAN : *from;
    });
}

//--- the model ----------------------------------------------------------------------

int64_t rowsInUse(const Tables &tables, char *arena) {
  return at<Scalars>(arena, tables.scalars[0].offset)->rows;
}

void onehotKernel(void *const *args, int64_t task) {
  auto *tokens = (const int32_t *)args[0];
  auto *out = (float *)args[1];
  for (int64_t s = 0; s < S; ++s) {
    float *row = out + (task * S + s) * V;
    std::fill(row, row + V, 0.0f);
    row[std::max(0, tokens[task * length + s])] = 1;
  }
}

/// Logits become their cotangents where `scale` says so; sum and count are added.
struct Softmax {
  float *logits, *metrics;
  const float *bias;
  const int32_t *tokens;
  int64_t rows;
  double scale; // 0: no cotangents

  static void run(void *const *args, int64_t) { ((const Softmax *)args[0])->run(); }
  void run() const {
    for (int64_t row = 0; row < rows * S; ++row) {
      float *x = logits + row * V;
      for (int64_t i = 0; i < V; ++i)
        x[i] += bias[i];
      int32_t target = tokens[row / S * length + row % S + 1];
      if (target < 0)
        continue;
      float top = *std::max_element(x, x + V);
      double sum = 0;
      for (int64_t i = 0; i < V; ++i)
        sum += std::exp((double)x[i] - top);
      metrics[0] += (float)roundTo(top + std::log(sum) - x[target], 0x1p-14);
      metrics[1] += 1;
      for (int64_t i = 0; i < V && scale > 0; ++i)
        x[i] =
            (float)roundTo((std::exp((double)x[i] - top) / sum - (i == target)) * scale, 0x1p-22);
    }
  }
};

int softmaxLoss(tp_rank *rank, char *arena, const int32_t *tokens, double scale) {
  const Tables &tables = tablesOf(rank);
  Softmax softmax = {at<float>(arena, tables.logitsAt),
                     at<float>(arena, tables.metrics[0].offset),
                     at<float>(arena, tables.wholeAt[1]),
                     tokens,
                     rowsInUse(tables, arena),
                     scale};
  void *args[] = {&softmax};
  return tp_launch(rank, &softmaxCall, Softmax::run, args, 1);
}

int forwardPass(tp_rank *rank, char *arena, const int32_t *tokens) {
  const Tables &tables = tablesOf(rank);
  void *args[] = {(void *)tokens, arena + tables.onehotAt};
  if (tp_launch(rank, &onehotCall, onehotKernel, args, rowsInUse(tables, arena)))
    return 1;
  return tp_matmul(rank, &logitsCall, &tables.forward, arena + tables.onehotAt,
                   arena + tables.wholeAt[0], nullptr, arena + tables.logitsAt,
                   rowsInUse(tables, arena) * S);
}

void updateKernel(void *const *args, int64_t task) {
  auto *arena = (char *)args[0];
  auto &tables = *(const Tables *)args[1];
  float lr = at<Scalars>(arena, tables.scalars[0].offset)->lr;
  auto update = [&](int kind, int64_t begin, int64_t end) {
    float *weight = at<float>(arena, tables.wholeAt[kind]),
          *moment = at<float>(arena, tables.wholeAt[2 + kind]),
          *gradient = at<float>(arena, tables.wholeAt[4 + kind]);
    for (int64_t i = begin; i < end; ++i) {
      moment[i] = 0.9f * moment[i] + gradient[i];
      weight[i] -= lr * moment[i];
    }
  };
  update(0, task * V, (task + 1) * V);
  update(1, task, task + 1);
}

/// Gradients of this rank's rows.
int backwardPass(tp_rank *rank, char *arena) {
  const Tables &tables = tablesOf(rank);
  float *logits = at<float>(arena, tables.logitsAt), *bias = at<float>(arena, tables.wholeAt[5]);
  for (int64_t micro = 0; micro < tables.layout.microbatches; ++micro) {
    const int32_t *tokens =
        at<int32_t>(arena, tables.input.offset) + micro * tables.layout.rows * length;
    if (forwardPass(rank, arena, tokens) ||
        softmaxLoss(rank, arena, tokens, 1.0 / (double)rank->program->tokens_per_step) ||
        tp_matmul(rank, &gradientCall, &tables.backward, arena + tables.onehotAt,
                  arena + tables.logitsAt, nullptr, arena + tables.wholeAt[4], V))
      return 1;
    for (int64_t row = 0; row < tables.tokens(); ++row)
      for (int64_t i = 0; i < V; ++i)
        bias[i] += logits[row * V + i];
  }
  return 0;
}

int sumCount(tp_rank *rank, char *arena) {
  const Tables &tables = tablesOf(rank);
  if (!tables.layout.countWhole)
    return 0;
  return allReduce(rank, &reduceCall, TP_SUM, tables.layout.data,
                   at<float>(arena, tables.metrics[0].count_offset), 1);
}

int step(tp_rank *rank, char *arena) {
  const Tables &tables = tablesOf(rank);
  int32_t data = tables.layout.data;
  if (at<Scalars>(arena, tables.scalars[0].offset)->member != memberOf(rank, data))
    return tplan::runtime::fail(*rank, nullptr, errorf("the scalar of the member is wrong"));
  auto *metrics = at<float>(arena, tables.metrics[0].offset);
  metrics[0] = metrics[1] = metrics[2] = 0;
  if (gather(rank, arena, 0, 4) || tp_zero(rank, &zeroCall, arena + tables.wholeAt[4], 4 * V * V) ||
      tp_zero(rank, &zeroCall, arena + tables.wholeAt[5], 4 * V) || backwardPass(rank, arena) ||
      sumCount(rank, arena))
    return 1;
  for (int tensor = 4; tensor < 6 && data >= 0; ++tensor)
    if (allReduce(rank, &reduceCall, TP_SUM, data, at<float>(arena, tables.wholeAt[tensor]),
                  wholeElements(tensor)))
      return 1;
  double norm = 0;
  for (int64_t i = 0; i < V * V; ++i)
    norm += std::pow((double)at<float>(arena, tables.wholeAt[4])[i], 2);
  metrics[2] = (float)std::sqrt(norm);
  scatter(rank, arena, 4, 6);
  if (tp_gradients_ready(rank))
    return 1;
  void *args[] = {arena, (void *)&tables};
  if (tp_launch(rank, &updateCall, updateKernel, args, V))
    return 1;
  scatter(rank, arena, 0, 4);
  return 0;
}

int evaluate(tp_rank *rank, char *arena) {
  const Tables &tables = tablesOf(rank);
  const int32_t *tokens = at<int32_t>(arena, tables.input.offset);
  for (int64_t row = 0; row < tables.layout.rows; ++row)
    if ((tokens[row * length] >= 0) != (row < rowsInUse(tables, arena)))
      return tplan::runtime::fail(*rank, nullptr, errorf("the rows in use are miscounted"));
  return gather(rank, arena, 0, 2) || forwardPass(rank, arena, tokens) ||
         softmaxLoss(rank, arena, tokens, 0) || sumCount(rank, arena);
}

int predict(tp_rank *rank, char *arena) {
  const Tables &tables = tablesOf(rank);
  if (gather(rank, arena, 0, 2) ||
      forwardPass(rank, arena, at<int32_t>(arena, tables.input.offset)))
    return 1;
  for (int64_t row = 0; row < rowsInUse(tables, arena) * S; ++row)
    for (int64_t i = 0; i < V; ++i)
      at<float>(arena, tables.logitsAt)[row * V + i] += at<float>(arena, tables.wholeAt[1])[i];
  return 0;
}

const tp_lr_piece lr[] = {{0, 10, 0, 2.0, TP_LINEAR}, {10, 100, 2.0, 0.5, TP_COSINE}};

template <typename T, size_t Size> constexpr int64_t count(const T (&)[Size]) {
  return (int64_t)Size;
}

} // namespace

tp_program toy::program(const Layout &layout) {
  static std::deque<Tables> made; // see the header
  static std::mutex mutex;        // a program of several hosts asks on threads of its own
  Tables *tables;
  {
    std::lock_guard lock(mutex);
    tables = &made.emplace_back(layout);
  }
  tp_program p = {};
  p.abi_version = TP_ABI_VERSION;
  p.plan = "toy";
  p.fingerprint = "0123abcd";
  p.cpu = "x86-64";
  p.arena_bytes = tables->arenaBytes;
  p.microbatches = layout.microbatches;
  p.tokens_per_step = microbatches * rows * S;
  p.steps = 20;
  p.save_keep = 2;
  p.tensors = tables->tensors, p.num_tensors = numTensors;
  p.inputs = &tables->input, p.num_inputs = 1;
  p.scalars = tables->scalars, p.num_scalars = count(tables->scalars);
  p.lr = lr, p.num_lr = count(lr);
  p.metrics = tables->metrics, p.num_metrics = count(tables->metrics);
  tables->slotTable.set(p, {tables->slots, tables->slots + tables->numSlots()});
  if (layout.ranks() > 1) {
    p.axes = tables->axes, p.num_axes = count(tables->axes);
    p.groups = tables->groups, p.num_groups = count(tables->groups);
  }
  p.read_first = layout.readFirst;
  p.step = step;
  p.evaluate = evaluate;
  p.predict = predict;
  p.logits_offset = tables->logitsAt;
  p.logits_vocabulary = V;
  p.logits_type = TP_F32;
  return p;
}
