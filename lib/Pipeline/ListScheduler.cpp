//===- ListScheduler.cpp - an order by rules, going through time -------------------===//
//
// The rank that is free first takes what it can do, F and I by a rule and W where neither can be
// done soon. No rank starts a microbatch that could then find no place to end in, so the memory is
// never exceeded and ranks never wait for ever.
//
//===----------------------------------------------------------------------===//
#include "lib/Pipeline/ListScheduler.h"
#include "llvm/ADT/STLExtras.h"
#include <array>
#include <tuple>

using namespace tplan;
using namespace tplan::pipeline;
using namespace tplan::pipeline::searching;

double ListScheduler::keyOf(int32_t task) const {
  return problem.microbatchOf(task) * rules.distance +
         rules.keys[problem.kindOf(task) * problem.stages + problem.stageOf(task)];
}

/// A microbatch that has begun must be able to end. Those that have gone forward everywhere need
/// no more places and give back what they have; so without one of these on the rank, places are
/// kept for later chunks.
bool ListScheduler::mayGoForward(const Rank &rank, int32_t number, size_t chunk) const {
  const auto &chunks = problem.chunks[number];
  auto later = static_cast<int32_t>(chunks.size() - 1 - chunk);
  if (rank.kept >= problem.memory)
    return false;
  if (rank.kept + later >= problem.memory) {
    int32_t comeBack = 0;
    for (size_t i = 0; i < chunks.size() && comeBack < later; ++i)
      comeBack += std::max(0, std::min(rank.forwards[i], wholeForward) - rank.released[i]);
    if (comeBack < later)
      return false;
  }
  if (rules.ahead < 0 || chunk + 1 < chunks.size())
    return true;
  int32_t follow = problem.ranks - 1 - number;
  return rank.forwards[chunk] - rank.backwards[chunk] <=
         (chunks.size() > 1 ? number : follow) + rules.ahead;
}

/// When the results of the tasks that come before are on the rank; never where that is not known.
double ListScheduler::arrivalOf(int32_t kind, int32_t s, int32_t m) const {
  const std::vector<int32_t> &from = kind == Forward ? problem.before : problem.after;
  if (from[s] < 0)
    return 0;
  double end = ends[problem.number(kind, from[s], m)];
  return end < 0 ? kNever : end + (kind == Forward ? problem.down : problem.up)[from[s]];
}

/// The next F and I of each chunk of a rank, except what the memory or the rules forbid.
void ListScheduler::findChances(int32_t number) {
  const Rank &rank = state[number];
  const auto &chunks = problem.chunks[number];
  chances.clear();
  for (size_t i = 0; i < chunks.size(); ++i) {
    size_t chunk = rules.lateChunkFirst ? chunks.size() - 1 - i : i;
    int32_t s = chunks[chunk], forward = rank.forwards[chunk], input = rank.backwards[chunk];
    if (forward < problem.microbatches && mayGoForward(rank, number, chunk))
      chances.push_back({problem.number(Forward, s, forward), arrivalOf(Forward, s, forward)});
    if (input < forward)
      chances.push_back(
          {problem.number(Input, s, input),
           std::max(arrivalOf(Input, s, input), ends[problem.number(Forward, s, input)])});
  }
}

/// What a rank should do next, whether it can be done now or not.
ListScheduler::Chance ListScheduler::pick(double now) const {
  Chance best;
  std::pair<double, double> least; // less is better
  for (const Chance &chance : chances) {
    double ready = std::max(chance.ready, now);
    std::pair<double, double> key(ready, 0);
    if (!rules.keys.empty())
      key = {rules.inOrder ? 0 : ready, keyOf(chance.task)};
    else
      key.second = (problem.kindOf(chance.task) == Forward) == rules.forwardFirst ? 0 : 1;
    if (best.task < 0 || key < least)
      best = chance, least = key;
  }
  return best;
}

