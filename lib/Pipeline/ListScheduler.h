//===- ListScheduler.h - an order by rules, going through time ---------------------===//
#ifndef TPLAN_PIPELINE_LISTSCHEDULER_H
#define TPLAN_PIPELINE_LISTSCHEDULER_H

#include "lib/Pipeline/SearchProblem.h"
#include <algorithm>

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

/// A time for each rank, of which the least is asked all the time: by lanes, so that no comparison
/// waits for the one before.
class Times {
public:
  explicit Times(int32_t ranks) : times((ranks + kLanes - 1) / kLanes * kLanes, kNever) {
    std::fill_n(times.begin(), ranks, 0);
  }
  double &operator[](int32_t rank) { return times[rank]; }
  double leastAfter(double now) const {
    return least([=](double time) { return time > now ? time : kNever; });
  }
  /// The first rank that has the least time, or -1: all are never.
  int32_t first() const {
    double found = least([](double time) { return time; });
    return found == kNever ? -1 : std::find(times.begin(), times.end(), found) - times.begin();
  }

private:
  static constexpr size_t kLanes = 4;
  std::vector<double> times; // filled up with never

  template <typename Of> double least(Of of) const {
    double found[kLanes] = {kNever, kNever, kNever, kNever};
    for (size_t i = 0; i < times.size(); i += kLanes)
      for (size_t lane = 0; lane < kLanes; ++lane) {
        double time = of(times[i + lane]);
        found[lane] = time < found[lane] ? time : found[lane];
      }
    return std::min(std::min(found[0], found[1]), std::min(found[2], found[3]));
  }
};

/// Goes through time. The rank that is free first does what it can, by its rules.
class ListScheduler {
public:
  ListScheduler(const Problem &problem, const Rules &rules)
      : problem(problem), rules(rules), ends(problem.tasks(), -1), orders(problem.ranks),
        state(problem.ranks), freeAt(problem.ranks), left(problem.tasks()) {
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
  Times freeAt;             // of each rank
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
