//===- toy_stages.cpp - a plan whose ranks run several programs --------------===//

#include "toy_stages.h"

#include "runtime/ranks/rank.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace toy;
using Stage = StagedPlan::Stage;

namespace {

constexpr int64_t vocabulary = 128, rows = 2, length = 9, S = length - 1, microbatches = 2;
constexpr int32_t overP = 0, overD = 1;
// Parts of the loss: one for the layers of each stage of the finest cut.
constexpr int64_t partEnds[] = {2, 3, 6, 7}, parts = 4, countParts = 2;

enum Kind { embed, layerWeight, layerBias, norm };
struct Form {
  const char *path;
  std::vector<int64_t> shape;
  int64_t id, idStep;
  int32_t init;
};
const Form forms[] = {{"embed.weight", {8, 6}, 0, 0, TP_NORMAL},
                      {"layers.{i}.weight", {6, 5}, 1, 2, TP_NORMAL},
                      {"layers.{i}.bias", {5}, 2, 2, TP_NORMAL},
                      {"norm.weight", {6}, 0, 0, TP_CONSTANT}};

template <typename T> T &at(char *arena, int64_t offset) { return *(T *)(arena + offset); }
const Stage &stageOf(const tp_rank *rank) { return *(const Stage *)rank->program; }

double &partOf(const Stage &stage, char *arena, int64_t part) {
  return at<double>(arena, stage.metrics[0].offset + 64 * part);
}
double &countOf(const Stage &stage, char *arena, int64_t part) {
  return at<double>(arena, stage.metrics[0].count_offset + 64 * part);
}

/// Calls function(part) for the parts of the stage's layers.
template <typename Function> void forParts(const Stage &stage, Function function) {
  for (int64_t part = 0; part < parts; ++part)
    if (partEnds[part] > stage.begin && partEnds[part] <= stage.end)
      function(part);
}

/// Calls function(weight, state, gradient) for elements of the stage's tensors.
template <typename Function> void forElements(const Stage &stage, char *arena, Function function) {
  size_t kinds = stage.tensors.size() / 3;
  for (size_t i = 0; i < kinds; ++i) {
    const tp_tensor *t[] = {&stage.tensors[i], &stage.tensors[i + kinds],
                            &stage.tensors[i + 2 * kinds]};
    int64_t elements = 1;
    for (int32_t d = 0; d < t[0]->rank; ++d)
      elements *= t[0]->shape[d];
    for (int64_t j = 0; j < t[0]->count; ++j)
      for (int64_t e = 0; e < elements; ++e)
        function(at<float>(arena, t[0]->offset + j * t[0]->stride + 4 * e),
                 at<float>(arena, t[1]->offset + j * t[1]->stride + 4 * e),
                 at<float>(arena, t[2]->offset + j * t[2]->stride + 4 * e));
  }
}

/// A collective that only this stage has.
int prepare(tp_rank *rank, char *arena) {
  static const tp_call call = {"prepare", "staged.tplan", 1, TP_COLLECTIVE, 0, 0, 0};
  const Stage &stage = stageOf(rank);
  if (stage.program.num_groups == 0)
    return 0;
  tp_collective what = {TP_ALL_REDUCE, TP_SUM, TP_F32, overD, 1, 1, 1, 1, 1, 0, nullptr};
  void *pointers[] = {arena + stage.scalars[0].offset, arena + stage.scalars[0].offset};
  return tp_collectives(rank, &call, &what, 1, pointers);
}

int step(tp_rank *rank, char *arena) {
  const Stage &stage = stageOf(rank);
  float lr = at<float>(arena, stage.scalars[0].offset);
  double number = at<int32_t>(arena, stage.scalars[1].offset);
  forElements(stage, arena, [](float &w, float &, float &g) { g = 0.25f * w + 0.5f; });
  if (tp_gradients_ready(rank))
    return 1;
  forElements(stage, arena, [&](float &w, float &m, float &g) {
    m = 0.5f * m + g;
    w -= lr * m;
  });
  // Only in this order, from the left, do they add up to the last of them.
  const double terms[] = {1e16, 1, -1e16, 3 * number};
  for (int64_t part = 0; part < parts; ++part)
    partOf(stage, arena, part) = 0;
  forParts(stage, [&](int64_t part) { partOf(stage, arena, part) = terms[part]; });
  countOf(stage, arena, 0) = stage.first;
  countOf(stage, arena, 1) = stage.last;
  at<double>(arena, stage.metrics[1].offset) = (double)(stage.end - stage.begin);
  return 0;
}

int evaluate(tp_rank *rank, char *arena) {
  const Stage &stage = stageOf(rank);
  auto *tokens = &at<int32_t>(arena, stage.input.offset);
  double counted = 0, sum = 0;
  for (int64_t row = 0; row < at<int64_t>(arena, stage.scalars[2].offset); ++row)
    for (int64_t i = 1; i < length; ++i)
      if (int32_t token = tokens[row * length + i]; token >= 0)
        ++counted, sum += token;
  countOf(stage, arena, stage.last) += stage.last ? std::floor(counted / 2) : 0;
  countOf(stage, arena, 0) += stage.first ? counted - std::floor(counted / 2) : 0;
  forParts(stage, [&](int64_t part) { partOf(stage, arena, part) += sum * (double)(part + 1); });
  return 0;
}

int predict(tp_rank *rank, char *arena) {
  const Stage &stage = stageOf(rank);
  auto *tokens = &at<int32_t>(arena, stage.input.offset);
  for (int64_t i = 0; stage.last && i < S * vocabulary; ++i)
    at<float>(arena, stage.program.logits_offset + 4 * i) =
        (float)std::sin((double)(i % vocabulary * (tokens[i / vocabulary] + 3)));
  return 0;
}

const int32_t axisNumbers[] = {0, 1}, otherNumbers[] = {1, 0};

} // namespace

