//===- CheckStarts.cpp - check-starts: what a step starts it awaits, untouched ---===//
//
// Plays the step: each call that is started is in flight until the instance of its event is
// awaited. Meanwhile nothing may touch what it writes or write what it reads, its event may not be
// signalled again, and at the end of the step nothing is in flight. What is neither complete where
// it stands nor awaited is refused.
//
// One decision: instances are played one by one, because an await of the wrong layer is an await.
// It costs little: sections in which nothing is started or awaited are looked at only if they touch
// a value of which something is in flight, of their microbatch.
//
//===----------------------------------------------------------------------===//
#include "dialects/sched/Sched.h"
#include "lib/Overlap/Overlap.h"
#include "lib/Schedule/Walk.h"
#include "mlir/IR/BuiltinOps.h"

namespace tplan::overlap {
#define GEN_PASS_DEF_CHECKSTARTSPASS
#include "lib/Overlap/Passes.h.inc"
} // namespace tplan::overlap

using namespace mlir;
using namespace tplan;
using sched::SectionOp;
using sched::Use;
using sched::ValueOp;

namespace {

/// An instance of a value, of a microbatch if it is kept by microbatches.
struct Piece {
  Operation *value;
  int64_t instance, microbatch;
  bool operator==(const Piece &) const = default;
};

struct Flight {
  sched::Step step;
  Piece event;
  SmallVector<Piece> reads, writes;
  bool isComplete = false; // a later one of its channel has been awaited
};

class StepPlayer {
public:
  explicit StepPlayer(sched::ProgramOp program) : program(program) {}

  LogicalResult play() {
    for (auto entry : program.getBody().getOps<sched::EntryOp>())
      if (failed(play(entry)))
        return failure();
    return success();
  }

private:
  sched::ProgramOp program;
  std::vector<Flight> flights;
  /// What is in a section: whether it starts or awaits something, and which values it touches.
  struct Contents {
    bool isConcerned = false;
    llvm::DenseSet<Operation *> values;
  };
  llvm::DenseMap<Operation *, Contents> contents;
  /// What a step does, which is the same in all periods and microbatches.
  struct Facts {
    SmallVector<Use> uses;
    bool isStarted, awaits;
    sched::Resource channel; // only of what is started
  };
  llvm::DenseMap<Operation *, std::unique_ptr<Facts>> known;

  LogicalResult play(sched::EntryOp entry) {
    LogicalResult result = success();
    schedule::forEachExecution(entry, [&](SectionOp section, int64_t microbatch) {
      if (succeeded(result) && isConcerned(section, microbatch))
        result = play(section, microbatch);
    });
    if (failed(result) || flights.empty())
      return result;
    return flights.front().step->emitOpError("is started, and not awaited when the entry ends: ")
           << stringifyEntryKind(entry.getKind());
  }

  const Contents &contentsOf(SectionOp section) {
    auto [known, isNew] = contents.try_emplace(section);
    if (isNew)
      section.walk([&](sched::Step step) {
        known->second.isConcerned |= isa<sched::AwaitOp>(step.getOperation()) || step.getSignal();
        for (const Use &use : step.getUses())
          for (Value value : use.values())
            known->second.values.insert(value.getDefiningOp());
      });
    return known->second;
  }

  bool isConcerned(SectionOp section, int64_t microbatch) {
    const Contents &inside = contentsOf(section);
    auto isTouched = [&](const Piece &piece) {
      bool isKept = cast<ValueOp>(piece.value).getLives() == sched::Life::Microbatch;
      bool isIts = piece.microbatch == microbatch ||
                   piece.microbatch == microbatch + static_cast<int64_t>(section.getShift());
      return inside.values.contains(piece.value) && (!isKept || isIts);
    };
    return inside.isConcerned || llvm::any_of(flights, [&](const Flight &flight) {
             return llvm::any_of(flight.reads, isTouched) || llvm::any_of(flight.writes, isTouched);
           });
  }

  LogicalResult play(SectionOp section, int64_t microbatch) {
    LogicalResult result = success();
    sched::forEachStep(section, [&](sched::Step step, sched::Period period) {
      if (succeeded(result))
        result = play(step, period, microbatch);
    });
    return result;
  }

  static Piece pieceOf(const Use &use, sched::Period period, int64_t microbatch) {
    auto [memory, instance, whose] = sched::evaluate(use, period, microbatch);
    ValueOp value = sched::valueOf(memory);
    bool isKept = value.getLives() == sched::Life::Microbatch;
    return {value, instance, isKept ? whose : 0};
  }

