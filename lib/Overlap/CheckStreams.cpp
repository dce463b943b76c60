//===- CheckStreams.cpp - check-streams: streams are those that starts ask for ---===//
//
// What is exchanged is in the stream of its group or channel, so that the operations of a group
// have one order, and the event of what is in flight is nobody else's until it is awaited. Events
// are names, so nothing else matters about them.
//
//===----------------------------------------------------------------------===//
#include "dialects/rt/RT.h"
#include "lib/Overlap/Overlap.h"
#include "lib/Overlap/Streams.h"

namespace tplan::overlap {
#define GEN_PASS_DEF_CHECKSTREAMSPASS
#include "lib/Overlap/Passes.h.inc"
} // namespace tplan::overlap

using namespace mlir;
using namespace tplan;

namespace {
class StreamChecker {
public:
  explicit StreamChecker(ModuleOp module) : module(module), wanted(module) {
    if (auto named = module->getAttrOfType<ArrayAttr>(sched::kStreams))
      streams.append(named.getAsRange<sched::StreamAttr>().begin(),
                     named.getAsRange<sched::StreamAttr>().end());
    auto number = module->getAttrOfType<IntegerAttr>(sched::kEvents);
    events = number ? number.getInt() : 0;
  }
  LogicalResult check();

private:
  ModuleOp module;
  overlap::Streams wanted;
  SmallVector<sched::StreamAttr> streams; // 1, 2, ...
  int64_t events;

  LogicalResult check(Operation *op, int64_t stream);
  LogicalResult checkHeld(rt::CollectiveOp flight);
  LogicalResult checkStream(Operation *op, int64_t stream, int64_t wants);
  LogicalResult checkCalls();
};
} // namespace

LogicalResult StreamChecker::checkStream(Operation *op, int64_t stream, int64_t wants) {
  auto found = stream > 0 && stream <= static_cast<int64_t>(streams.size()) ? streams[stream - 1]
                                                                            : sched::StreamAttr();
  if (found && found == wanted.all[wants - 1])
    return success();
  return op->emitOpError("needs the stream ")
         << wanted.all[wants - 1] << ", found stream " << stream;
}

LogicalResult StreamChecker::check(Operation *op, int64_t stream) {
  sched::Turn found = sched::Turn::of(op);
  if (failed(checkStream(op, found.stream, stream)))
    return failure();
  for (int64_t event : {found.before, found.after})
    if (event < 0 || event >= events)
      return op->emitOpError("names an event of ") << events << ", found " << event;
  if (found.before == found.after)
    return op->emitOpError("needs two events, found ") << found.before << " twice";
  auto collective = dyn_cast<rt::CollectiveOp>(op);
  return collective && collective.getEvent() ? checkHeld(collective) : success();
}

/// The event of what is in flight is recorded by others only if they are awaited with it, in order.
LogicalResult StreamChecker::checkHeld(rt::CollectiveOp flight) {
  sched::Turn held = sched::Turn::of(flight);
  Operation *end = flight.getCompletion();
  for (Operation *op = flight->getNextNode(); op != end; op = op->getNextNode()) {
    auto other = dyn_cast<rt::CollectiveOp>(op);
    if (!other)
      continue;
    sched::Turn turn = sched::Turn::of(other);
    bool isTogether = other.getCompletion() == end && turn.stream == held.stream;
    if (turn.before == held.after || (turn.after == held.after && !isTogether)) {
      auto diag = other.emitOpError("names an event that a collective in flight holds: ")
                  << held.after;
      diag.attachNote(flight.getLoc()) << "it is started here";
      return diag;
    }
  }
  return success();
}

/// A function that is started runs in a stream as a whole, so whoever waits for it needs another.
LogicalResult StreamChecker::checkCalls() {
  llvm::DenseMap<rt::FuncOp, sched::CallOp> started;
  module.walk([&](sched::CallOp call) {
    if (call.getStarted())
      started[call.getFunction()] = call;
  });
  WalkResult all = module.walk([&](sched::CallOp call) {
    auto other = started.find(call.getFunction());
    if (call.getStarted() || other == started.end())
      return WalkResult::advance();
    auto diag = call.emitOpError("waits for a function that another call starts: ")
                << call.getCallee();
    diag.attachNote(other->second.getLoc()) << "it is started here";
    return WalkResult::interrupt();
  });
  return failure(all.wasInterrupted());
}

LogicalResult StreamChecker::check() {
  llvm::SmallDenseSet<Attribute> known;
  for (sched::StreamAttr stream : streams)
    if (!known.insert(stream).second)
      return module.emitError("has two streams ") << stream;
  for (auto [op, turn] : wanted.turns)
    if (failed(check(op, turn.stream)))
      return failure();
  for (auto [func, home] : wanted.homes)
    if (failed(checkStream(func, sched::streamOf(func), home)))
      return failure();
  return checkCalls();
}

namespace {
struct CheckStreamsPass : tplan::overlap::impl::CheckStreamsPassBase<CheckStreamsPass> {
  void runOnOperation() final {
    markAllAnalysesPreserved();
    ModuleOp module = getOperation();
    if (overlap::Streams::areNeeded(module) && failed(StreamChecker(module).check()))
      signalPassFailure();
  }
};
} // namespace