const std::vector<Stages> &toy::stagedPlans() {
  static const std::vector<Stages> plans = {{"Two", {2, layers}, 1, true},
                                            {"TwoByTwo", {3, layers}, 2, true},
                                            {"Four", {2, 3, 6, layers}, 1, true},
                                            {"FourByTwo", {2, 3, 6, layers}, 2, true},
                                            {"FourInner", {2, 3, 6, layers}, 2, false}};
  return plans;
}

int64_t StagedPlan::place(Stage &stage, const char *name, int64_t bytes, tp_slot_use use) {
  int64_t offset = stage.top;
  stage.top += (bytes + 63) / 64 * 64;
  stage.slots.push_back({name, offset, bytes, use});
  return offset;
}

void StagedPlan::addTensors(Stage &stage) {
  std::vector<Kind> kinds = {embed, layerWeight, layerBias};
  if (stage.last)
    kinds = {layerWeight, layerBias, norm, embed}; // in another order than elsewhere
  else if (!stage.first)
    kinds = {layerBias, layerWeight};
  if (stage.first && stage.last)
    kinds = {embed, layerWeight, layerBias, norm};
  static const int32_t cut[] = {overD, -1}, whole[] = {-1, -1};
  static const int64_t half[] = {3, 5};
  for (auto [role, slot] :
       {std::pair(TP_WEIGHT, ""), std::pair(TP_OPTIMIZER_STATE, "m"), std::pair(TP_GRADIENT, "")})
    for (Kind kind : kinds) {
      const Form &form = forms[kind];
      bool isCut = kind == layerWeight && how.d == 2,
           isLayer = kind == layerWeight || kind == layerBias;
      tp_tensor t = {};
      t.path = form.path, t.slot = slot;
      t.role = role, t.type = TP_F32;
      t.rank = (int32_t)form.shape.size();
      t.whole = form.shape.data();
      t.shape = isCut ? half : t.whole;
      t.dim_groups = isCut ? cut : whole;
      t.count = isLayer ? stage.end - stage.begin : 1;
      t.first = isLayer ? stage.begin : 0;
      t.step = 1;
      t.id = form.id + t.first * form.idStep, t.id_step = form.idStep;
      t.init = role == TP_WEIGHT ? form.init : TP_CONSTANT;
      t.init_value = role == TP_WEIGHT ? 0.5 : 0;
      t.chunk_group = -1;
      int64_t elements = 1;
      for (int32_t d = 0; d < t.rank; ++d)
        elements *= t.shape[d];
      t.stride = t.memory = (4 * elements + 63) / 64 * 64;
      t.offset = place(stage, form.path, t.count * t.stride, TP_WRITTEN);
      stage.tensors.push_back(t);
    }
}

void StagedPlan::addDisk(Stage &stage) const {
  static const int64_t transposed[] = {1, 8}, ofEmbed[] = {6, 8}, plain[] = {5, 1}, line[] = {1};
  // After the weights, states and gradients of three kinds, which the first stage has.
  int64_t normRow = how.ends.size() > 1 ? 9 : norm;
  stage.stored = {{{embed, "wte", nullptr, 2, ofEmbed, 0, transposed},
                   {layerWeight, "h.{i}.w", "{i}.w", 2, forms[layerWeight].shape.data(), 0, plain},
                   {layerBias, "h.{i}.b", nullptr, 1, forms[layerBias].shape.data(), 0, line},
                   {normRow, "ln", nullptr, 1, forms[norm].shape.data(), 0, line}}};
  stage.disk.tensors = stage.stored.data(), stage.disk.num_tensors = (int64_t)stage.stored.size();
}

