//===- Search.cpp - a schedule for given costs, found rather than written ----------===//
//
// Lists orders by many rules; changes the times by which the best are listed; moves single tasks of
// the best of these. Changes stay that make the step shorter, or longer by little for a while.
//
//===----------------------------------------------------------------------===//
#include "lib/Pipeline/Search.h"
#include "lib/Pipeline/ListScheduler.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <array>
#include <optional>
#include <random>

using namespace tplan;
using namespace tplan::pipeline;
using namespace tplan::pipeline::searching;

namespace {

/// How many tasks are played, which bounds the time of a search.
constexpr int64_t kPlayed = 600'000; // for each task
constexpr int64_t kLeastPlayed = 60'000'000, kMostPlayed = 160'000'000;
/// Listing a task takes as long as playing it so many times.
constexpr int64_t kListed = 12;

/// Numbers that follow each other alike on each machine.
class Random {
public:
  explicit Random(uint64_t start) : next(start) {}
  size_t below(size_t n) { return next() % n; }
  bool coin() { return next() & 1; }
  /// Whether a step that is longer by `by` stays a while: up to `heat`, the less the rather. There
  /// is no exponential, because its last bit differs from one library to another.
  bool keeps(double by, double heat) {
    double part = static_cast<double>(next() >> 11) * 0x1p-53;
    return by <= 3 * heat * part * part * part;
  }

private:
  std::mt19937_64 next;
};

/// One of the ways in which stages may lie and backwards be cut. Rules know no number of
/// microbatches, so they are tried with fewer.
struct Way {
  const Pipeline *pipeline;
  Problem whole, few;
  Way(const Pipeline &pipeline, const Costs &costs, int32_t memory, bool isCut)
      : pipeline(&pipeline), whole(pipeline, costs, memory, isCut), few(whole) {
    few.setMicrobatches(std::min(whole.microbatches, std::max(12, 2 * whole.ranks)));
  }
};

struct Found {
  double value = kNever;
  Sequences orders;
  Rules rules;
  const Way *way = nullptr;
};

//===----------------------------------------------------------------------===//
// Other times
//===----------------------------------------------------------------------===//

/// Changes the times by which tasks are listed: of one task in all microbatches, or of it and all
/// that follow; keeps what makes the step no longer.
class KeySearch {
public:
  explicit KeySearch(const Problem &problem) : problem(problem), player(problem) {}
  /// Tries so many changes.
  void improve(Found &found, int64_t tries);

private:
  const Problem &problem;
  OrderTimer player;
  Random random{1};
  void change(Rules &rules);
};

void KeySearch::change(Rules &rules) {
  size_t n = rules.keys.size(), at = random.below(n);
  double size = problem.most * std::array{0.05, 0.15, 0.5, 1.0}[random.below(4)];
  double by = random.coin() ? size : -size;
  switch (random.below(10)) {
  case 8:
  case 9: { // all F or I of a half of the stages
    size_t quarter = n / 4, first = at / quarter * quarter;
    for (size_t i = first; i < std::min(first + quarter, n); ++i)
      rules.keys[i] += by;
    return;
  }
  case 0:
    rules.patience = static_cast<double>(random.below(5)) / 4;
    return;
  case 1:
    rules.inOrder = !rules.inOrder;
    return;
  case 2:
  case 3:
  case 4: { // all that a microbatch does from there on
    double from = rules.keys[at];
    for (double &key : rules.keys)
      key += key >= from ? by : 0;
    return;
  }
  default:
    rules.keys[at] += by;
  }
}

void KeySearch::improve(Found &found, int64_t tries) {
  if (found.rules.keys.empty())
    return;
  Found now = found;
  double heat = 0.003 * found.value;
  for (int64_t i = 0; i < tries; ++i) {
    Found next;
    next.rules = now.rules;
    next.way = now.way;
    change(next.rules);
    next.orders = ListScheduler(problem, next.rules).run();
    if (next.orders.empty())
      continue;
    next.value = player.play(next.orders);
    double left = 1 - static_cast<double>(i) / static_cast<double>(tries);
    if (!random.keeps(next.value - now.value, heat * left))
      continue;
    now = std::move(next);
    if (now.value < found.value)
      found = now;
  }
}

//===----------------------------------------------------------------------===//
// Other places
//===----------------------------------------------------------------------===//

/// Moves tasks of an order to other places of their rank.
class Improver {
public:
  Improver(const Problem &problem, Sequences orders)
      : problem(problem), player(problem), now(std::move(orders)), random(2) {
    value = bestValue = player.play(now);
    best = now;
  }
  /// Plays so many tasks. `heat`: by which part of a step a move may make it longer at first.
  void run(int64_t budget, double heat);
  double getBest() const { return bestValue; }
  Sequences takeBest() { return std::move(best); }

private:
  struct Move {
    int32_t rank;
    size_t from, to;
  };
  const Problem &problem;
  OrderTimer player;
  Sequences now, best;
  double value, bestValue;
  Random random;

