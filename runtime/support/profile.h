//===- profile.h - what the calls of generated code cost ------------------===//
//
// Totals of FLOPs and bytes are always counted; calls and their times only under --profile, and
// from the second step on if there is one, because in the first libraries load code and plan.
//
// One decision: the table is keyed by the address of the tp_call, a constant of
// the program, so that counting is a probe and an addition and never allocates.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_SUPPORT_PROFILE_H
#define TPLAN_RUNTIME_SUPPORT_PROFILE_H

#include "tplan/runtime.h"

#include <cstdio>
#include <vector>

namespace tplan::runtime {

/// Seconds of a clock that never steps back.
double monotonicSeconds();

class Profile {
public:
  struct Entry {
    const tp_call *call = nullptr;
    int64_t count = 0;
    double flops = 0, bytes = 0; // a GPU has done 2^63 operations within hours
    double seconds = 0;
  };

  /// Allocates the table; without it only totals are kept.
  void enable();
  /// Forgets what the table has so far.
  void restart();
  bool enabled() const { return !table.empty(); }

  /// Evaluation, sampling and audits are not counted: the totals are the training's.
  void pause(bool on) { paused = on; }

  /// Counts one call that did its work `times` over; `seconds` is 0 where times are not taken.
  void count(const tp_call &call, double seconds, int64_t times = 1);
  /// Adds the time of a call that has been counted.
  void addTime(const tp_call &call, double seconds);

  /// What has been counted so far. `repeat` counts the difference of two such totals once more, for
  /// work that is replayed.
  struct Totals {
    Entry of[TP_CATEGORIES];
  };
  Totals totalsNow() const;
  void repeat(const Totals &before, const Totals &after);
  /// Takes earlier totals for those of now.
  void restore(const Totals &before);

  /// Totals of a category since the start.
  const Entry &total(tp_category category) const { return totals[category]; }

  /// Prints seconds, share, GFLOP/s and GB/s by category and by call, of what the table has.
  void print(FILE *to, double wallSeconds) const;
  /// Prints one line: FLOPs and bytes of all calls, per step.
  void printTotals(FILE *to, int64_t steps) const;

private:
  Entry &entryOf(const tp_call &call);

  Entry totals[TP_CATEGORIES];
  std::vector<Entry> table;
  Entry overflow[TP_CATEGORIES]; // calls beyond the table
  int64_t used = 0;
  bool paused = false;
};

/// Times one call from its construction to its end, where times are taken.
class CallTimer {
public:
  CallTimer(Profile &profile, const tp_call *call)
      : profile(profile), call(call), start(profile.enabled() ? monotonicSeconds() : 0) {}
  ~CallTimer() {
    if (call)
      profile.count(*call, profile.enabled() ? monotonicSeconds() - start : 0);
  }

private:
  Profile &profile;
  const tp_call *call;
  const double start;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_SUPPORT_PROFILE_H
