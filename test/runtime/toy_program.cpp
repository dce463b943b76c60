//===- toy_program.cpp - a program as the compiler would emit it -------------===//

#include "toy_program.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace toy;

namespace {

constexpr int64_t V = vocabulary, S = length - 1, N = rows * S;

constexpr int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// The arena, in order.
constexpr int64_t weightAt = 0;                           // [V, V]
constexpr int64_t biasAt = weightAt + aligned(4 * V * V); // 2 x [V / 2], as a list of two
constexpr int64_t weightMomentAt = biasAt + aligned(4 * V);
constexpr int64_t biasMomentAt = weightMomentAt + aligned(4 * V * V);
constexpr int64_t weightGradientAt = biasMomentAt + aligned(4 * V);
constexpr int64_t biasGradientAt = weightGradientAt + aligned(4 * V * V);
constexpr int64_t tokensAt = biasGradientAt + aligned(4 * V);
constexpr int64_t scalarsAt =
    tokensAt + aligned(4 * microbatches * rows * length); // seed, step, lr, power
constexpr int64_t metricsAt = scalarsAt + 64;             // loss, count, norm
constexpr int64_t onehotAt = metricsAt + 64;
constexpr int64_t logitsAt = onehotAt + aligned(4 * N * V);
constexpr int64_t arenaBytes = logitsAt + aligned(4 * N * V);

const tp_call onehotCall = {"onehot", "toy.tplan", 3, TP_KERNEL, 0, 4 * N *V};
const tp_call logitsCall = {"logits", "toy.tplan",   4,
                            TP_GEMM,  2 * N * V * V, 4 * (2 * N * V + V * V)};
const tp_call softmaxCall = {"softmax", "toy.tplan", 5, TP_KERNEL, 5 * N *V, 8 * N *V};
const tp_call gradientCall = {"gradient", "toy.tplan",   4,
                              TP_GEMM,    2 * N * V * V, 4 * (2 * N * V + V * V)};
const tp_call updateCall = {"update", "toy.tplan", 8, TP_OPTIMIZER, 4 * V *V, 16 * V *V};
const tp_call zeroCall = {"zero", "toy.tplan", 8, TP_COPY, 0, 4 * V *V};

const tp_gemm forward = {N, V, V, V, V, V, 1, 0, 0, 0, 0, 0, 0, TP_F32, TP_F32};
const tp_gemm backward = {V, V, N, V, V, V, 1, 0, 0, 0, 1, 0, 1, TP_F32, TP_F32};

template <typename T> T *at(char *arena, int64_t offset) { return (T *)(arena + offset); }

void onehotKernel(void *const *args, int64_t task) {
  auto *tokens = (const int32_t *)args[0];
  auto *out = (float *)args[1];
  for (int64_t s = 0; s < S; ++s) {
    float *row = out + (task * S + s) * V;
    std::fill(row, row + V, 0.0f);
    row[std::max(0, tokens[task * length + s])] = 1;
  }
}

/// Logits become their cotangents where args[3] says so; sum and count are added.
int softmaxLoss(tp_rank *rank, char *arena, const int32_t *tokens, bool backwardToo) {
  struct Task {
    static void run(void *const *args, int64_t) {
      auto *logits = (float *)args[0];
      auto *tokens = (const int32_t *)args[1];
      auto *metrics = (float *)args[2];
      auto *bias = (const float *)args[4];
      bool backwardToo = args[3] != nullptr;
      for (int64_t row = 0; row < N; ++row) {
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
        metrics[0] += (float)(top + std::log(sum) - x[target]);
        metrics[1] += 1;
        if (!backwardToo)
          continue;
        for (int64_t i = 0; i < V; ++i)
          x[i] = (float)((std::exp((double)x[i] - top) / sum - (i == target)) /
                         (double)(N * microbatches));
      }
    }
  };
  void *args[] = {arena + logitsAt, (void *)tokens, arena + metricsAt,
                  backwardToo ? arena : nullptr, arena + biasAt};
  return tp_launch(rank, &softmaxCall, Task::run, args, 1);
}

int forwardPass(tp_rank *rank, char *arena, const int32_t *tokens) {
  void *args[] = {(void *)tokens, arena + onehotAt};
  if (tp_launch(rank, &onehotCall, onehotKernel, args, rows))
    return 1;
  return tp_matmul(rank, &logitsCall, &forward, arena + onehotAt, arena + weightAt,
                   arena + logitsAt, forward.batch * forward.m);
}

void updateKernel(void *const *args, int64_t task) {
  auto *arena = (char *)args[0];
  float lr = at<float>(arena, scalarsAt)[2];
  auto update = [&](int64_t weight, int64_t moment, int64_t gradient, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float &m = at<float>(arena, moment)[i];
      m = 0.9f * m + at<float>(arena, gradient)[i];
      at<float>(arena, weight)[i] -= lr * m;
    }
  };
  update(weightAt, weightMomentAt, weightGradientAt, task * V, (task + 1) * V);
  update(biasAt, biasMomentAt, biasGradientAt, task, task + 1);
}

