//===- Play.h - work that runs beside other work, in time -------------------===//
//
// The compute units do one call after the other, and the channel of each group one collective after
// the other. What is started goes to its channel and costs the compute units nothing until it is
// awaited: then they wait for what is left of it.
//
// One decision: what runs at the same time shares what it needs. Channels whose groups cross the
// same kind of link, inside a node or between nodes, have equal parts of it; and where all that
// runs asks for more of the device's memory than there is, each gets as much less. So a collective
// takes longer beside another one, and a kernel beside a collective, and nobody knows when
// something that is started will be done before the time has come.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_COST_PLAY_H
#define TPLAN_COST_PLAY_H

#include "lib/Cost/Spent.h"
#include <deque>
#include <optional>
#include <vector>

namespace tplan::cost {

/// When a channel, which its axes name, does something.
struct Span {
  std::string channel;
  double begin, end;
};

/// A collective, alone.
struct Load {
  std::string axes; // of its group
  double seconds = 0;
  bool betweenNodes = false;
  double memory = 0; // the share of the device's memory bandwidth that it takes
};

class Play {
public:
  /// What has been started, by number.
  using Job = size_t;
  /// Adds what is started to a list, when it is done; null: does not.
  explicit Play(std::vector<Span> *spans = nullptr) : spans(spans) {}

  /// `memory`: the share of the device's memory bandwidth that it takes, alone.
  void work(rt::Category category, double seconds, double memory);
  /// Work whose parts are known: it is waited for.
  void work(const Spent &all);
  /// What a channel does when it has done all before, and another job is done.
  Job start(const Load &load, mlir::Operation *op, std::optional<Job> after = std::nullopt);
  /// The compute units wait until it is done. What else is under way meanwhile is not hidden,
  /// either.
  void await(Job job);
  /// Waits for all channels.
  void finish();
  double getNow() const { return now; }
  bool isDone(Job job) const { return jobs[job].isDone; }
  /// When it would be done if it shared nothing.
  double earliestEnd(Job job) const { return jobs[job].earliestEnd; }
  const Spent &getSpent() const { return spent; }

private:
  struct InFlight {
    Load load;
    mlir::Operation *op;
    std::optional<Job> after;
    double earliestEnd;
    double left;       // seconds of it, alone
    double begin = -1; // below 0: it has not begun
    bool isDone = false;
  };
  /// What runs now, and how much longer each takes than alone.
  struct Running {
    llvm::SmallVector<Job, 4> jobs;
    double sharers[2] = {0, 0}; // of the links inside nodes and between them
    double memory = 1;
    double slowing(const Load &load) const {
      return sharers[load.betweenNodes] * (load.memory > 0 ? memory : 1);
    }
  };
  struct Channel {
    std::deque<Job> queue;
    double free = 0; // when it would be, if it shared nothing
  };
  double now = 0;
  std::vector<InFlight> jobs;
  std::map<std::string, Channel> channels; // by axes
  size_t numInFlight = 0;
  Spent spent;
  std::vector<Span> *spans;

  Running whatRuns(double memory) const;
  double timeToNextEnd(const Running &running) const;
  void advance(const Running &running, double seconds, const std::string *waitedFor);
  double compute(double seconds, double memory);
  const std::string &channelWaitedFor(Job job) const;
};

} // namespace tplan::cost

#endif // TPLAN_COST_PLAY_H
