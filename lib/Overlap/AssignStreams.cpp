//===- AssignStreams.cpp - assign-streams: who runs what is started ----------===//
//
// Streams follow from starts and awaits, and are written down here, once: a stream for the
// collectives of each group, and for the messages of each channel. Collectives that are issued
// together have one turn: an event before them and one after them.
//
// One decision: where anything is started, everything that ranks exchange has a stream, because the
// operations of a group have one order.
//
//===----------------------------------------------------------------------===//
#include "dialects/rt/RT.h"
#include "dialects/sched/Sched.h"
#include "dialects/tplan/Settings.h"
#include "lib/Overlap/Overlap.h"
#include "mlir/IR/Builders.h"

namespace tplan::overlap {
#define GEN_PASS_DEF_ASSIGNSTREAMSPASS
#include "lib/Overlap/Passes.h.inc"
} // namespace tplan::overlap

using namespace mlir;
using namespace tplan;

namespace {
class Streams {
public:
  explicit Streams(ModuleOp module) : module(module), b(module.getContext()) {}

  /// The stream of a group; of a channel, if the ends are unlike: these are counted from the rank,
  /// so that all ranks number their streams alike.
  int64_t of(ArrayAttr axes, int64_t from = 0, int64_t to = 0) {
    auto stream = sched::StreamAttr::get(axes.getContext(), axes, from, to);
    auto found = llvm::find(all, stream);
    if (found == all.end())
      found = all.insert(all.end(), stream);
    return 1 + (found - all.begin());
  }

  void assign(Operation *op, int64_t stream, int64_t firstEvent) {
    op->setAttr(sched::kStream, b.getI64IntegerAttr(stream));
    op->setAttr(sched::kTurn, b.getDenseI64ArrayAttr({firstEvent, firstEvent + 1}));
  }

  void assign(rt::FuncOp func) {
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
      assign(collective, of(collective.getAxes()), events - 2);
    }
  }

  /// A started call goes to the stream of the first collective of its function.
  void assign(sched::CallOp call) {
    rt::FuncOp func = call.getFunction();
    auto first = *func.getBlock().getOps<rt::CollectiveOp>().begin();
    assign(call, sched::streamOf(first), events);
    events += 2;
    func->setAttr(sched::kStream, b.getI64IntegerAttr(sched::streamOf(first)));
  }

  void assign(sched::Step step) {
    if (auto call = dyn_cast<sched::CallOp>(step.getOperation()); call && call.getStarted())
      return assign(call);
    sched::Resource resource = step.getResource();
    if (!resource.axes)
      return;
    int64_t here = step->getParentOfType<sched::ProgramOp>().getRank().value_or(0);
    auto [from, to] = resource.ends;
    assign(step, from == to ? of(resource.axes) : of(resource.axes, from - here, to - here),
           events);
    events += 2;
  }

  void run() {
    for (auto func : module.getOps<rt::FuncOp>())
      assign(func);
    module.walk([&](sched::Step step) { assign(step); });
    module->setAttr(sched::kStreams,
                    b.getArrayAttr(SmallVector<Attribute>(all.begin(), all.end())));
    module->setAttr(sched::kEvents, b.getI64IntegerAttr(events));
  }

private:
  ModuleOp module;
  Builder b;
  std::vector<sched::StreamAttr> all; // streams 1, 2, ..., in the order in which they are asked for
  int64_t events = 0;
};

struct AssignStreamsPass : tplan::overlap::impl::AssignStreamsPassBase<AssignStreamsPass> {
  void runOnOperation() final {
    WalkResult started = getOperation().walk([](Operation *op) {
      auto collective = dyn_cast<rt::CollectiveOp>(op);
      auto call = dyn_cast<sched::CallOp>(op);
      bool isStarted = (collective && collective.getEvent()) || (call && call.getStarted());
      return isStarted ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (started.wasInterrupted() || lang::targetOf(getOperation()).isGpu())
      Streams(getOperation()).run();
    else
      markAllAnalysesPreserved();
  }
};
} // namespace