int step(tp_rank *rank, char *arena) {
  auto *metrics = at<float>(arena, metricsAt);
  metrics[0] = metrics[1] = metrics[2] = 0;
  for (int64_t micro = 0; micro < microbatches; ++micro) {
    const int32_t *tokens = at<int32_t>(arena, tokensAt) + micro * rows * length;
    if (forwardPass(rank, arena, tokens) || softmaxLoss(rank, arena, tokens, true) ||
        tp_matmul(rank, &gradientCall, &backward, arena + onehotAt, arena + logitsAt,
                  arena + weightGradientAt, backward.batch * backward.m))
      return 1;
    for (int64_t row = 0; row < N; ++row)
      for (int64_t i = 0; i < V; ++i)
        at<float>(arena, biasGradientAt)[i] += at<float>(arena, logitsAt)[row * V + i];
  }
  double norm = 0;
  for (int64_t i = 0; i < V * V; ++i)
    norm += std::pow((double)at<float>(arena, weightGradientAt)[i], 2);
  metrics[2] = (float)std::sqrt(norm);
  if (tp_gradients_ready(rank))
    return 1;
  void *args[] = {arena};
  return tp_launch(rank, &updateCall, updateKernel, args, V) ||
         tp_zero(rank, &zeroCall, arena + weightGradientAt, 4 * V * V) ||
         tp_zero(rank, &zeroCall, arena + biasGradientAt, 4 * V);
}

int evaluate(tp_rank *rank, char *arena) {
  const int32_t *tokens = at<int32_t>(arena, tokensAt);
  return forwardPass(rank, arena, tokens) || softmaxLoss(rank, arena, tokens, false);
}

int predict(tp_rank *rank, char *arena) {
  if (forwardPass(rank, arena, at<int32_t>(arena, tokensAt)))
    return 1;
  for (int64_t row = 0; row < N; ++row)
    for (int64_t i = 0; i < V; ++i)
      at<float>(arena, logitsAt)[row * V + i] += at<float>(arena, biasAt)[i];
  return 0;
}

const int64_t weightShape[] = {V, V}, biasShape[] = {V / 2};
const tp_tensor tensors[] = {
    {"head.weight", "", TP_WEIGHT, TP_F32, 2, weightShape, 1, 0, 1, weightAt, 0, 0, 0, TP_NORMAL,
     0.1},
    {"parts.{i}.bias", "", TP_WEIGHT, TP_F32, 1, biasShape, 2, 0, 1, biasAt, 2 * V, 1, 1,
     TP_CONSTANT, 0.25},
    {"head.weight", "m", TP_OPTIMIZER_STATE, TP_F32, 2, weightShape, 1, 0, 1, weightMomentAt, 0, 0,
     0, TP_CONSTANT, 0},
    {"parts.{i}.bias", "m", TP_OPTIMIZER_STATE, TP_F32, 1, biasShape, 2, 0, 1, biasMomentAt, 2 * V,
     0, 0, TP_CONSTANT, 0},
    {"head.weight", "", TP_GRADIENT, TP_F32, 2, weightShape, 1, 0, 1, weightGradientAt, 0, 0, 0,
     TP_CONSTANT, 0},
    {"parts.{i}.bias", "", TP_GRADIENT, TP_F32, 1, biasShape, 2, 0, 1, biasGradientAt, 2 * V, 0, 0,
     TP_CONSTANT, 0},
};
const tp_input inputs[] = {{"text", tokensAt, rows, length, V}};
const tp_scalar scalars[] = {{TP_SEED, TP_I32, scalarsAt, 0},
                             {TP_STEP, TP_I32, scalarsAt + 4, 0},
                             {TP_LR, TP_F32, scalarsAt + 8, 0},
                             {TP_POWER, TP_F32, scalarsAt + 12, 0.9}};
const tp_lr_piece lr[] = {{0, 10, 0, 2.0, TP_LINEAR}, {10, 100, 2.0, 0.5, TP_COSINE}};
const tp_metric metrics[] = {{"loss", TP_F32, metricsAt, metricsAt + 4},
                             {"grad_norm", TP_F32, metricsAt + 8, -1}};
const tp_slot slots[] = {
    {"head.weight", weightAt, 4 * V * V},
    {"parts.bias", biasAt, 4 * V},
    {"head.weight.m", weightMomentAt, 4 * V * V},
    {"parts.bias.m", biasMomentAt, 4 * V},
    {"head.weight.gradient", weightGradientAt, 4 * V * V},
    {"parts.bias.gradient", biasGradientAt, 4 * V},
    {"tokens", tokensAt, 4 * microbatches * rows * length},
    {"scalars", scalarsAt, 16},
    {"metrics", metricsAt, 12},
    {"onehot", onehotAt, 4 * N * V},
    {"logits", logitsAt, 4 * N * V},
};

template <typename T, size_t Size> constexpr int64_t count(const T (&)[Size]) {
  return (int64_t)Size;
}

} // namespace

tp_program toy::program() {
  tp_program p = {};
  p.abi_version = TP_ABI_VERSION;
  p.plan = "toy";
  p.fingerprint = "0123abcd";
  p.cpu = "x86-64";
  p.arena_bytes = arenaBytes;
  p.microbatches = microbatches;
  p.tokens_per_step = microbatches * N;
  p.steps = 20;
  p.save_keep = 2;
  p.tensors = tensors, p.num_tensors = count(tensors);
  p.inputs = inputs, p.num_inputs = count(inputs);
  p.scalars = scalars, p.num_scalars = count(scalars);
  p.lr = lr, p.num_lr = count(lr);
  p.metrics = metrics, p.num_metrics = count(metrics);
  p.slots = slots, p.num_slots = count(slots);
  p.step = step;
  p.evaluate = evaluate;
  p.predict = predict;
  p.logits_offset = logitsAt;
  p.logits_vocabulary = V;
  p.logits_type = TP_F32;
  return p;
}
