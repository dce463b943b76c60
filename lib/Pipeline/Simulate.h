//===- Simulate.h - how long an order takes, and what it keeps -------------------===//
#ifndef TPLAN_PIPELINE_SIMULATE_H
#define TPLAN_PIPELINE_SIMULATE_H

#include "lib/Pipeline/Pipeline.h"

namespace tplan::pipeline {

struct Timed {
  Task task;
  double begin, end;
};

struct Simulation {
  double makespan = 0;
  std::vector<std::vector<Timed>> tasks; // by rank, in its order
  std::vector<double> busy;              // by rank
  std::vector<double> ends;              // by rank: when it has done its last task or message
  /// Idle between a rank's first task and its last.
  std::vector<double> idleInside;
  /// 1 - busy / (ranks x makespan)
  double bubbleRatio = 0;
  /// By rank, of what it has started with the messages of its tasks: how long that went on before
  /// these tasks began, and how much longer they take because it goes on.
  std::vector<double> besideWaits, delays;
  /// By rank: when its messages are on the way, by the rank that receives them.
  std::vector<std::map<int32_t, std::vector<Timed>>> messages;
  /// By rank: what it has started while it waited for others, each named by the task for which that
  /// was.
  std::vector<std::vector<Timed>> ahead;
};

/// Plays an order that has been checked: a rank does its next task as soon as it is free and has
/// what the task needs. A message takes its time, with what its ends do for it, and keeps no rank
/// busy; tasks that are done as one begin when all can, and take as long as they do together. Where
/// the order has messages (see placeMessages), a send and its receive wait for each other, and keep
/// both ranks until the message has come; they count as idle time. Messages that are started keep a
/// rank at their awaits alone: each has come when both ends have been posted and those before it in
/// its channel have come.
Simulation simulate(const Orders &orders, const Pipeline &pipeline, const Costs &costs);

/// The most activations that a rank keeps at a time, in chunks of one microbatch: from the begin of
/// F to the end of W (or B), or of I (or B). Of tasks that are done as one, F comes first.
enum class KeptUntil { Weights, Inputs };
std::vector<int64_t> countKept(const Orders &orders, KeptUntil until);

} // namespace tplan::pipeline

#endif // TPLAN_PIPELINE_SIMULATE_H
