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
  double start(const std::string &axes, double seconds) {
    double &channel = channels[axes];
    channel = std::max(channel, now) + seconds;
    spent.hidden[axes] += seconds;
    return channel;
  }
  /// The compute units wait until then for the channel of the group.
  void await(const std::string &axes, double until) {
    double waits = std::max(0.0, until - now);
    now += waits;
    spent.communication[axes] += waits;
    spent.hidden[axes] -= waits;
  }
  /// Waits for all channels.
  void finish() {
    for (auto &[axes, until] : channels)
      await(axes, until);
  }
  double getNow() const { return now; }
  const Spent &getSpent() const { return spent; }

private:
  double now = 0;
  std::map<std::string, double> channels; // when each is free
  Spent spent;
};

} // namespace tplan::cost

#endif // TPLAN_COST_PLAY_H
