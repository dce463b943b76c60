//===- MergeReductions.cpp - merge-reductions: sums that compute, under a backward ---===//
//
// A sum of gradients that is compressed computes before, between and after what it sends, so it
// cannot run in a stream of its own (`start-reductions`). But it needs nothing of the layer that
// the backward does next. So the two become one function (MergedFunctions.h), in which
// `order-calls` runs what the sum sends beside what the layer computes.
//
// One decision: the sum of a layer is merged with the next call of the backward, whatever layer
// that is of, so the head's runs beside the last block's, too. What nothing follows stays alone,
// after the backward. Not in pipelines: what a backward leaves to another stage would wait for the
// sum.
//
//===----------------------------------------------------------------------===//
#include "lib/Cost/MemorySearch.h"
#include "lib/Overlap/LastBackward.h"
#include "lib/Overlap/Layers.h"
#include "lib/Overlap/MergedFunctions.h"
#include "lib/Overlap/Overlap.h"

namespace tplan::overlap {
#define GEN_PASS_DEF_MERGEREDUCTIONSPASS
#include "lib/Overlap/Passes.h.inc"
} // namespace tplan::overlap

using namespace mlir;
using namespace tplan;
using overlap::Periods;
using sched::CallOp;
using sched::ProgramOp;
using sched::RunOp;
using sched::SectionOp;
using sched::Use;

/// A sum that computes, and a layer's backward that exchanges at most activations: `cut-exchanges`
/// hides weights and gradients under whole layers.
static bool sumsBeside(rt::FuncOp backward, rt::FuncOp sum) {
  auto collectives = sum.getBlock().getOps<rt::CollectiveOp>();
  return !collectives.empty() && !sched::isExchange(sum) &&
         llvm::all_of(backward.getBlock().getOps<rt::CollectiveOp>(),
                      [](rt::CollectiveOp op) { return op->hasAttr(dist::kActivation); });
}

namespace {

/// A loop of the backward, and the sums of its layers, or null.
struct Loop {
  RunOp backward, sums;
  SmallVector<CallOp> layers;                // in the order of a turn
  SmallVector<SmallVector<CallOp>> ofLayers; // the sums that each completes

  int64_t times() const { return static_cast<int64_t>(RunOp(backward).getTimes()); }
  /// The periods of so many turns, the first of which is given.
  Periods periods(int64_t turn, int64_t count) const {
    RunOp run = backward;
    return Periods::of(run.getContext(), run.getDescending() ? times() - turn - count : turn,
                       count);
  }
};

/// The sums of a layer that are still to be done, in some turns of their loop.
struct Pending {
  const Loop *loop = nullptr;
  size_t layer = 0;
  Periods periods{};
  ArrayRef<CallOp> calls() const { return loop ? loop->ofLayers[layer] : ArrayRef<CallOp>(); }
};

/// R of a stage, and the section before it.
class StageSums {
public:
  StageSums(SectionOp sums, overlap::MergedFunctions &functions)
      : sums(sums), functions(functions), merged(functions), b(sums.getContext()) {}

  void merge() {
    SectionOp backward = overlap::backwardBefore(sums);
    if (!backward || !mergesAny(loopsOf(backward)))
      return;
    section = overlap::makeLastBackward(sums);
    merged.name = section.getSymName().str();
    write(loopsOf(section));
  }

private:
  SectionOp sums, section;
  overlap::MergedFunctions &functions;
  overlap::MergedCalls merged;
  OpBuilder b;

  std::vector<Loop> loopsOf(SectionOp backward);
  bool mergesAny(const std::vector<Loop> &loops);
  void write(const std::vector<Loop> &loops);
  void write(const Loop &loop, Pending &pending);
  void writeTurns(const Loop &loop, int64_t turn, int64_t count, Pending pending);
  void finish(Pending &pending);
  void clone(CallOp call, const Periods &periods, int64_t times);
  void merge(CallOp layer, const Periods &periods, int64_t times, CallOp sum,
             const Pending &pending);
};

} // namespace

/// Which layer of a turn completes what a sum adds up: the last one that touches it.
static size_t layerOf(CallOp sum, ArrayRef<CallOp> layers) {
  overlap::Gradients gradients = overlap::gradientsOf(*sum);
  for (size_t i = layers.size(); i-- > 1;)
    if (overlap::touchesAny(*layers[i], gradients))
      return i;
  return 0;
}

/// Whether the sums of a loop compute. Others are started, if anything is.
static bool computes(RunOp run) {
  return llvm::all_of(run.getBody().getOps<CallOp>(),
                      [](CallOp call) { return !sched::isExchange(call.getFunction()); });
}

/// The loops of a section whose layers have such sums, in order, and those of one turn, beside
/// which the sums of others can run. A longer loop without sums stays whole, because its own are
/// started.
std::vector<Loop> StageSums::loopsOf(SectionOp backward) {
  llvm::DenseMap<Operation *, RunOp> sumsOf;
  for (auto run : sums.getBody().getOps<RunOp>())
    if (RunOp its = overlap::backwardOf(run, backward);
        its && overlap::isOfCalls(run) && computes(run))
      sumsOf.try_emplace(its, run);
  std::vector<Loop> loops;
  for (auto run : backward.getBody().getOps<RunOp>()) {
    RunOp its = sumsOf.lookup(run);
    if (!overlap::isOfCalls(run) || !(its || run.getTimes() == 1))
      continue;
    Loop loop{run, its, llvm::to_vector(run.getBody().getOps<CallOp>()), {}};
    loop.ofLayers.resize(loop.layers.size());
    if (its)
      for (auto sum : its.getBody().getOps<CallOp>())
        loop.ofLayers[layerOf(sum, loop.layers)].push_back(sum);
    loops.push_back(std::move(loop));
  }
  return loops;
}

