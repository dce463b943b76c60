//===- RotateLayers.cpp - rotate-layers: a layer's exchanges run beside its neighbours ---===//
//
// A section calls layers one after the other. What a layer gathers is started before the layer
// before it, and what it sums is awaited, and added, after the layer after it. In the loop of a run
// that is the next period's or the last one's; the first and the last period, where the neighbour
// is in another run, become loops of their own.
//
// One decision: a section is a sequence of layers, and runs are a short way of writing it. So
// whether a neighbour is in the same period, in another one or in another run makes no difference.
//
//===----------------------------------------------------------------------===//
#include "dialects/rt/RT.h"
#include "dialects/sched/Sched.h"
#include "lib/Overlap/Layers.h"
#include "lib/Overlap/Overlap.h"
#include "lib/Schedule/Values.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include <deque>
#include <map>

namespace tplan::overlap {
#define GEN_PASS_DEF_ROTATELAYERSPASS
#include "lib/Overlap/Passes.h.inc"
} // namespace tplan::overlap

using namespace mlir;
using namespace tplan;
using overlap::Effects;
using overlap::isInFlight;
using overlap::Layer;
using overlap::Periods;
using sched::RunOp;
using sched::SectionOp;
using sched::use;
using sched::Use;
using sched::ValueOp;

namespace {

/// A run of layers, `layers` of them a period.
struct Loop {
  RunOp run;
  std::vector<Layer> layers;
  int64_t times, step;     // periods, and from one to the next: 1 or -1
  int64_t before = 0;      // layers of loops with the same memory in flight
  bool isGathered = false; // the first layer's gather has been started
  Value gatherEvents, sumEvents;
};

/// A layer of a loop in some of its periods.
struct Place {
  Loop *loop = nullptr; // or none
  size_t layer = 0;
  Periods periods{};
  Layer &get() const { return loop->layers[layer]; }
  explicit operator bool() const { return loop; }
};

class SectionRotation {
public:
  explicit SectionRotation(SectionOp section) : section(section), b(section.getContext()) {}
  void run();

private:
  SectionOp section;
  OpBuilder b;
  std::deque<Loop> loops; // that exchange something, in order
  Place pending;          // a layer whose sum is not awaited yet
  int64_t numEvents = 0;  // values of the section

  void turnValues(Loop &loop);
  Value declareEvents(Loop &loop, int64_t count);
  bool mayGatherEarly(Loop &loop, Loop &next);
  void dropIdle();
  void rotate(Loop &loop, Loop *next);
  void rotate(Loop &loop, int64_t turn, int64_t count, Loop *next);
  Place place(Loop &loop, size_t layer, int64_t turn, int64_t count);
  void beginRun(const Place &place);
  void clone(ArrayRef<Operation *> ops, const Place &place);
  void start(sched::CallOp exchange, Value events, const Place &place);
  void await(Value events, const Place &place);
  void finish(const Place &place);
  void finishPending();
};

} // namespace

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// A layer's number in its loop, of two that alternate.
static AffineExpr turnOf(const Loop &loop, size_t layer) {
  auto k = static_cast<int64_t>(loop.layers.size()), n = static_cast<int64_t>(layer);
  AffineExpr period = sched::periodOf(loop.run->getContext());
  int64_t first = loop.before + (loop.step > 0 ? n : (loop.times - 1) * k + n);
  return (period * (k % 2) + first % 2) % 2;
}

/// Whether two runs, one after the other, have memory in flight in common: they have been one.
static bool shareFlight(const Loop &loop, const Loop &next) {
  llvm::SmallDenseSet<Value> its;
  auto collect = [&](Operation *op, auto visit) {
    op->walk([&](sched::Step step) {
      for (const Use &each : step.getUses())
        if (isInFlight(each))
          visit(each.value);
    });
  };
  bool found = false;
  collect(loop.run, [&](Value value) { its.insert(value); });
  collect(next.run, [&](Value value) { found |= its.contains(value); });
  return found;
}

