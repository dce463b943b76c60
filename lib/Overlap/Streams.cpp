//===- Streams.cpp - which stream runs what is exchanged --------------------===//
#include "lib/Overlap/Streams.h"
#include "dialects/rt/RT.h"
#include "dialects/tplan/Settings.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::overlap;

/// The stream of a group; of a channel, if the ends are unlike: these are counted from the rank, so
/// that all ranks number their streams alike.
int64_t Streams::of(ArrayAttr axes, int64_t from, int64_t to) {
  auto stream = sched::StreamAttr::get(axes.getContext(), axes, from, to);
  auto found = llvm::find(all, stream);
  if (found == all.end())
    found = all.insert(all.end(), stream);
  return 1 + (found - all.begin());
}

void Streams::add(rt::FuncOp func) {
  SmallVector<rt::CollectiveOp> bucket;
  for (Operation &op : func.getBlock().without_terminator()) {
    auto collective = dyn_cast<rt::CollectiveOp>(op);
    bool isOther =
        collective && !bucket.empty() && bucket.front().getAxes() != collective.getAxes();
    if (isOther || sched::endsBucket(bucket, &op))
      bucket.clear();
    if (!collective)
      continue;
    events += bucket.empty() ? 2 : 0;
    bucket.push_back(collective);
    turns[collective] = {of(collective.getAxes()), events - 2, events - 1};
  }
}

/// A started call goes to the stream of the first collective of its function.
void Streams::add(sched::CallOp call) {
  rt::FuncOp func = call.getFunction();
  int64_t home = turns.lookup(*func.getBlock().getOps<rt::CollectiveOp>().begin()).stream;
  turns[call] = {home, events, events + 1};
  events += 2;
  homes[func] = home;
}

void Streams::add(sched::Step step) {
  if (auto call = dyn_cast<sched::CallOp>(step.getOperation()); call && call.getStarted())
    return add(call);
  sched::Resource resource = step.getResource();
  if (!resource.axes)
    return;
  int64_t here = step->getParentOfType<sched::ProgramOp>().getRank().value_or(0);
  auto [from, to] = resource.ends;
  int64_t stream = from == to ? of(resource.axes) : of(resource.axes, from - here, to - here);
  turns[step] = {stream, events, events + 1};
  events += 2;
}

bool Streams::areNeeded(ModuleOp module) {
  WalkResult started = module.walk([](Operation *op) {
    auto collective = dyn_cast<rt::CollectiveOp>(op);
    auto step = dyn_cast<sched::Step>(op);
    bool isStarted = (collective && collective.getEvent()) || (step && step.getSignal());
    return isStarted ? WalkResult::interrupt() : WalkResult::advance();
  });
  return started.wasInterrupted() || lang::targetOf(module).isGpu();
}

Streams::Streams(ModuleOp module) {
  for (auto func : module.getOps<rt::FuncOp>())
    add(func);
  module.walk([&](sched::Step step) { add(step); });
}
