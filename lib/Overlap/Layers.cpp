//===- Layers.cpp - what a section does for each layer ----------------------===//
#include "lib/Overlap/Layers.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::overlap;
using sched::RunOp;
using sched::use;
using sched::Use;

static bool isPrivate(Value value) {
  sched::Owner owner = sched::valueOf(value).getOwner();
  return owner == sched::Owner::Frame || owner == sched::Owner::InFlight;
}

void Effects::add(Operation *op) {
  op->walk([&](sched::Step step) {
    for (const Use &each : step.getUses())
      for (Value value : each.values()) {
        if (isPrivate(value))
          continue;
        if (each.reads)
          reads.insert(value);
        if (each.writes)
          writes.insert(value);
      }
  });
}

bool overlap::isOverSameLayers(RunOp run, RunOp other) {
  SmallVector<std::pair<Value, AffineMap>> touched;
  other.walk([&](sched::Step step) {
    for (const Use &each : step.getUses())
      touched.push_back({each.value, each.instance});
  });
  WalkResult missing = run.walk([&](sched::Step step) {
    for (const Use &each : step.getUses())
      if (sched::valueOf(each.value).getOwner() == sched::Owner::Gradient &&
          !llvm::is_contained(touched, std::pair(each.value, each.instance)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return run.getTimes() == other.getTimes() && !missing.wasInterrupted();
}

overlap::Periods overlap::Periods::of(MLIRContext *context, int64_t first, int64_t count) {
  AffineExpr at =
      count == 1 ? getAffineConstantExpr(first, context) : sched::periodOf(context) + first;
  return {at, first, count};
}

void overlap::substitute(Use &each, const Periods &to, int64_t times) {
  int64_t border = each.border == sched::Border::First ? 0 : times - 1;
  if (each.border && !to.contains(border))
    each.border = std::nullopt, each.outer = {};
  else if (each.border && to.count == 1)
    each = {each.outer, use(each.outer).instance, std::nullopt, {}, each.reads, each.writes,
            each.shift};
  AffineExpr period = sched::periodOf(each.instance.getContext());
  each.instance = use(each.value, each.instance.getResult(0).replace(period, to.at)).instance;
}

bool overlap::isOfCalls(RunOp run) {
  return run && llvm::all_of(run.getBody().front(), [](Operation &op) {
           auto call = dyn_cast<sched::CallOp>(op);
           return call && !call.getStarted() && call.getLayers() == 1;
         });
}

RunOp overlap::beginRun(OpBuilder &b, RunOp like, int64_t times) {
  auto run =
      RunOp::create(b, like.getLoc(), like.getWhat(), like.getTitle(), times, like.getDescending());
  b.createBlock(&run.getBody());
  return run;
}

void overlap::startExchange(OpBuilder &b, sched::CallOp exchange, SmallVector<Use> uses,
                            const Use &event) {
  uses.push_back(event);
  auto reads = static_cast<size_t>(exchange.getReads());
  sched::createStep<sched::CallOp>(b, exchange.getLoc(), ArrayRef(uses).take_front(reads),
                                   ArrayRef(uses).drop_front(reads), exchange.getCallee(), Value(),
                                   exchange.getLayers(), /*started=*/true);
}

bool overlap::isInFlight(const Use &each) {
  sched::ValueOp value = sched::valueOf(each.value);
  return value.getOwner() == sched::Owner::InFlight && value.getLives() == sched::Life::Section;
}

/// A call that does nothing but exchange what `cut-exchanges` cut.
static sched::CallOp exchangeOf(Operation &op) {
  auto call = dyn_cast<sched::CallOp>(op);
  bool isCut = call && !call.getStarted() && llvm::any_of(call.getUses(), isInFlight) &&
               sched::isExchange(call.getFunction());
  return isCut ? call : sched::CallOp();
}

/// Whether an op needs the sum of a layer, or what needs it.
static bool needsSum(Operation &op, Layer &layer) {
  for (const Use &each : cast<sched::Step>(op).getUses())
    for (const Use &made : layer.sum.getUses())
      if (made.writes && made.value == each.value)
        return true;
  Effects after, its;
  after.add(layer.afterSum);
  its.add(&op);
  return its.meets(after);
}

std::vector<Layer> overlap::layersOf(RunOp run) {
  std::vector<Layer> layers;
  auto begin = [&]() -> Layer & { return layers.emplace_back(); };
  auto last = [&]() -> Layer & { return layers.empty() ? begin() : layers.back(); };
  for (Operation &op : run.getBody().front()) {
    if (sched::CallOp exchange = exchangeOf(op)) {
      bool isSum = llvm::any_of(exchange.getUses(),
                                [](const Use &each) { return each.reads && isInFlight(each); });
      (isSum ? last().sum : begin().gather) = exchange;
      continue;
    }
    if (!last().sum)
      last().work.push_back(&op);
    else if (needsSum(op, last()))
      last().afterSum.push_back(&op);
    else
      begin().work.push_back(&op);
  }
  // What comes last and exchanges nothing goes with the layer before it.
  while (layers.size() > 1 && !layers.back().gather && !layers.back().sum) {
    Layer::Ops work = std::move(layers.back().work);
    layers.pop_back();
    Layer::Ops &beside = layers.back().sum ? layers.back().beside : layers.back().work;
    llvm::append_range(beside, work);
  }
  return layers;
}

bool overlap::exchangesAny(ArrayRef<Layer> layers) {
  return llvm::any_of(layers, [](const Layer &layer) { return layer.gather || layer.sum; });
}

Effects overlap::effectsBefore(const Layer &layer) {
  Effects all;
  if (layer.gather)
    all.add(layer.gather);
  all.add(layer.work);
  if (layer.sum)
    all.add(layer.sum);
  all.add(layer.beside);
  return all;
}

Effects overlap::effectsOfSum(const Layer &layer) {
  Effects all;
  if (layer.sum)
    all.add(layer.sum);
  all.add(layer.afterSum);
  return all;
}

/// Whether a layer's sum may be awaited after the next one's work, and the next one's gather may
/// begin before this one's.
static bool mayMeet(const Layer &layer, const Layer &next) {
  if (layer.sum && effectsOfSum(layer).meets(effectsBefore(next)))
    return false;
  if (!next.gather)
    return true;
  Effects gather, all = effectsBefore(layer);
  gather.add(next.gather);
  all.add(layer.afterSum);
  return !gather.meets(all);
}

bool overlap::mayRotate(ArrayRef<Layer> layers, int64_t times) {
  for (size_t i = 0; i < layers.size(); ++i)
    if ((i + 1 < layers.size() || times > 1) &&
        !mayMeet(layers[i], layers[(i + 1) % layers.size()]))
      return false;
  return true;
}
