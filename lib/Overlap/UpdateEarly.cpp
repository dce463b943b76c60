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

/// Whether a loop is updates of parameters that exchange nothing.
static bool isPlainUpdate(RunOp run) {
  return run.getWhat() == nn::stringifyPart(nn::Part::Update) &&
         llvm::all_of(run.getBody().front(), [](Operation &op) {
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
  return isOverSameLayers(update, norm) && !touchesSum(norm, update) &&
         !norm.getBody().front().getOps<sched::AwaitOp>().empty();
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

/// Whether an op completes gradients. Updates clear them.
static bool completesGradients(Operation &op) {
  auto run = dyn_cast<RunOp>(op);
  WalkResult found = op.walk([&](sched::Step step) {
    bool writes = llvm::any_of(step.getUses(), [](const Use &each) {
      return each.writes && sched::valueOf(each.value).getOwner() == sched::Owner::Gradient;
    });
    return writes ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found.wasInterrupted() && !(run && run.getWhat() == nn::stringifyPart(nn::Part::Update));
}

namespace {

/// The end of a step of a program: updates that can be early, and the loops where they go.
struct EndOfStep {
  sched::SectionOp section;
  SmallVector<std::pair<RunOp, RunOp>> early;

  explicit EndOfStep(sched::SectionOp section) : section(section) {
    for (auto run : section.getBody().getOps<RunOp>())
      if (RunOp place = isPlainUpdate(run) ? placeOf(run) : RunOp())
        early.push_back({run, place});
  }

  /// Whether gradients are complete, or under way, where they would be written out.
  bool mayMoveReady() {
    for (Operation *op = placeOfReady(); op; op = op->getNextNode())
      if (completesGradients(*op))
        return false;
    return true;
  }

  /// Before the first update that clears gradients, or the first thing that all stages do together:
  /// they also write gradients out together.
  Operation *placeOfReady() {
    for (Operation &op : section.getBody().front())
      if (isa<sched::AllReduceOp>(op) ||
          llvm::is_contained(llvm::make_second_range(early), dyn_cast<RunOp>(op)))
        return &op;
    return nullptr;
  }

  void moveReady() {
    if (Operation *place = placeOfReady())
      for (auto ready : llvm::make_early_inc_range(section.getBody().getOps<sched::ReadyOp>()))
        ready->moveBefore(place);
  }

  void moveUpdates() {
    for (auto [run, place] : early) {
      Block &body = place.getBody().front();
      body.getOperations().splice(body.end(), run.getBody().front().getOperations());
      run.erase();
    }
  }
};

struct UpdateEarlyPass : tplan::overlap::impl::UpdateEarlyPassBase<UpdateEarlyPass> {
  void runOnOperation() final {
    if (!cost::OverlapChoice(getOperation()).starts(lang::Overlap::Dp))
      return markAllAnalysesPreserved();
    SmallVector<EndOfStep> ends;
    for (auto program : getOperation().getOps<sched::ProgramOp>())
      if (auto end = program.lookupSymbol<sched::SectionOp>("end"))
        ends.emplace_back(end);
    if (llvm::all_of(ends, [](const EndOfStep &each) { return each.early.empty(); }) ||
        !llvm::all_of(ends, [](EndOfStep &each) { return each.mayMoveReady(); }))
      return markAllAnalysesPreserved();
    for (EndOfStep &end : ends) {
      end.moveReady();
      end.moveUpdates();
    }
  }
};

} // namespace
