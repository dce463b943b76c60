//===- SearchProblem.cpp - a pipeline and its costs as arrays of numbers -------------===//
#include "lib/Pipeline/SearchProblem.h"
#include "llvm/ADT/STLExtras.h"

using namespace tplan;
using namespace tplan::pipeline;
using namespace tplan::pipeline::searching;

Problem::Problem(const Pipeline &pipeline, const Costs &costs, int32_t memory, bool isCut)
    : ranks(pipeline.ranks()), stages(pipeline.stages()), microbatches(pipeline.microbatches()),
      memory(memory), isCut(isCut), rankOf(pipeline.rankOfStages()) {
  for (int32_t rank = 0; rank < ranks; ++rank)
    chunks.emplace_back(pipeline.chunksOf(rank));
  for (int32_t s = 0; s < stages; ++s) {
    before.push_back(pipeline.before(s));
    after.push_back(pipeline.after(s));
    cost[Forward].push_back(costs.task(TaskKind::F, s));
    cost[Input].push_back(costs.task(isCut ? TaskKind::I : TaskKind::B, s));
    cost[Weight].push_back(isCut ? costs.task(TaskKind::W, s) : 0);
    auto message = [&](int32_t to) {
      return to < 0 || rankOf[to] == rankOf[s] || !costs.message ? 0 : costs.message(s, to);
    };
    down.push_back(message(after.back()));
    up.push_back(message(before.back()));
  }
  forwardAt.assign(stages, 0);
  inputAt.assign(stages, 0);
  for (const Chain &chain : pipeline.getChains()) {
    double at = 0;
    for (int32_t s : chain.stages) {
      forwardAt[s] = at;
      at += cost[Forward][s] + down[s];
    }
    for (int32_t s : llvm::reverse(chain.stages)) {
      inputAt[s] = at;
      at += cost[Input][s] + up[s];
    }
  }
  for (const auto &own : chunks) {
    double work = 0;
    for (int32_t s : own)
      work += cost[Forward][s] + cost[Input][s] + cost[Weight][s];
    most = std::max(most, work);
  }
  setMicrobatches(microbatches);
}

void Problem::setMicrobatches(int32_t count) {
  microbatches = count;
  facts.clear();
  for (int32_t kind = Forward; kind <= (isCut ? Weight : Input); ++kind)
    for (int32_t s = 0; s < stages; ++s)
      for (int32_t m = 0; m < microbatches; ++m)
        facts.push_back({kind, s, m, cost[kind][s]});
}

bool Problem::fits(const Sequence &sequence) const {
  int32_t kept = 0, last = isCut ? Weight : Input;
  for (int32_t task : sequence) {
    int32_t kind = kindOf(task);
    if (kind == Forward && ++kept > memory)
      return false;
    kept -= kind == last;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Playing
//===----------------------------------------------------------------------===//

double OrderTimer::readyAt(int32_t task, int32_t &missing) const {
  int32_t kind = problem.kindOf(task), s = problem.stageOf(task), m = problem.microbatchOf(task);
  double ready = 0;
  missing = -1;
  auto need = [&](int32_t needed, double message) {
    if (ends[needed] < 0)
      missing = missing < 0 ? needed : missing;
    else
      ready = std::max(ready, ends[needed] + message);
  };
  if (kind == Forward) {
    if (int32_t from = problem.before[s]; from >= 0)
      need(problem.number(Forward, from, m), problem.down[from]);
  } else if (kind == Input) {
    need(problem.number(Forward, s, m), 0);
    if (int32_t from = problem.after[s]; from >= 0)
      need(problem.number(Input, from, m), problem.up[from]);
  } else {
    need(problem.number(Input, s, m), 0);
  }
  return missing < 0 ? ready : -1;
}

double OrderTimer::play(const Sequences &orders) {
  std::fill(ends.begin(), ends.end(), -1);
  std::fill(waits.begin(), waits.end(), -1);
  std::fill(next.begin(), next.end(), 0);
  std::fill(freeAt.begin(), freeAt.end(), 0);
  awake.clear();
  for (int32_t rank = problem.ranks; rank-- > 0;)
    awake.push_back(rank);
  int64_t done = 0;
  while (!awake.empty()) {
    int32_t rank = awake.back();
    awake.pop_back();
    const Sequence &order = orders[rank];
    while (next[rank] < static_cast<int32_t>(order.size())) {
      int32_t task = order[next[rank]], missing;
      double ready = readyAt(task, missing);
      if (missing >= 0) {
        waits[missing] = rank;
        break;
      }
      begins[task] = std::max(freeAt[rank], ready);
      freeAt[rank] = ends[task] = begins[task] + problem.costOf(task);
      ++next[rank];
      ++done;
      if (waits[task] >= 0)
        awake.push_back(waits[task]);
    }
  }
  played += done;
  if (done < problem.tasks())
    return kNever;
  double sum = 0, makespan = 0;
  for (double end : freeAt)
    makespan = std::max(makespan, end), sum += end;
  return makespan + 1e-3 * sum / problem.ranks;
}
