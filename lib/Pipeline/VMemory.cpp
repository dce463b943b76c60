//===- VMemory.cpp - a V in half or a third of the memory of 1F1B -------------===//
//
// A pattern of six units says when a rank does F and I of its two chunks for a microbatch, and is
// repeated for the next. That bounds the memory: what a rank keeps of the pattern without end. The
// pattern alone waits where it begins and ends, so it is played as a list: a rank does what comes
// next; where that has to wait, one of the next few or a W.
//
// One decision: how many it looks ahead, and which of the two it prefers, is tried in all ways; the
// shortest in units is taken. No way keeps more than the bound.
//
// Source: Qi et al., "Pipeline Parallelism with Controllable Memory", NeurIPS 2024: the patterns.
//
//===----------------------------------------------------------------------===//
#include "lib/Pipeline/Policy.h"
#include <algorithm>
#include <array>

using namespace tplan;
using namespace tplan::pipeline;

namespace {
/// When a rank does these for microbatch 0, in units; for each further one six later.
struct Pattern {
  int32_t f0, f1, i1, i0;
};
constexpr int32_t kPeriod = 6;

Pattern half(int32_t p, int32_t r) {
  int32_t t = p % 2 ? 0 : 3;
  return {2 * r, 3 * p - r - 2, 3 * p + t + 2 * r - 1, 6 * p + t - r - 2};
}

Pattern third(int32_t p, int32_t r) {
  int32_t t = p % 3 ? 0 : 2;
  return {r, 2 * p - r - 1, 2 * p + t + r, 4 * p + t - r - 1};
}

using Times = std::vector<std::pair<int32_t, Task>>; // sorted

/// When a rank does its F and I.
Times timesOf(const Pattern &pattern, int32_t rank, int32_t ranks, int32_t microbatches) {
  int32_t back = 2 * ranks - 1 - rank;
  Times times;
  for (int32_t m = 0; m < microbatches; ++m)
    for (auto [at, kind, stage] :
         {std::tuple(pattern.f0, TaskKind::F, rank), std::tuple(pattern.f1, TaskKind::F, back),
          std::tuple(pattern.i1, TaskKind::I, back), std::tuple(pattern.i0, TaskKind::I, rank)})
      times.push_back({at + kPeriod * m, {kind, stage, m}});
  std::sort(times.begin(), times.end(), [](auto &a, auto &b) { return a.first < b.first; });
  return times;
}

/// What a rank keeps of the pattern without end, where each W follows as soon as a unit is free.
int64_t memoryOf(const Times &times) {
  int64_t kept = 0, most = 0, weights = 0;
  for (int32_t at = 0, next = 0, e = times.size(); next < e; ++at) {
    if (times[next].first != at) {
      if (weights)
        --weights, --kept;
      continue;
    }
    if (times[next++].second.kind == TaskKind::F)
      most = std::max(most, ++kept);
    else
      ++weights;
  }
  return most;
}

struct Trial {
  int32_t ahead;     // tasks of the list that a rank chooses from
  bool weightsFirst; // W, where the first of these has to wait
};

/// Plays the lists in units of time.
class PatternPlayer {
public:
  PatternPlayer(const Pipeline &pipeline, std::vector<Times> lists, int64_t memory, Trial trial)
      : pipeline(pipeline), lists(std::move(lists)), memory(memory), trial(trial),
        doneAt(pipeline, -1), ranks(pipeline.ranks()) {}

  /// The units that all of it takes; nothing where ranks wait for each other.
  std::optional<int64_t> play(Orders &orders) {
    orders.assign(pipeline.ranks(), {});
    int64_t left = 3ll * pipeline.stages() * pipeline.microbatches();
    for (now = 0; left; ++now) {
      int64_t before = left;
      for (int32_t rank = 0; rank < pipeline.ranks(); ++rank)
        if (std::optional<Task> task = choose(rank)) {
          orders[rank].push_back(*task);
          doneAt[*task] = now;
          --left;
        }
      idle = left == before ? idle + 1 : 0;
      if (idle > 1) // nothing of the last unit makes anything ready
        return std::nullopt;
    }
    return now;
  }

private:
  struct Rank {
    int64_t kept = 0;
    std::deque<Task> weights; // W of each I that has none
  };
  const Pipeline &pipeline;
  std::vector<Times> lists;
  const int64_t memory;
  const Trial trial;
  TaskTable<int64_t> doneAt;
  std::vector<Rank> ranks;
  std::vector<size_t> begins = std::vector<size_t>(lists.size(), 0);
  int64_t now = 0, idle = 0;

  bool isReady(const Rank &rank, Task task) const {
    auto isDone = [&](Task need) { return doneAt[need] >= 0 && doneAt[need] < now; };
    if (task.kind == TaskKind::F && rank.kept >= memory)
      return false;
    for (const sched::AnyTask &need : pipeline.needsOf(task))
      if (std::none_of(need.begin(), need.end(), isDone))
        return false;
    return true;
  }

  /// What a rank does now, if anything.
  std::optional<Task> choose(int32_t r) {
    Rank &rank = ranks[r];
    Times &list = lists[r];
    std::array<bool, 4> passed = {}; // F or I of a chunk that has to wait, so later ones do as well
    for (size_t i = begins[r], e = std::min(list.size(), i + trial.ahead); i < e; ++i) {
      if (i > begins[r] && trial.weightsFirst && !rank.weights.empty())
        break;
      Task task = list[i].second;
      bool &waits = passed[(task.kind == TaskKind::F) * 2 + (task.stage < pipeline.ranks())];
      if (waits || !isReady(rank, task)) {
        waits = true;
        continue;
      }
      std::rotate(list.begin() + begins[r], list.begin() + i, list.begin() + i + 1);
      ++begins[r];
      if (task.kind == TaskKind::F)
        ++rank.kept;
      else
        rank.weights.push_back({TaskKind::W, task.stage, task.microbatch});
      return task;
    }
    if (rank.weights.empty())
      return std::nullopt;
    Task task = rank.weights.front();
    rank.weights.pop_front();
    --rank.kept;
    return task;
  }
};

Orders squeeze(const Request &request, Pattern (*pattern)(int32_t p, int32_t r)) {
  int32_t p = request.ranks();
  std::vector<Times> lists;
  int64_t memory = 0;
  for (int32_t rank = 0; rank < p; ++rank) {
    lists.push_back(timesOf(pattern(p, rank), rank, p, request.microbatches()));
    memory = std::max(memory, memoryOf(timesOf(pattern(p, rank), rank, p, 4 * p + 8)));
  }
  Orders best;
  std::optional<int64_t> shortest;
  for (int32_t ahead : {1, 2, 3, 4, 6, 8})
    for (bool weightsFirst : {false, true}) {
      Orders orders;
      std::optional<int64_t> units =
          PatternPlayer(request.pipeline, lists, memory, {ahead, weightsFirst}).play(orders);
      if (!units || (shortest && *units >= *shortest))
        continue;
      shortest = units;
      best = std::move(orders);
    }
  return best;
}
} // namespace

namespace tplan::pipeline::policies {
extern const SchedulePolicy vHalf = {
    .name = "v_half",
    .summary = "two chunks in a V, with half of the activations of 1f1b",
    .placement = Placement::V,
    .order = [](const Request &request) { return squeeze(request, half); }};

extern const SchedulePolicy vMin = {
    .name = "v_min",
    .summary = "two chunks in a V, with a third of the activations of 1f1b",
    .placement = Placement::V,
    .order = [](const Request &request) { return squeeze(request, third); }};
} // namespace tplan::pipeline::policies
