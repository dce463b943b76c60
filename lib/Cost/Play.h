//===- Play.h - work that runs beside other work, in time -------------------===//
//
// The compute units do one call after the other, and the channel of each group one collective after
// the other. What is started goes to its channel and costs the compute units nothing until it is
// awaited: then they wait for what is left of it.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_COST_PLAY_H
#define TPLAN_COST_PLAY_H

#include "lib/Cost/Spent.h"
#include <deque>

namespace tplan::cost {

class Play {
public:
  void work(rt::Category category, double seconds) {
    now += seconds;
    spent.work[category] += seconds;
  }
  /// Work whose parts are known: it is waited for.
  void work(const Spent &all) {
    now += all.seconds();
    spent += all;
  }
  /// What the channel of a group does, from now on or when it is free. Returns when it is done.
  double start(const std::string &axes, double seconds, mlir::Operation *op) {
    Channel &channel = channels[axes];
    double begin = std::max(channel.free, now);
    channel.free = begin + seconds;
    channel.jobs.push_back({begin, channel.free, op});
    spent.hidden[axes] += seconds;
    spent.exchanges[op].seconds += seconds;
    return channel.free;
  }
  /// The compute units wait until then for the channel of the group, for each job while it runs.
  void await(const std::string &axes, double until) {
    double waits = until - now;
    if (waits <= 0)
      return;
    spent.communication[axes] += waits;
    spent.hidden[axes] -= waits;
    auto &jobs = channels[axes].jobs;
    for (const Job &job : jobs)
      spent.exchanges[job.op].waited +=
          std::max(0.0, std::min(until, job.end) - std::max(now, job.begin));
    now = until;
    while (!jobs.empty() && jobs.front().end <= now)
      jobs.pop_front();
  }
  /// Waits for all channels.
  void finish() {
    for (auto &[axes, channel] : channels)
      await(axes, channel.free);
  }
  double getNow() const { return now; }
  const Spent &getSpent() const { return spent; }

private:
  struct Job {
    double begin, end;
    mlir::Operation *op;
  };
  struct Channel {
    double free = 0;
    std::deque<Job> jobs; // that may not be done yet, in order
  };
  double now = 0;
  std::map<std::string, Channel> channels; // by axes
  Spent spent;
};

} // namespace tplan::cost

#endif // TPLAN_COST_PLAY_H