/// Two instances by turns, which all layers of a loop share: of each, what one exchanges and what
/// the next one does.
void SectionRotation::turnValues(Loop &loop) {
  auto k = static_cast<int64_t>(loop.layers.size());
  int64_t turns = std::min<int64_t>(2, loop.before + k * loop.times);
  std::map<std::pair<int, size_t>, ValueOp> shared; // by list and place in it
  llvm::SetVector<Operation *> gone;
  auto share = [&](int list, SmallVector<Value> values) {
    for (auto [i, value] : llvm::enumerate(values)) {
      ValueOp own = sched::valueOf(value);
      auto [it, isNew] = shared.try_emplace({list, i}, own);
      it->second.setBytes(std::max(it->second.getBytes(), own.getBytes()));
      it->second.setCount(turns);
      if (it->second == own)
        continue;
      own.getMemory().replaceAllUsesWith(it->second.getMemory());
      gone.insert(own);
    }
  };
  auto inFlight = [](sched::CallOp call, bool made) {
    SmallVector<Value> values;
    for (const Use &each : call.getUses())
      if (isInFlight(each) && each.writes == made)
        values.push_back(each.value);
    return values;
  };
  for (auto [i, layer] : llvm::enumerate(loop.layers)) {
    if (layer.gather)
      share(0, inFlight(layer.gather, true));
    if (layer.sum) {
      share(1, inFlight(layer.sum, false));
      share(2, inFlight(layer.sum, true));
    }
    auto turn = [&](Operation *op) {
      sched::rewriteUses(cast<sched::Step>(op), [&](Use &each) {
        if (isInFlight(each))
          each.instance = use(each.value, turnOf(loop, i)).instance;
      });
    };
    if (layer.gather)
      turn(layer.gather);
    if (layer.sum)
      turn(layer.sum);
    for (const Layer::Ops *ops : {&layer.work, &layer.beside, &layer.afterSum})
      llvm::for_each(*ops, turn);
  }
  for (Operation *each : gone)
    each->erase();
  if (llvm::any_of(loop.layers, [](const Layer &layer) { return bool(layer.gather); }))
    loop.gatherEvents = declareEvents(loop, turns);
  if (llvm::any_of(loop.layers, [](const Layer &layer) { return bool(layer.sum); }))
    loop.sumEvents = declareEvents(loop, turns);
}

Value SectionRotation::declareEvents(Loop &loop, int64_t count) {
  auto program = section->getParentOfType<sched::ProgramOp>();
  std::string name = (section.getSymName() + ".layers." + Twine(numEvents++)).str();
  return schedule::ProgramValues(program).declareEvents(name, count).getMemory();
}

//===----------------------------------------------------------------------===//
// The order
//===----------------------------------------------------------------------===//

Place SectionRotation::place(Loop &loop, size_t layer, int64_t turn, int64_t count) {
  int64_t first = loop.step > 0 ? turn : loop.times - turn - count;
  return {&loop, layer, Periods::of(b.getContext(), first, count)};
}

static void substitute(Use &each, const Place &place) {
  overlap::substitute(each, place.periods, place.loop->times);
}

void SectionRotation::beginRun(const Place &place) {
  overlap::beginRun(b, place.loop->run, place.periods.count);
}

void SectionRotation::clone(ArrayRef<Operation *> ops, const Place &place) {
  for (Operation *op : ops)
    sched::rewriteUses(cast<sched::Step>(b.clone(*op)),
                       [&](Use &each) { substitute(each, place); });
}

static Use eventOf(Value events, const Place &place) {
  Use event = use(events, turnOf(*place.loop, place.layer));
  substitute(event, place);
  return event;
}

void SectionRotation::start(sched::CallOp exchange, Value events, const Place &place) {
  SmallVector<Use> uses = exchange.getUses();
  for (Use &each : uses)
    substitute(each, place);
  overlap::startExchange(b, exchange, std::move(uses), eventOf(events, place));
}

void SectionRotation::await(Value events, const Place &place) {
  sched::createStep<sched::AwaitOp>(b, place.loop->run.getLoc(), {eventOf(events, place)}, {});
}

/// Awaits the sum of a layer, and does what needs it.
void SectionRotation::finish(const Place &place) {
  await(place.loop->sumEvents, place);
  clone(place.get().afterSum, place);
}

void SectionRotation::finishPending() {
  OpBuilder::InsertionGuard guard(b);
  beginRun(pending);
  finish(pending);
  pending = {};
}

/// Some turns of a loop: all the same, or one.
void SectionRotation::rotate(Loop &loop, int64_t turn, int64_t count, Loop *next) {
  OpBuilder::InsertionGuard guard(b);
  beginRun(place(loop, 0, turn, count));
  for (size_t i = 0, k = loop.layers.size(); i < k; ++i) {
    Layer &layer = loop.layers[i];
    Place here = place(loop, i, turn, count), before = pending, after;
    if (i + 1 < k)
      after = place(loop, i + 1, turn, count);
    else if (turn + count < loop.times)
      after = place(loop, 0, turn + 1, count);
    else if (next)
      after = place(*next, 0, 0, 1);
    if (i > 0)
      before = place(loop, i - 1, turn, count);
    else if (turn > 0)
      before = place(loop, k - 1, turn - 1, count);
    if (after && after.get().gather)
      start(after.get().gather, after.loop->gatherEvents, after);
    if (layer.gather)
      await(loop.gatherEvents, here);
    clone(layer.work, here);
    if (layer.sum)
      start(layer.sum, loop.sumEvents, here);
    clone(layer.beside, here);
    if (before && before.get().sum)
      finish(before);
  }
  pending = {};
}

