//===- ListScheduler.h - an order by rules, going through time ---------------------===//
#ifndef TPLAN_PIPELINE_LISTSCHEDULER_H
#define TPLAN_PIPELINE_LISTSCHEDULER_H

#include "lib/Pipeline/SearchProblem.h"

namespace tplan::pipeline::searching {

/// What a rank does when it could do several things.
struct Rules {
  double patience = 0.5; // how much longer than the wait for F or I a W may take, in parts of W
  // By readiness:
  bool forwardFirst = false; // F before I
  int32_t ahead = -1; // microbatches whose forward a rank may be ahead of its backward, beyond
                      // the number of ranks that follow; -1: as the memory allows
  bool lateChunkFirst = true; // of the F of several chunks
  // Or by time, where `keys` says when the first microbatch is to do F of all stages, then I, and
  // the others follow at a distance:
  std::vector<double> keys = {};
  double distance = 0;
  bool inOrder = true; // in order of time, or what can be done now first
};

/// Rules that are tried.
std::vector<Rules> allRules(const Problem &problem);

/// Goes through time. The rank that is free first does what it can, by its rules.
class ListScheduler {
public:
  ListScheduler(const Problem &problem, const Rules &rules)
      : problem(problem), rules(rules), ends(problem.tasks(), -1), orders(problem.ranks),
        state(problem.ranks), left(problem.tasks()) {
    for (int32_t rank = 0; rank < problem.ranks; ++rank) {
      size_t chunks = problem.chunks[rank].size();
      state[rank].forwards.assign(chunks, 0);
      state[rank].backwards.assign(chunks, 0);
      state[rank].released.assign(chunks, 0);
    }
  }
  /// Empty where the rules lead to ranks that wait for ever.
  Sequences run();

private:
  struct Rank {
    double freeAt = 0;
    int32_t kept = 0;
    std::vector<int32_t> forwards, backwards, released; // done, by chunk
    Sequence weights;                                   // W that can be done, the oldest first
    size_t doneWeights = 0;
    bool hasWeight() const { return doneWeights < weights.size(); }
  };
  struct Chance {
    int32_t task = -1;
    double ready = kNever;
  };
  const Problem &problem;
  const Rules &rules;
  std::vector<double> ends;
  Sequences orders;
  std::vector<Rank> state;
  int32_t left;             // tasks
  int32_t wholeForward = 0; // microbatches that have gone through all stages

  std::vector<Chance> chances;
  double arrivalOf(int32_t kind, int32_t stage, int32_t microbatch) const;
  void findChances(int32_t rank);
  Chance pick(double now) const;
  bool mayGoForward(const Rank &rank, int32_t number, size_t chunk) const;
  bool take(int32_t rank, int32_t task, double begin); // true
  bool step(int32_t rank);
  double keyOf(int32_t task) const;
};

} // namespace tplan::pipeline::searching

#endif // TPLAN_PIPELINE_LISTSCHEDULER_H
