//===- PlaySection.cpp - what a section costs that starts something ----------===//
#include "lib/Cost/PlaySection.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::cost;

namespace {
class SectionPlay {
public:
  explicit SectionPlay(Prices &prices, std::vector<Span> *spans = nullptr)
      : prices(prices), time(spans) {}

  Played play(ArrayRef<sched::SectionOp> sections) {
    for (sched::SectionOp section : sections)
      sched::forEachStep(section,
                         [&](sched::Step step, sched::Period period) { play(step, period); });
    double end = time.getNow();
    time.finish();
    return {time.getSpent(), time.getNow() - end};
  }

private:
  Prices &prices;
  Play time;
  using Event = std::pair<void *, int64_t>;     // a value and its instance
  std::map<Event, SmallVector<Play::Job>> jobs; // that an event stands for

  static Event eventOf(const sched::Use &use, sched::Period period) {
    auto used = sched::evaluate(use, period, /*microbatch=*/0);
    return {used.value.getAsOpaquePointer(), used.instance};
  }

  void play(sched::Step step, sched::Period period) {
    auto call = dyn_cast<sched::CallOp>(step.getOperation());
    if (isa<sched::AwaitOp>(step.getOperation())) {
      for (const sched::Use &use : step.getUses())
        for (Play::Job job : jobs[eventOf(use, period)])
          time.await(job);
      return;
    }
    bool isMessage = isa<sched::SendOp, sched::ReceiveOp>(step.getOperation());
    if (isMessage && step->getParentOfType<sched::SectionOp>().isOfTask())
      return; // the simulation of tasks knows how long
    if (!call)
      return time.work(prices.of(step));
    if (!call.getStarted()) {
      for (uint64_t layer = 0; layer < call.getLayers(); ++layer)
        prices.play(call.getFunction(), time);
      return;
    }
    SmallVector<Play::Job> &its = jobs[eventOf(*call.getSignal(), period)];
    its.clear();
    for (auto each : call.getFunction().getBlock().getOps<rt::CollectiveOp>()) {
      if (sched::movesNoByte(each))
        continue;
      Load load = prices.loadOf(each);
      load.seconds *= static_cast<double>(call.getLayers());
      // Each waits for the one before it, and its channel with it.
      its.push_back(time.start(load, each, its.empty() ? std::nullopt : std::optional(its.back())));
    }
  }
};
} // namespace

Spans cost::spansOf(sched::SectionOp section, Prices &prices) {
  Spans spans;
  spans.inside = SectionPlay(prices, &spans.channels).play(section).inside();
  return spans;
}

Played cost::play(ArrayRef<sched::SectionOp> sections, Prices &prices) {
  return SectionPlay(prices).play(sections);
}
