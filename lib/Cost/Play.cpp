//===- Play.cpp - work that runs beside other work, in time -----------------===//
#include "lib/Cost/Play.h"
#include <limits>

using namespace mlir;
using namespace tplan;
using namespace tplan::cost;

/// Below this part of a job nothing is left of it: sums of floating point do not come out even.
static constexpr double kNothing = 1e-12;

/// The first job of each channel that waits for no other one.
Play::Running Play::whatRuns(double memory) const {
  Running running;
  for (const auto &[axes, channel] : channels)
    if (!channel.queue.empty()) {
      const InFlight &job = jobs[channel.queue.front()];
      if (job.after && !jobs[*job.after].isDone)
        continue;
      running.jobs.push_back(channel.queue.front());
      ++running.sharers[job.load.betweenNodes];
    }
  for (Job each : running.jobs)
    memory += jobs[each].load.memory / running.sharers[jobs[each].load.betweenNodes];
  running.memory = std::max(1.0, memory);
  return running;
}

double Play::timeToNextEnd(const Running &running) const {
  double least = std::numeric_limits<double>::infinity();
  for (Job each : running.jobs)
    least = std::min(least, jobs[each].left * running.slowing(jobs[each].load));
  return least;
}

/// Time passes, in which no job ends but at its end. `waitedFor`: the channel; null: the compute
/// units work meanwhile.
void Play::advance(const Running &running, double seconds, const std::string *waitedFor) {
  for (Job each : running.jobs) {
    InFlight &job = jobs[each];
    const std::string &axes = job.load.axes;
    if (job.begin < 0)
      job.begin = now;
    Exchange &exchange = spent.exchanges[job.op];
    exchange.seconds += seconds;
    exchange.waited += waitedFor ? seconds : 0;
    auto &where = !waitedFor           ? spent.hidden
                  : axes == *waitedFor ? spent.communication
                                       : spent.besideWaits;
    where[axes] += seconds;
    job.left -= seconds / running.slowing(job.load);
    if (job.left > job.load.seconds * kNothing)
      continue;
    job.isDone = true;
    --numInFlight;
    channels[axes].queue.pop_front();
    if (spans)
      spans->push_back({axes, job.begin, now + seconds});
  }
  now += seconds;
}

/// Returns how long that takes beside all that runs.
double Play::compute(double seconds, double memory) {
  double begin = now;
  while (numInFlight > 0 && seconds > 0) {
    Running running = whatRuns(memory);
    double slowing = memory > 0 ? running.memory : 1;
    double passes = std::min(seconds * slowing, timeToNextEnd(running));
    advance(running, passes, /*waitedFor=*/nullptr);
    seconds = passes < seconds * slowing ? seconds - passes / slowing : 0;
  }
  now += seconds;
  return now - begin;
}

void Play::work(rt::Category category, double seconds, double memory) {
  spent.work[category] += compute(seconds, memory);
}

void Play::work(const Spent &all) {
  compute(all.seconds(), /*memory=*/0);
  spent += all;
}

Play::Job Play::start(const Load &load, Operation *op, std::optional<Job> after) {
  Channel &channel = channels[load.axes];
  double begin = std::max({now, channel.free, after ? jobs[*after].earliestEnd : 0});
  channel.free = begin + load.seconds;
  channel.queue.push_back(jobs.size());
  jobs.push_back({load, op, after, channel.free, load.seconds});
  ++numInFlight;
  return jobs.size() - 1;
}

/// The channel that does something until a job can begin, or until it is done.
const std::string &Play::channelWaitedFor(Job job) const {
  const InFlight &first = jobs[channels.at(jobs[job].load.axes).queue.front()];
  bool isHeld = first.after && !jobs[*first.after].isDone;
  return isHeld ? channelWaitedFor(*first.after) : first.load.axes;
}

void Play::await(Job job) {
  while (!jobs[job].isDone) {
    Running running = whatRuns(/*memory=*/0);
    advance(running, timeToNextEnd(running), &channelWaitedFor(job));
  }
}

void Play::finish() {
  for (auto &[axes, channel] : channels)
    while (!channel.queue.empty())
      await(channel.queue.back());
}
