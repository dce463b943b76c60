//===- SearchProblem.h - a pipeline and its costs as arrays of numbers ---------------===//
//
// The search plays orders some hundred thousand times, so tasks are numbers here and everything is
// looked up in arrays.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PIPELINE_SEARCHPROBLEM_H
#define TPLAN_PIPELINE_SEARCHPROBLEM_H

#include "lib/Pipeline/Pipeline.h"
#include <limits>

namespace tplan::pipeline::searching {

constexpr double kNever = std::numeric_limits<double>::infinity();

enum Kind : int32_t { Forward, Input, Weight }; // Input is the whole backward where it is not cut
using Sequence = std::vector<int32_t>;          // tasks of a rank, by number
using Sequences = std::vector<Sequence>;

/// A pipeline with its costs, as arrays by stage.
struct Problem {
  int32_t ranks, stages, microbatches, memory;
  bool isCut; // backwards into Input and Weight
  std::vector<int32_t> rankOf, before, after;
  std::vector<std::vector<int32_t>> chunks; // by rank
  std::vector<double> cost[3];
  std::vector<double> down, up; // messages of a stage's results
  /// When a microbatch that nothing keeps waiting is there, after it has begun: for F, and for I.
  std::vector<double> forwardAt, inputAt;
  double most = 0; // of the work that a rank has for one microbatch

  Problem(const Pipeline &pipeline, const Costs &costs, int32_t memory, bool isCut);
  void setMicrobatches(int32_t count);
  int32_t tasks() const { return (isCut ? 3 : 2) * stages * microbatches; }
  int32_t number(int32_t kind, int32_t stage, int32_t microbatch) const {
    return (kind * stages + stage) * microbatches + microbatch;
  }
  int32_t kindOf(int32_t task) const { return facts[task].kind; }
  int32_t stageOf(int32_t task) const { return facts[task].stage; }
  int32_t microbatchOf(int32_t task) const { return facts[task].microbatch; }
  double costOf(int32_t task) const { return facts[task].cost; }
  /// Whether a rank that does these tasks keeps no more than it may.
  bool fits(const Sequence &sequence) const;

private:
  struct Fact {
    int32_t kind, stage, microbatch;
    double cost;
  };
  std::vector<Fact> facts; // by task, because divisions would be most of a search
};

/// Times orders of one problem.
class OrderTimer {
public:
  explicit OrderTimer(const Problem &problem)
      : problem(problem), ends(problem.tasks()), begins(problem.tasks()), waits(problem.tasks()),
        next(problem.ranks), freeAt(problem.ranks) {}

  /// What is made small: the makespan, and a little of the ends of all ranks, so that a move that
  /// helps one of several ranks counts. Infinite where ranks wait for ever.
  double play(const Sequences &orders);
  double beginOf(int32_t task) const { return begins[task]; }
  double endOf(int32_t task) const { return ends[task]; }
  /// When what a task needs is on its rank, or -1; the first task that is missing.
  double readyAt(int32_t task, int32_t &missing) const;
  int64_t getPlayed() const { return played; }

private:
  const Problem &problem;
  std::vector<double> ends, begins; // or -1
  std::vector<int32_t> waits;       // the rank that waits for a task, or -1
  std::vector<int32_t> next;
  std::vector<double> freeAt;
  std::vector<int32_t> awake; // ranks
  int64_t played = 0;
};

} // namespace tplan::pipeline::searching

#endif // TPLAN_PIPELINE_SEARCHPROBLEM_H