  std::optional<Move> choose();
  bool isLegal(const Sequence &order, size_t from, size_t to) const;
  static void apply(Sequence &order, size_t from, size_t to) {
    if (from < to)
      std::rotate(order.begin() + from, order.begin() + from + 1, order.begin() + to + 1);
    else
      std::rotate(order.begin() + to, order.begin() + from, order.begin() + from + 1);
  }
};

/// A task passes no other one that it needs, or that needs it, and of those of its kind and stage
/// none: messages come in the order in which they are sent, and gradients are added up in the order
/// of microbatches, whatever the schedule.
bool Improver::isLegal(const Sequence &order, size_t from, size_t to) const {
  int32_t task = order[from], kind = problem.kindOf(task), s = problem.stageOf(task),
          m = problem.microbatchOf(task);
  for (size_t i = std::min(from, to); i <= std::max(from, to); ++i)
    if (int32_t other = order[i];
        i != from && problem.stageOf(other) == s &&
        (problem.microbatchOf(other) == m || problem.kindOf(other) == kind))
      return false;
  return true;
}

/// Half of the moves bring a later task to where a rank waits, if it could begin there; the others
/// are to anywhere near.
std::optional<Improver::Move> Improver::choose() {
  auto rank = static_cast<int32_t>(random.below(problem.ranks));
  const Sequence &order = now[rank];
  if (order.size() < 2)
    return std::nullopt;
  size_t at = random.below(order.size());
  constexpr size_t kFar = 12;
  if (random.coin()) {
    size_t to = at;
    while (to < order.size() &&
           player.beginOf(order[to]) <= (to ? player.endOf(order[to - 1]) : 0) + 1e-12)
      ++to;
    if (to + 1 >= order.size())
      return std::nullopt;
    size_t from = to + 1 + random.below(std::min(order.size() - to - 1, kFar));
    return isLegal(order, from, to) ? std::optional(Move{rank, from, to}) : std::nullopt;
  }
  size_t far = 1 + random.below(kFar), to = random.coin() ? at + far : at - std::min(at, far);
  to = std::min(to, order.size() - 1);
  return to == at || !isLegal(order, at, to) ? std::nullopt : std::optional(Move{rank, at, to});
}

void Improver::run(int64_t budget, double heat) {
  int64_t begin = player.getPlayed();
  heat *= bestValue;
  while (player.getPlayed() - begin < budget) {
    double left = 1 - static_cast<double>(player.getPlayed() - begin) / static_cast<double>(budget);
    std::optional<Move> move = choose();
    if (!move) {
      --budget; // a step, too
      continue;
    }
    Sequence &order = now[move->rank];
    apply(order, move->from, move->to);
    double moved = problem.fits(order) ? player.play(now) : kNever;
    if (moved == kNever)
      budget -= 1 + order.size() / 4; // looking at it is work, too
    bool stays = random.keeps(moved - value, heat * left * left);
    if (moved == kNever || !stays) {
      apply(order, move->to, move->from);
      continue;
    }
    value = moved;
    if (value < bestValue - 1e-12) {
      bestValue = value;
      best = now;
    }
  }
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// The best of those that differ; of those that do not, the first.
std::vector<Found> bestOf(std::vector<Found> found, size_t most) {
  std::vector<std::pair<double, size_t>> byValue;
  for (auto [i, each] : llvm::enumerate(found))
    byValue.push_back({each.value, i});
  llvm::sort(byValue);
  std::vector<Found> best;
  for (auto [value, i] : byValue)
    if (best.size() < most && (best.empty() || best.back().value != value))
      best.push_back(std::move(found[i]));
  return best;
}

/// What rules give; those that let ranks wait for ever give nothing.
std::optional<Found> list(const Problem &problem, const Way &way, Rules rules) {
  Sequences orders = ListScheduler(problem, rules).run();
  if (orders.empty())
    return std::nullopt;
  double value = OrderTimer(problem).play(orders);
  return Found{value, std::move(orders), std::move(rules), &way};
}

/// The orders of all rules; the best of them with other times; the best of these with other places
/// of single tasks.
Found searchIn(const std::vector<Way> &ways, int64_t budget) {
  constexpr size_t kChanged = 8, kMoved = 4; // the first of each way
  std::vector<Found> all;
  for (const Way &way : ways) {
    std::vector<Found> found;
    for (Rules &rules : allRules(way.few))
      if (std::optional<Found> listed = list(way.few, way, std::move(rules)))
        found.push_back(std::move(*listed));
    int64_t tries = budget / 3 / kListed / way.few.tasks() / (kChanged * ways.size());
    for (Found &each : bestOf(std::move(found), kChanged)) {
      KeySearch(way.few).improve(each, tries);
      if (std::optional<Found> listed = list(way.whole, way, std::move(each.rules)))
        all.push_back(std::move(*listed));
    }
  }
  // Cold moves end what is good already, warm ones leave what is good only nearby.
  constexpr double kHeats[] = {0.001, 0.005, 0.02, 0.06};
  Found best;
  for (Found &each : bestOf(std::move(all), kMoved)) {
    const Problem &problem = each.way->whole;
    KeySearch(problem).improve(each, budget / 3 / kListed / problem.tasks() / kMoved);
    for (double heat : kHeats) {
      Improver improver(problem, each.orders);
      improver.run(budget / 9 / kMoved, heat);
      if (improver.getBest() < best.value)
        best = {improver.getBest(), improver.takeBest(), {}, each.way};
    }
  }
  return best;
}

/// Whether a backward in one is faster anywhere than in two.
bool gainsWhole(const Pipeline &pipeline, const Costs &costs) {
  for (int32_t s = 0; s < pipeline.stages(); ++s)
    if (costs.task(TaskKind::B, s) <
        (costs.task(TaskKind::I, s) + costs.task(TaskKind::W, s)) * (1 - 1e-9))
      return true;
  return false;
}

Orders ordersOf(const Problem &problem, const Sequences &sequences) {
  Orders orders;
  for (const Sequence &sequence : sequences) {
    RankOrder &order = orders.emplace_back();
    for (int32_t task : sequence) {
      int32_t kind = problem.kindOf(task);
      order.push_back({kind == Forward  ? TaskKind::F
                       : kind == Weight ? TaskKind::W
                       : problem.isCut  ? TaskKind::I
                                        : TaskKind::B,
                       problem.stageOf(task), problem.microbatchOf(task)});
    }
  }
  return orders;
}

} // namespace

Scheduled tplan::pipeline::search(llvm::ArrayRef<Pipeline> pipelines, const Costs &costs,
                                  int32_t memory) {
  std::vector<Way> ways;
  for (const Pipeline &pipeline : pipelines)
    ways.emplace_back(pipeline, costs, memory, /*isCut=*/true);
  for (const Pipeline &pipeline : pipelines)
    if (gainsWhole(pipeline, costs))
      ways.emplace_back(pipeline, costs, memory, /*isCut=*/false);
  int64_t budget = std::clamp(kPlayed * ways[0].whole.tasks(), kLeastPlayed, kMostPlayed);
  Found best = searchIn(ways, budget);
  return {*best.way->pipeline, ordersOf(best.way->whole, best.orders)};
}

double tplan::pipeline::lowerBound(const Pipeline &pipeline, const Costs &costs, int32_t memory) {
  Problem problem(pipeline, costs, memory, /*isCut=*/true);
  auto microbatches = static_cast<double>(problem.microbatches);
  double bound = 0;
  for (int32_t rank = 0; rank < problem.ranks; ++rank) {
    double work = 0, most = 0, kept = 0, first = kNever, firstBackward = kNever;
    for (int32_t s : problem.chunks[rank]) {
      double backward =
          std::min(problem.cost[Input][s] + problem.cost[Weight][s], costs.task(TaskKind::B, s));
      work += microbatches * (problem.cost[Forward][s] + backward);
      most = std::max(most, problem.cost[Forward][s]);
      first = std::min(first, problem.forwardAt[s]);
      firstBackward = std::min(firstBackward, problem.inputAt[s]);
      kept += problem.inputAt[s] + backward - problem.forwardAt[s];
    }
    // Until its first backward, a rank can only go forward, as far as the memory allows.
    double ahead = most * std::min<double>(memory, microbatches * problem.chunks[rank].size());
    bound =
        std::max({bound, first + work, firstBackward + work - ahead, microbatches * kept / memory});
  }
  return bound;
}
