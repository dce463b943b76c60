//===- UpdateEarly.cpp - update-early: a layer is updated while others are summed ---===//
//
// The end of a step awaits the sums of one layer's gradients after the other's, and adds up their
// norm. Where nothing that comes of all gradients goes into the updates, neither a clip nor a scale
// of f16, a layer is updated there, too: its update runs while the gradients of earlier layers are
// still summed.
//
// One decision: whether something global precedes an update is read off the program, not the plan:
// an update that reads or writes what is touched between stays where it is.
//
//===----------------------------------------------------------------------===//
#include "lib/Cost/OverlapChoice.h"
#include "lib/Overlap/Layers.h"
#include "lib/Overlap/Overlap.h"

namespace tplan::overlap {
#define GEN_PASS_DEF_UPDATEEARLYPASS
#include "lib/Overlap/Passes.h.inc"
} // namespace tplan::overlap

using namespace mlir;
using namespace tplan;
using namespace tplan::overlap;
using sched::RunOp;
using sched::Use;

namespace {
/// Instances of gradients, by the period of a loop.
using Gradients = SmallVector<std::pair<Value, AffineMap>>;
} // namespace

static Gradients gradientsOf(RunOp run) {
  Gradients gradients;
  run.walk([&](sched::Step step) {
    for (const Use &each : step.getUses())
      if (sched::valueOf(each.value).getOwner() == sched::Owner::Gradient)
        gradients.push_back({each.value, each.instance});
  });
  return gradients;
}

/// Whether a loop is nothing but calls that exchange nothing.
static bool isPlainUpdate(RunOp run) {
  return llvm::all_of(run.getBody().front(), [](Operation &op) {
    auto call = dyn_cast<sched::CallOp>(op);
    return call && !call.getStarted() &&
           call.getFunction().getBlock().getOps<rt::CollectiveOp>().empty();
  });
}

/// Whether an update touches what the loop of the norm writes: the sum of all layers.
static bool touchesSum(RunOp norm, RunOp update) {
  llvm::SmallDenseSet<Value> written;
  norm.walk([&](sched::CallOp call) {
    for (const Use &each : call.getUses())
      if (each.writes && each.value != call.getFrame())
        written.insert(each.value);
  });
  WalkResult found = update.walk([&](sched::Step step) {
    bool touches =
        llvm::any_of(step.getUses(), [&](const Use &each) { return written.contains(each.value); });
    return touches ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found.wasInterrupted();
}

/// Whether a loop awaits the gradients of its layers, period by period, and those are what an
/// update reads.
static bool awaitsFor(RunOp norm, RunOp update) {
  if (norm.getTimes() != update.getTimes() || touchesSum(norm, update) ||
      norm.getBody().front().getOps<sched::AwaitOp>().empty())
    return false;
  Gradients awaited = gradientsOf(norm);
  return llvm::all_of(gradientsOf(update),
                      [&](const auto &each) { return llvm::is_contained(awaited, each); });
}

/// Whether an update may pass all that is between the loop of the norm and it. Gradients, which it
/// clears, are its layer's own.
static bool mayPass(RunOp norm, RunOp update) {
  Effects between, own;
  for (Operation *op = norm->getNextNode(); op != update; op = op->getNextNode())
    between.add(op);
  own.add(update.getOperation());
  return !own.meets(between);
}

/// The loop in which an update can be done as soon as its gradients are there; or none.
static RunOp placeOf(RunOp update) {
  for (Operation *op = update->getPrevNode(); op; op = op->getPrevNode())
    if (auto norm = dyn_cast<RunOp>(op); norm && awaitsFor(norm, update))
      return mayPass(norm, update) ? norm : RunOp();
  return {};
}

/// Updates that can be early; what writes gradients out comes before the first of them, which
/// clears its own.
static void updateEarly(sched::SectionOp end) {
  bool isAnyEarly = false;
  for (auto run : llvm::make_early_inc_range(end.getBody().getOps<RunOp>()))
    if (RunOp place = isPlainUpdate(run) ? placeOf(run) : RunOp()) {
      Block &body = place.getBody().front();
      body.getOperations().splice(body.end(), run.getBody().front().getOperations());
      run.erase();
      isAnyEarly = true;
    }
  if (isAnyEarly)
    for (auto ready : llvm::make_early_inc_range(end.getBody().getOps<sched::ReadyOp>()))
      ready->moveBefore(&end.getBody().front(), end.getBody().front().begin());
}

namespace {
struct UpdateEarlyPass : tplan::overlap::impl::UpdateEarlyPassBase<UpdateEarlyPass> {
  void runOnOperation() final {
    if (!cost::OverlapChoice(getOperation()).starts(lang::Overlap::Dp))
      return markAllAnalysesPreserved();
    for (auto program : getOperation().getOps<sched::ProgramOp>())
      if (auto end = program.lookupSymbol<sched::SectionOp>("end"))
        updateEarly(end);
  }
};
} // namespace
