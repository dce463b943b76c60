//===- StartReductions.cpp - start-reductions: sums of gradients, layer by layer ---===//
//
// What ranks add up after the last backward of a stage (R) is started layer by layer in that
// backward, as soon as a layer has given its gradients, and awaited where the end of the step first
// touches them. So the sums of a layer run under the backward of the layers before it, and those of
// a stage under whatever its rank does next.
//
// One decision: the last backward of a stage gets a section of its own, so the others need not
// know. On a device a section is a graph, which ends when all in it has ended, and what it leaves
// to another stage would go when the sums are done. So in a pipeline the last one is no graph
// (`assign-streams`): its calls are issued by themselves, once a step, and R awaits the sums, after
// the message.
//
//===----------------------------------------------------------------------===//
#include "dialects/rt/RT.h"
#include "dialects/sched/Sched.h"
#include "lib/Cost/OverlapChoice.h"
#include "lib/Overlap/Functions.h"
#include "lib/Overlap/LastBackward.h"
#include "lib/Overlap/Layers.h"
#include "lib/Overlap/Overlap.h"
#include "lib/Schedule/Values.h"
#include "mlir/IR/Builders.h"

namespace tplan::overlap {
#define GEN_PASS_DEF_STARTREDUCTIONSPASS
#include "lib/Overlap/Passes.h.inc"
} // namespace tplan::overlap

using namespace mlir;
using namespace tplan;
using sched::SectionOp;
using sched::TaskKind;
using sched::use;
using sched::Use;
using sched::ValueOp;

namespace {

class StageReductions {
public:
  StageReductions(sched::ProgramOp program, SectionOp sums, bool isOnDevice)
      : program(program), sums(sums), isOnDevice(isOnDevice), b(program.getContext()) {}

  void start() {
    if (llvm::none_of(sums.getBody().getOps<sched::RunOp>(), canFly))
      return;
    SectionOp last = overlap::makeLastBackward(sums);
    if (!last)
      return;
    for (auto run : llvm::make_early_inc_range(sums.getBody().getOps<sched::RunOp>()))
      if (sched::RunOp backward = overlap::backwardOf(run, last); backward && canFly(run))
        start(run, backward, last);
  }

private:
  sched::ProgramOp program;
  SectionOp sums; // R of a stage
  const bool isOnDevice;
  OpBuilder b;
  int64_t numEvents = 0; // values of the stage

  static bool canFly(sched::RunOp run);
  void start(sched::RunOp run, sched::RunOp backward, SectionOp last);
  ValueOp declareEvents(int64_t count);
  void await(sched::RunOp run, ValueOp events, int64_t perPeriod, SectionOp last);
  void addAwait(ValueOp events, int64_t perPeriod, Location loc);
};

} // namespace

/// Only collectives run beside the rank, and only their streams. A function with those of several
/// groups would keep the streams of all of them waiting (`split-reductions`); the two hops of one
/// sum may, because nothing else goes that way in a backward.
bool StageReductions::canFly(sched::RunOp run) {
  return llvm::all_of(run.getBody().front(), [](Operation &op) {
    auto call = dyn_cast<sched::CallOp>(op);
    if (!call || !sched::isExchange(call.getFunction()))
      return false;
    auto collectives = call.getFunction().getBlock().getOps<rt::CollectiveOp>();
    dist::MeshAttr mesh = dist::meshOf(call->getParentOfType<ModuleOp>());
    return !collectives.empty() && llvm::all_of(collectives, [&](rt::CollectiveOp each) {
      return overlap::planAxesOf(each, mesh) == overlap::planAxesOf(*collectives.begin(), mesh);
    });
  });
}

/// One for each call that is started, in the order of the periods.
ValueOp StageReductions::declareEvents(int64_t count) {
  std::string name = (sums.getSymName() + "." + Twine(numEvents++)).str();
  return schedule::ProgramValues(program).declareEvents(name, count);
}

