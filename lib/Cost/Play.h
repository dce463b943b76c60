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
#include <vector>

namespace tplan::cost {

/// When a channel, which its axes name, does something.
struct Span {
  std::string channel;
  double begin, end;
};

class Play {
public:
  /// Adds what is started to a list, in the order of the starts; null: does not.
  explicit Play(std::vector<Span> *spans = nullptr) : spans(spans) {}
  void work(rt::Category category, double seconds) {
    now += seconds;
    spent.work[category] += seconds;
  }
  /// Work whose parts are known: it is waited for.
  void work(const Spent &all) {
    now += all.seconds();
    spent += all;
  }
  /// When the last collective of a channel is done for which another channel waits.
  struct After {
    std::string axes;
    double end;
  };
  /// What the channel of a group does, from now on, when it is free, and `after` another channel.
  /// Returns when it is done.
  double start(const std::string &axes, double seconds, mlir::Operation *op, const After &after) {
    Channel &channel = channels[axes];
    double free = std::max(channel.free, now), begin = std::max(free, after.end);
    channel.free = begin + seconds;
    channel.jobs.push_back({begin, channel.free, op, free, after.axes});
    if (spans)
      spans->push_back({axes, begin, channel.free});
    spent.hidden[axes] += seconds;
    spent.exchanges[op].seconds += seconds;
    return channel.free;
  }
  double start(const std::string &axes, double seconds, mlir::Operation *op) {
    return start(axes, seconds, op, {"", 0});
  }
  /// The compute units wait until then for the channel of the group, or for another channel while
  /// that one waits for it. What else is under way meanwhile is not hidden, either.
  void await(const std::string &axes, double until) {
    if (until <= now)
      return;
    std::map<std::string, double> waits = {{axes, until - now}}; // by channel
    for (const Job &job : channels[axes].jobs) {
      double begin = std::max(now, job.free), end = std::min(until, job.begin);
      if (begin >= end)
        continue;
      waits[job.heldBy] += end - begin;
      waits[axes] -= end - begin;
    }
    for (auto &[each, channel] : channels) {
      double runs = 0, waited = waits[each];
      for (const Job &job : channel.jobs) {
        double seconds = std::max(0.0, std::min(until, job.end) - std::max(now, job.begin));
        spent.exchanges[job.op].waited += seconds;
        runs += seconds;
      }
      if (waited > 0)
        spent.communication[each] += waited;
      if (runs > waited)
        spent.besideWaits[each] += runs - waited;
      if (waited > 0 || runs > 0)
        spent.hidden[each] -= std::max(runs, waited);
    }
    now = until;
    for (auto &[each, channel] : channels)
      while (!channel.jobs.empty() && channel.jobs.front().end <= now)
        channel.jobs.pop_front();
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
    double free;        // when its channel was
    std::string heldBy; // the channel for which it waited from then on
  };
  struct Channel {
    double free = 0;
    std::deque<Job> jobs; // that may not be done yet, in order
  };
  double now = 0;
  std::map<std::string, Channel> channels; // by axes
  Spent spent;
  std::vector<Span> *spans;
};

} // namespace tplan::cost

#endif // TPLAN_COST_PLAY_H
