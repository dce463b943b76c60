//===- PlaySection.cpp - what a section costs that starts something ----------===//
#include "lib/Cost/PlaySection.h"
#include "lib/Cost/Play.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::cost;

namespace {
class SectionPlay {
public:
  explicit SectionPlay(Prices &prices) : prices(prices) {}

  Spent play(sched::SectionOp section) {
    for (Operation &op : section.getBody().front()) {
      auto run = dyn_cast<sched::RunOp>(op);
      if (!run) {
        play(cast<sched::Step>(op), 0);
        continue;
      }
      auto times = static_cast<int64_t>(run.getTimes());
      for (int64_t i = 0; i < times; ++i)
        for (Operation &nested : run.getBody().front())
          play(cast<sched::Step>(nested), run.getDescending() ? times - 1 - i : i);
    }
    time.finish();
    return time.getSpent();
  }

private:
  Prices &prices;
  Play time;
  using Event = std::pair<void *, int64_t>;             // a value and its instance
  std::map<Event, std::pair<std::string, double>> ends; // the channel, and when it is done

  static Event eventOf(const sched::Use &use, int64_t period) {
    return {use.value.getAsOpaquePointer(),
            sched::evaluate(use.instance.getResult(0), period, /*microbatch=*/0)};
  }

  void play(sched::Step step, int64_t period) {
    auto call = dyn_cast<sched::CallOp>(step.getOperation());
    if (isa<sched::AwaitOp>(step.getOperation())) {
      for (const sched::Use &use : step.getUses())
        if (auto end = ends.find(eventOf(use, period)); end != ends.end())
          time.await(end->second.first, end->second.second);
      return;
    }
    if (!call || !call.getStarted())
      return time.work(prices.of(step));
    std::string axes;
    double end = 0;
    for (const auto &[over, seconds] : prices.of(step).communication) {
      axes = over;
      end = time.start(over, seconds);
    }
    ends[eventOf(*call.getSignal(), period)] = {axes, end};
  }
};
} // namespace

Spent cost::play(sched::SectionOp section, Prices &prices) {
  return SectionPlay(prices).play(section);
}