void StageReductions::start(sched::RunOp run, sched::RunOp backward, SectionOp last) {
  SmallVector<sched::CallOp> calls(run.getBody().getOps<sched::CallOp>());
  auto perPeriod = static_cast<int64_t>(calls.size());
  ValueOp events = declareEvents(run.getTimes() * perPeriod);
  AffineExpr period = sched::periodOf(b.getContext());
  for (auto [i, call] : llvm::enumerate(calls)) {
    SmallVector<Use> uses = call.getUses(), reads;
    for (const Use &each : uses)
      if (each.value != call.getFrame())
        reads.push_back(each);
    if (Value frame = call.getFrame()) // until the end of the step, whatever the frame holds
      sched::valueOf(frame).setLives(sched::Life::Entry);
    b.setInsertionPointToEnd(&backward.getBody().front());
    Use signal = use(events.getMemory(), period * perPeriod + static_cast<int64_t>(i));
    // A sum works in place: it has no results but its arguments.
    sched::createStep<sched::CallOp>(b, call.getLoc(), reads, {signal}, call.getCallee(),
                                     call.getFrame(), call.getLayers(), /*started=*/true);
  }
  await(run, events, perPeriod, last);
  run.erase();
}

/// Waits for the events of a period, or, outside of a run, for all of them.
void StageReductions::addAwait(ValueOp events, int64_t perPeriod, Location loc) {
  AffineExpr period = sched::periodOf(b.getContext());
  SmallVector<Use> all;
  for (int64_t i = 0; i < perPeriod; ++i)
    all.push_back(use(events.getMemory(), period * perPeriod + i));
  sched::createStep<sched::AwaitOp>(b, loc, all, {});
}

/// Before what first touches the sums: within its loop, if that is one over the same layers. On a
/// device in R, by itself, or where no other stage waits for the rank at the end of the backward.
/// In R, too, where steps differ in it: the end of the step is that of all.
void StageReductions::await(sched::RunOp run, ValueOp events, int64_t perPeriod, SectionOp last) {
  overlap::Gradients gradients = overlap::gradientsOf(*run);
  SectionOp end = program.lookupSymbol<SectionOp>("end");
  Operation *reader = nullptr;
  bool isInSums = isOnDevice ? program.isOfPipeline() : overlap::hasEarlySums(sums);
  if (!isOnDevice && !isInSums)
    for (Operation &op : end.getBody().front()) {
      if (!isa<sched::ReadyOp>(op) && !overlap::touchesAny(op, gradients))
        continue;
      reader = &op;
      break;
    }
  if (auto like = dyn_cast_or_null<sched::RunOp>(reader);
      like && overlap::isOverSameLayers(run, like)) {
    b.setInsertionPointToStart(&like.getBody().front());
  } else {
    if (reader)
      b.setInsertionPoint(reader);
    else if (isInSums)
      b.setInsertionPointToStart(&sums.getBody().front());
    else
      b.setInsertionPointToEnd(&(isOnDevice ? last : end).getBody().front());
    auto loop = sched::RunOp::create(b, run.getLoc(), "await", run.getTitle(), run.getTimes(),
                                     /*descending=*/false);
    b.createBlock(&loop.getBody());
  }
  addAwait(events, perPeriod, run.getLoc());
}

namespace {
struct StartReductionsPass : tplan::overlap::impl::StartReductionsPassBase<StartReductionsPass> {
  void runOnOperation() final {
    if (!cost::OverlapChoice(getOperation()).starts(lang::Overlap::Dp))
      return markAllAnalysesPreserved();
    bool isGpu = lang::targetOf(getOperation()).isGpu();
    for (auto program : getOperation().getOps<sched::ProgramOp>())
      for (auto section : llvm::make_early_inc_range(program.getBody().getOps<SectionOp>()))
        if (section.getKind() == TaskKind::R)
          StageReductions(program, section, isGpu).start();
  }
};
} // namespace