bool ListScheduler::take(int32_t number, int32_t task, double begin) {
  Rank &rank = state[number];
  int32_t kind = problem.kindOf(task), s = problem.stageOf(task);
  size_t chunk = llvm::find(problem.chunks[number], s) - problem.chunks[number].begin();
  ends[task] = freeAt[number] = begin + problem.costOf(task);
  orders[number].push_back(task);
  if (kind == Forward) {
    ++rank.kept;
    ++rank.forwards[chunk];
    wholeForward += problem.after[s] < 0;
  } else if (kind == Input) {
    ++rank.backwards[chunk];
    if (problem.isCut)
      rank.weights.push_back(problem.number(Weight, s, problem.microbatchOf(task)));
  } else {
    ++rank.doneWeights;
  }
  if (kind == (problem.isCut ? Weight : Input)) {
    --rank.kept;
    ++rank.released[chunk];
  }
  --left;
  return true;
}

/// False where the rank can do nothing before others have gone on.
bool ListScheduler::step(int32_t number) {
  Rank &rank = state[number];
  double now = freeAt[number];
  findChances(number);
  Chance next = pick(now);
  if (next.ready <= now)
    return take(number, next.task, now);
  if (rank.hasWeight()) {
    int32_t weight = rank.weights[rank.doneWeights];
    if (next.ready - now >= problem.costOf(weight) * (1 - rules.patience) - 1e-12)
      return take(number, weight, now);
  }
  // Something that is not known yet may come before what is.
  double others = freeAt.leastAfter(now);
  if (next.ready < kNever && next.ready <= others)
    return take(number, next.task, next.ready);
  if (others == kNever)
    return false;
  freeAt[number] = others;
  return true;
}

Sequences ListScheduler::run() {
  Times untried(problem.ranks); // never, of ranks that could do nothing
  while (left) {
    untried = freeAt;
    for (bool moved = false; !moved;) {
      int32_t rank = untried.first();
      if (rank < 0)
        return {};
      untried[rank] = kNever;
      moved = step(rank);
    }
  }
  return std::move(orders);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// Times of the first microbatch, if from one stage to the next it takes so many parts of `grid`,
/// forward and back in each half of the stages, but not less than the task and the message.
static std::vector<double> keysFor(const Problem &problem, double grid, std::array<int, 2> forward,
                                   std::array<int, 2> input) {
  int32_t n = problem.stages;
  std::vector<double> keys(2 * n);
  double at = 0;
  for (int32_t s = 0; s < n; ++s) {
    keys[s] = at;
    at += std::max(grid * forward[2 * s >= n], problem.cost[Forward][s] + problem.down[s]);
  }
  for (int32_t s = n; s-- > 0;) {
    keys[n + s] = at;
    at += std::max(grid * input[2 * s >= n], problem.cost[Input][s] + problem.up[s]);
  }
  return keys;
}

std::vector<Rules> searching::allRules(const Problem &problem) {
  std::vector<Rules> all;
  for (bool forwardFirst : {false, true})
    for (int32_t ahead : {-1, 0, 1, 2, problem.ranks / 2, problem.ranks})
      for (bool lateChunkFirst : {true, false})
        for (double patience : {0.0, 0.5, 1.0})
          all.push_back({patience, forwardFirst, ahead, lateChunkFirst});
  for (double distance : {1.0, 1.1, 1.2, 1.5, 2.0, 3.0})
    for (double patience : {0.0, 0.5, 1.0})
      all.push_back({.patience = patience,
                     .keys = keysFor(problem, 0, {0, 0}, {0, 0}),
                     .distance = distance * problem.most});
  double grid = problem.most / (3 * static_cast<double>(problem.chunks[0].size()));
  size_t spread = all.size();
  for (bool inOrder : {false, true})
    for (int f0 : {0, 2, 3, 4})
      for (int f1 : {0, 2, 3, 4})
        for (int i1 : {0, 2, 3, 4})
          for (int i0 : {0, 2, 3, 4})
            all.push_back({.keys = keysFor(problem, grid, {f0, f1}, {i0, i1}),
                           .distance = problem.most,
                           .inOrder = inOrder});
  // The first forwards may be ahead of their time.
  for (size_t i = spread, e = all.size(); i < e; i += 3)
    for (double early : {0.5, 1.0, 2.0, 4.0, 8.0}) {
      Rules rules = all[i];
      for (int32_t s = 0; s < problem.ranks; ++s)
        rules.keys[s] -= early * problem.most;
      all.push_back(std::move(rules));
    }
  return all;
}