/// `next`: the loop whose first gather runs beside the last layer of this one.
void SectionRotation::rotate(Loop &loop, Loop *next) {
  if (loop.layers.front().gather && !loop.isGathered) {
    OpBuilder::InsertionGuard guard(b);
    Place first = place(loop, 0, 0, 1);
    beginRun(first);
    start(first.get().gather, loop.gatherEvents, first);
  }
  int64_t begin = 0, end = loop.times; // of the turns that are alike
  if (loop.times > 1 && (pending || loop.sumEvents))
    ++begin;
  if (loop.times > 1 && (next || loop.layers.front().gather))
    --end;
  if (begin > 0)
    rotate(loop, 0, 1, nullptr);
  if (begin < end)
    rotate(loop, begin, end - begin, end == loop.times ? next : nullptr);
  if (end < loop.times)
    rotate(loop, end, 1, next);
  if (next)
    next->isGathered = true;
  Place last = place(loop, loop.layers.size() - 1, loop.times - 1, 1);
  if (last.get().sum)
    pending = last;
}

/// Whether nothing from the last layer of a loop to the first one of the next writes what that one
/// gathers.
bool SectionRotation::mayGatherEarly(Loop &loop, Loop &next) {
  if (!next.layers.front().gather)
    return false;
  Effects between = overlap::effectsBefore(loop.layers.back()), gather;
  between.add(loop.layers.back().afterSum);
  gather.add(next.layers.front().gather);
  for (Operation *op = loop.run->getNextNode(); op != next.run; op = op->getNextNode())
    between.add(op);
  return !gather.meets(between);
}

/// Loops that exchange nothing go, unless the next one's first gather begins beside their last
/// layer.
void SectionRotation::dropIdle() {
  auto isIdle = [&](size_t i) {
    return !overlap::exchangesAny(loops[i].layers) &&
           (i + 1 == loops.size() || !mayGatherEarly(loops[i], loops[i + 1]));
  };
  for (size_t i = loops.size(); i-- > 0;)
    if (isIdle(i))
      loops.erase(loops.begin() + i);
}

void SectionRotation::run() {
  for (auto run : section.getBody().getOps<RunOp>()) {
    Loop loop;
    loop.run = run;
    loop.layers = overlap::layersOf(run);
    loop.times = static_cast<int64_t>(run.getTimes());
    loop.step = run.getDescending() ? -1 : 1;
    if (overlap::mayRotate(loop.layers, loop.times))
      loops.push_back(std::move(loop));
  }
  dropIdle();
  if (loops.empty())
    return;
  for (size_t i = 1; i < loops.size(); ++i)
    if (const Loop &last = loops[i - 1]; shareFlight(last, loops[i]))
      loops[i].before = last.before + static_cast<int64_t>(last.layers.size()) * last.times;
  for (Loop &loop : loops)
    turnValues(loop);
  size_t i = 0;
  for (Operation &op : llvm::make_early_inc_range(section.getBody().front())) {
    b.setInsertionPoint(&op);
    bool isLoop = i < loops.size() && &op == loops[i].run;
    if (pending) {
      Effects its;
      if (isLoop)
        its = overlap::effectsBefore(loops[i].layers.front());
      else
        its.add(&op);
      if (its.meets(overlap::effectsOfSum(pending.get())))
        finishPending();
    }
    if (!isLoop)
      continue;
    Loop *next = i + 1 < loops.size() ? &loops[i + 1] : nullptr;
    rotate(loops[i], next && mayGatherEarly(loops[i], *next) ? next : nullptr);
    ++i;
  }
  b.setInsertionPointToEnd(&section.getBody().front());
  if (pending)
    finishPending();
  for (Loop &loop : loops)
    loop.run.erase();
}

namespace {
struct RotateLayersPass : tplan::overlap::impl::RotateLayersPassBase<RotateLayersPass> {
  void runOnOperation() final {
    for (auto program : getOperation().getOps<sched::ProgramOp>())
      for (auto section : program.getBody().getOps<SectionOp>())
        SectionRotation(section).run();
  }
};
} // namespace