/// Whether any sum becomes one function with the layer that follows it.
bool StageSums::mergesAny(const std::vector<Loop> &loops) {
  bool any = false;
  ArrayRef<CallOp> before;
  auto add = [&](const Loop &loop) {
    for (auto [layer, its] : llvm::zip(loop.layers, loop.ofLayers)) {
      CallOp call = layer;
      any |= !before.empty() &&
             functions.get(call.getFunction(), CallOp(before.front()).getFunction());
      before = its;
    }
  };
  for (const Loop &loop : loops)
    for (int64_t turn = 0; turn < std::min<int64_t>(2, loop.times()); ++turn)
      add(loop);
  return any;
}

/// The loops again, with the sums beside their layers. What comes between them stays, and the sums
/// that are to be done pass it, if it touches nothing of theirs.
void StageSums::write(const std::vector<Loop> &loops) {
  Pending pending;
  SmallVector<RunOp> gone;
  size_t next = 0;
  for (Operation &op : llvm::make_early_inc_range(section.getBody().front())) {
    b.setInsertionPoint(&op);
    if (next < loops.size() && &op == loops[next].backward) {
      const Loop &loop = loops[next++];
      if (!loop.sums && pending.calls().empty())
        continue;
      write(loop, pending);
      gone.push_back(loop.backward);
      if (loop.sums)
        gone.push_back(loop.sums);
      continue;
    }
    overlap::Effects its, ofSums;
    its.add(&op);
    for (CallOp sum : pending.calls())
      ofSums.add(sum);
    if (its.meets(ofSums))
      finish(pending);
  }
  b.setInsertionPointToEnd(&section.getBody().front());
  finish(pending);
  for (RunOp run : gone)
    run.erase();
}

/// The first turn has the sums of another loop beside it.
void StageSums::write(const Loop &loop, Pending &pending) {
  int64_t times = loop.times();
  size_t last = loop.layers.size() - 1;
  writeTurns(loop, 0, 1, pending);
  if (times > 1)
    writeTurns(loop, 1, times - 1, {&loop, last, loop.periods(0, times - 1)});
  pending = {&loop, last, loop.periods(times - 1, 1)};
}

/// So many turns, each layer with the sums of the one before.
void StageSums::writeTurns(const Loop &loop, int64_t turn, int64_t count, Pending pending) {
  OpBuilder::InsertionGuard guard(b);
  overlap::beginRun(b, loop.backward, count);
  Periods periods = loop.periods(turn, count);
  for (auto [i, layer] : llvm::enumerate(loop.layers)) {
    ArrayRef<CallOp> before = pending.calls();
    CallOp first = before.empty() ? CallOp() : before.front();
    if (first && functions.get(CallOp(layer).getFunction(), first.getFunction())) {
      merge(layer, periods, loop.times(), first, pending);
      before = before.drop_front();
    } else {
      clone(layer, periods, loop.times());
    }
    for (CallOp sum : before)
      clone(sum, pending.periods, pending.loop->times());
    pending = {&loop, i, periods};
  }
}

/// The sums that nothing follows.
void StageSums::finish(Pending &pending) {
  if (!pending.calls().empty()) {
    OpBuilder::InsertionGuard guard(b);
    overlap::beginRun(b, pending.loop->sums, 1);
    for (CallOp sum : pending.calls())
      clone(sum, pending.periods, pending.loop->times());
  }
  pending = {};
}

void StageSums::clone(CallOp call, const Periods &periods, int64_t times) {
  sched::rewriteUses(cast<sched::Step>(b.clone(*call)),
                     [&](Use &each) { overlap::substitute(each, periods, times); });
}

/// One call for two.
void StageSums::merge(CallOp layer, const Periods &periods, int64_t times, CallOp sum,
                      const Pending &pending) {
  auto in = [](const Periods &periods, int64_t times) {
    return [&periods, times](Use each) {
      overlap::substitute(each, periods, times);
      return each;
    };
  };
  merged.create(b, layer.getLoc(), {layer, in(periods, times)},
                {sum, in(pending.periods, pending.loop->times())});
}

namespace {
struct MergeReductionsPass : tplan::overlap::impl::MergeReductionsPassBase<MergeReductionsPass> {
  void runOnOperation() final {
    ModuleOp module = getOperation();
    lang::Settings settings(module);
    cost::Prices prices(settings, dist::meshOf(module));
    cost::OverlapChoice choice(module, settings, prices);
    if (!choice.starts(lang::Overlap::Dp) || choice.keepsMemory())
      return markAllAnalysesPreserved();
    overlap::MergedFunctions functions(prices, choice, {lang::Overlap::Dp, "reduce", sumsBeside});
    for (auto [i, program] : llvm::enumerate(module.getOps<ProgramOp>()))
      if (!program.isOfPipeline() && cost::roomOf(module, i).mergesPairs())
        for (auto section : llvm::make_early_inc_range(program.getBody().getOps<SectionOp>()))
          if (section.getKind() == sched::TaskKind::R)
            StageSums(section, functions).merge();
    functions.eraseUncalled(module);
  }
};
} // namespace