  LogicalResult play(sched::Step step, sched::Period period, int64_t microbatch) {
    const Facts &facts = factsOf(step);
    bool isStarted = facts.isStarted;
    if (flights.empty() && !isStarted && !facts.awaits)
      return success();
    Flight flight{step, {}, {}, {}};
    for (const Use &use : facts.uses) {
      Piece piece = pieceOf(use, period, microbatch);
      if (cast<ValueOp>(piece.value).getOwner() == sched::Owner::Event) {
        if (failed(isStarted ? signal(step, piece) : await(step, piece)))
          return failure();
        flight.event = piece;
        continue;
      }
      if (failed(touch(step, piece, use.writes, isStarted)))
        return failure();
      (use.writes ? flight.writes : flight.reads).push_back(piece);
    }
    if (isStarted)
      flights.push_back(std::move(flight));
    return success();
  }

  LogicalResult signal(sched::Step step, const Piece &event) {
    for (const Flight &flight : flights)
      if (flight.event == event)
        return step->emitOpError("signals an event that has not been awaited since the last time: ")
               << cast<ValueOp>(event.value).getName() << "[" << event.instance << "]";
    return success();
  }

  LogicalResult await(sched::Step step, const Piece &event) {
    auto flight = llvm::find_if(flights, [&](auto &each) { return each.event == event; });
    if (flight == flights.end())
      return step->emitOpError("awaits what has not been started: ")
             << cast<ValueOp>(event.value).getName() << "[" << event.instance << "]";
    for (Flight &before : llvm::make_range(flights.begin(), flight))
      before.isComplete |= haveOneChannel(before.step, flight->step);
    flights.erase(flight);
    return success();
  }

  /// What is started after another call in one channel runs after it. A call goes to the channel of
  /// its first collective, which waits for the others.
  static sched::Resource findChannel(sched::Step step) {
    auto call = dyn_cast<sched::CallOp>(step.getOperation());
    if (!call)
      return step.getResource();
    auto collectives = call.getFunction().getBlock().getOps<rt::CollectiveOp>();
    return {collectives.empty() ? ArrayAttr() : (*collectives.begin()).getAxes()};
  }

  const Facts &factsOf(sched::Step step) {
    std::unique_ptr<Facts> &facts = known[step];
    if (!facts) {
      bool isStarted = step.getSignal().has_value();
      facts = std::make_unique<Facts>(Facts{step.getUses(), isStarted,
                                            isa<sched::AwaitOp>(step.getOperation()),
                                            isStarted ? findChannel(step) : sched::Resource()});
    }
    return *facts;
  }

  bool haveOneChannel(sched::Step step, sched::Step other) {
    return factsOf(step).channel == factsOf(other).channel;
  }

  LogicalResult touch(sched::Step step, const Piece &piece, bool writes, bool isStarted) {
    for (const Flight &flight : flights) {
      bool isUsed = llvm::is_contained(flight.writes, piece) ||
                    (writes && llvm::is_contained(flight.reads, piece));
      if (!isUsed || flight.isComplete || (isStarted && haveOneChannel(step, flight.step)))
        continue;
      auto diag = step->emitOpError("touches what a call in flight uses: ")
                  << cast<ValueOp>(piece.value).getName() << "[" << piece.instance << "]";
      diag.attachNote(flight.step->getLoc()) << "it is started here";
      return diag;
    }
    return success();
  }
};

/// What is neither complete where it stands nor awaited anywhere.
LogicalResult checkWaits(ModuleOp module) {
  for (auto func : module.getOps<rt::FuncOp>())
    for (Operation &op : func.getBlock())
      if (!isa<rt::Call, rt::AwaitOp, rt::ReturnOp>(op))
        return op.emitOpError("has no wait: only calls and awaits may stand in function ")
               << func.getSymName();
  WalkResult late = module.walk([](sched::Step step) {
    Operation *end = step.getCompletion();
    if (end == step || isa<sched::AwaitOp>(end))
      return WalkResult::advance();
    step.emitOpError("has no wait: it is complete at another op, which is no await");
    return WalkResult::interrupt();
  });
  return failure(late.wasInterrupted());
}

struct CheckStartsPass : tplan::overlap::impl::CheckStartsPassBase<CheckStartsPass> {
  void runOnOperation() final {
    markAllAnalysesPreserved();
    if (failed(checkWaits(getOperation())))
      return signalPassFailure();
    for (auto program : getOperation().getOps<sched::ProgramOp>())
      if (failed(StepPlayer(program).play()))
        return signalPassFailure();
  }
};
} // namespace