void StagedPlan::build(Stage &stage) {
  auto stagesOfPlan = (int64_t)how.ends.size();
  bool many = how.ranks() > 1, staged = stagesOfPlan > 1;
  place(stage, "apart", 64 * (1 + 3 * (stage.number % 3)), TP_OPTIONAL); // offsets are others
  addTensors(stage);
  stage.input = {"text", place(stage, "tokens", 4 * microbatches * rows * length, TP_WRITTEN),
                 rows,   length,
                 S,      vocabulary,
                 -1};
  int64_t scalars = place(stage, "scalars", 3 * 64, TP_OPTIONAL);
  stage.scalars = {{{TP_LR, TP_F32, scalars, 0, 1, 0},
                    {TP_STEP, TP_I32, scalars + 64, 0, 1, 0},
                    {TP_ROWS, TP_I64, scalars + 128, 0, 1, 0}}};
  int64_t loss = place(stage, "loss", 64 * parts, TP_OPTIONAL),
          count = place(stage, "count", 64 * countParts, TP_OPTIONAL),
          held = place(stage, "layers", 8, TP_OPTIONAL);
  int32_t group = staged ? overP : -1;
  stage.metrics = {{{"loss", TP_F64, loss, count, group, group, 0, 1, 1, parts, countParts},
                    {"layers", TP_F64, held, -1, group, -1, 0, 0, 0, 1, 1}}};
  stage.lr = {{{0, 100, 0.125, 0.0625, TP_LINEAR}}};
  tp_axis p = {"p", stagesOfPlan}, d = {"d", how.d};
  stage.axes = {{how.outer ? p : d, how.outer ? d : p}};
  const int32_t *numbers = how.outer ? axisNumbers : otherNumbers;
  stage.groups = {{{"p", 1, numbers, 0, nullptr},
                   {"d", 1, numbers + 1, 0, nullptr},
                   {"all", 2, axisNumbers, 0, nullptr}}};
  addDisk(stage);

  tp_program &program = stage.program;
  program.abi_version = TP_ABI_VERSION;
  program.plan = "staged", program.fingerprint = "abcd0123", program.cpu = "x86-64";
  program.microbatches = microbatches, program.tokens_per_step = microbatches * rows * S;
  program.steps = 20, program.save_keep = 2;
  program.tensors = stage.tensors.data(), program.num_tensors = (int64_t)stage.tensors.size();
  program.inputs = &stage.input, program.num_inputs = 1;
  program.scalars = stage.scalars.data(), program.num_scalars = (int64_t)stage.scalars.size();
  program.lr = stage.lr.data(), program.num_lr = (int64_t)stage.lr.size();
  program.metrics = stage.metrics.data(), program.num_metrics = (int64_t)stage.metrics.size();
  if (many) {
    program.axes = stage.axes.data(), program.num_axes = (int64_t)stage.axes.size();
    program.groups = stage.groups.data(), program.num_groups = (int64_t)stage.groups.size();
  }
  if (stage.last)
    program.prepare = prepare;
  program.step = step, program.evaluate = evaluate, program.predict = predict;
  program.logits_offset = -1;
  if (stage.last) {
    program.logits_offset = place(stage, "logits", 4 * S * vocabulary, TP_EVALUATION);
    program.logits_vocabulary = vocabulary, program.logits_type = TP_F32;
  }
  program.scale_offset = -1;
  program.disk = &stage.disk;
  stage.slotTable.set(program, stage.slots);
  program.arena_bytes = stage.top;
  if (staged) {
    program.programs = list.data(), program.num_programs = stagesOfPlan;
    program.programs_axis = how.outer ? 0 : 1;
  }
}

StagedPlan::StagedPlan(const Stages &how) : how(how) {
  stages.resize(how.ends.size());
  for (Stage &stage : stages)
    list.push_back(&stage.program);
  for (size_t i = 0; i < stages.size(); ++i) {
    Stage &stage = stages[i];
    stage.number = (int64_t)i;
    stage.begin = i ? how.ends[i - 1] : 0, stage.end = how.ends[i];
    stage.first = i == 0, stage.last = i + 1 == stages.size();
    build(stage);
  }
}
