//===- toy_tables.cpp - the tables of the toy program --------------------===//
//
// The arena, in order: weights, states, gradients, the batch, what a step computes; with
// many ranks then each tensor whole, as the step works on it.
//
//===----------------------------------------------------------------------===//

#include "toy_tables.h"

#include <algorithm>
#include <iterator>

using namespace toy;

namespace {

constexpr int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

const int32_t axisNumbers[] = {0, 1, 2}, lastAndFirst[] = {2, 0};

struct Named {
  const char *path, *slot, *name, *whole;
};
const Named named[numTensors] = {
    {"head.weight", "", "head.weight", "whole head.weight"},
    {"parts.{i}.bias", "", "parts.bias", "whole parts.bias"},
    {"head.weight", "m", "head.weight.m", "whole head.weight.m"},
    {"parts.{i}.bias", "m", "parts.bias.m", "whole parts.bias.m"},
    {"head.weight", "", "head.weight.gradient", "whole head.weight.gradient"},
    {"parts.{i}.bias", "", "parts.bias.gradient", "whole parts.bias.gradient"}};

class Builder {
public:
  explicit Builder(Tables &tables) : t(tables), layout(tables.layout) {}
  void build();

private:
  int64_t place(const char *name, int64_t bytes) {
    int64_t offset = top;
    top += aligned(bytes);
    t.slots[slot++] = {name, offset, bytes, 0};
    return offset;
  }
  int64_t members(int32_t group) const {
    const int64_t sizes[] = {layout.d, layout.a, layout.b, layout.ranks(), layout.b * layout.d};
    return group < 0 ? 1 : sizes[group];
  }
  void tensor(int number, const Cut &cut);

  Tables &t;
  const Layout &layout;
  int64_t top = 0;
  int slot = 0;
};

void Builder::tensor(int number, const Cut &cut) {
  bool bias = number % 2;
  int32_t role = number < 2 ? TP_WEIGHT : number < 4 ? TP_OPTIMIZER_STATE : TP_GRADIENT;
  int64_t stored = 1;
  for (int d = 0; d < (bias ? 1 : 2); ++d) {
    int32_t group = d ? cut.columns : cut.rows;
    t.cuts[number][d] = group;
    t.whole[number][d] = bias ? V / 2 : V;
    t.shapes[number][d] = (t.whole[number][d] + members(group) - 1) / members(group);
    stored *= t.shapes[number][d];
  }
  int64_t chunk = 0;
  if (cut.chunk >= 0) {
    chunk = aligned((stored + members(cut.chunk) - 1) / members(cut.chunk));
    stored = cut.inWhole ? chunk * members(cut.chunk) : chunk;
  }
  // Alone, the two halves of the bias lie next to each other.
  int64_t count = bias ? 2 : 1, stride = layout.ranks() > 1 ? aligned(4 * stored) : 4 * stored;
  t.tensors[number] = {named[number].path,
                       named[number].slot,
                       t.shapes[number],
                       t.whole[number],
                       t.cuts[number],
                       role,
                       TP_F32,
                       bias ? 1 : 2,
                       count,
                       0,
                       1,
                       place(named[number].name, count * stride),
                       stride,
                       bias && number == 1 ? 1 : 0,
                       bias && number == 1 ? 1 : 0,
                       number ? TP_CONSTANT : TP_NORMAL,
                       number ? (number == 1 ? 0.25 : 0) : 0.1,
                       chunk,
                       cut.chunk,
                       cut.inWhole,
                       0};
}

void Builder::build() {
  const Cut *cuts[] = {&layout.weights, &layout.states, &layout.gradients};
  for (int i = 0; i < numTensors; ++i)
    tensor(i, *cuts[i / 2]);
  t.input = {"text",      place("tokens", 4 * layout.microbatches * layout.rows * length),
             layout.rows, length,
             length - 1,  V,
             layout.data};
  int64_t scalars = place("scalars", scalarBytes), metrics = place("metrics", 12);
  auto scalar = [&](int32_t kind, int32_t type, size_t offset, double value) {
    return tp_scalar{kind, type, scalars + (int64_t)offset, value, 1, 0};
  };
  const tp_scalar all[] = {scalar(TP_SEED, TP_I32, offsetof(Scalars, seed), 0),
                           scalar(TP_STEP, TP_I32, offsetof(Scalars, step), 0),
                           scalar(TP_LR, TP_F32, offsetof(Scalars, lr), 0),
                           scalar(TP_POWER, TP_F32, offsetof(Scalars, power), 0.9),
                           scalar(TP_ROWS, TP_I64, offsetof(Scalars, rows), 0),
                           scalar(TP_MEMBER, TP_I32, offsetof(Scalars, member), layout.data)};
  std::copy(std::begin(all), std::end(all), t.scalars);
  t.metrics[0] = {"loss",
                  TP_F32,
                  metrics,
                  metrics + 4,
                  layout.data,
                  layout.countWhole ? (int32_t)nobody : layout.data,
                  0,
                  1,
                  1,
                  1,
                  1};
  t.metrics[1] = {"grad_norm", TP_F32, metrics + 8, -1, nobody, nobody, 0, 0, 0, 1, 1};
  t.onehotAt = place("onehot", 4 * t.tokens() * V);
  t.logitsAt = place("logits", 4 * t.tokens() * V);
  for (int i = 0; i < numTensors; ++i)
    t.wholeAt[i] =
        layout.ranks() > 1 ? place(named[i].whole, 4 * wholeElements(i)) : t.tensors[i].offset;
  t.arenaBytes = top;
  t.axes[0] = {"d", layout.d}, t.axes[1] = {"a", layout.a}, t.axes[2] = {"b", layout.b};
  for (int i = 0; i < 3; ++i)
    t.groups[i] = {t.axes[i].name, 1, axisNumbers + i, 0, nullptr};
  t.groups[overAll] = {"all", 3, axisNumbers, 0, nullptr};
  t.groups[overBD] = {"b and d", 2, lastAndFirst, 0, nullptr};
  t.forward = {t.tokens(), V, V, V, V, V, 1, 0, 0, 0, 0, 0, 0, TP_F32, TP_F32, 0, 0};
  t.backward = {V, V, t.tokens(), V, V, V, 1, 0, 0, 0, 1, 0, 1, TP_F32, TP_F32, 0, 0};
}

} // namespace

toy::Tables::Tables(const Layout &layout) : layout(layout) { Builder(*this).build(); }
