//===- Layers.h - what a section does for each layer ------------------------===//
//
// The ops of a run as layers in sequence: what a layer gathers, its work, what it sums, and what
// waits for that sum. `rotate-layers` moves the exchanges among layers, and asks here what may pass
// what.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_OVERLAP_LAYERS_H
#define TPLAN_OVERLAP_LAYERS_H

#include "dialects/sched/Sched.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include <vector>

namespace tplan::overlap {

/// What a section does for a layer, in its order.
struct Layer {
  using Ops = llvm::SmallVector<mlir::Operation *, 2>;
  sched::CallOp gather; // or null
  Ops work;
  sched::CallOp sum; // or null
  Ops beside;        // what need not wait for the sum
  Ops afterSum;      // what needs it
};

/// The layers of one period of a run.
std::vector<Layer> layersOf(sched::RunOp run);
/// Whether any of them gathers or sums something in a call of its own.
bool exchangesAny(llvm::ArrayRef<Layer> layers);
/// Whether the exchanges of layers, in so many periods, may pass their neighbours' work.
bool mayRotate(llvm::ArrayRef<Layer> layers, int64_t times);

/// Whether an op is a run that does nothing but call functions for a layer each, to their ends.
bool isOfCalls(sched::RunOp run);
/// Whether another loop touches, in each period, the gradients that this one does: it is over the
/// same layers.
bool isOverSameLayers(sched::RunOp run, sched::RunOp other);

/// Periods of a loop, by those of a new one.
struct Periods {
  mlir::AffineExpr at; // of the new one's period
  int64_t first, count;
  static Periods of(mlir::MLIRContext *context, int64_t first, int64_t count);
  bool contains(int64_t period) const { return period >= first && period < first + count; }
};
/// Makes a use in a loop of so many `times` one in some of its periods. At a border it may become
/// one of the border's value.
void substitute(sched::Use &use, const Periods &periods, int64_t times);

/// An empty loop like a run, of so many periods, in which ops then go.
sched::RunOp beginRun(mlir::OpBuilder &b, sched::RunOp like, int64_t times);
/// The same exchange with these uses, started: it signals an event.
void startExchange(mlir::OpBuilder &b, sched::CallOp exchange, llvm::SmallVector<sched::Use> uses,
                   const sched::Use &event);

/// Whether a use is of what `cut-exchanges` cut: what a layer has in flight within its section.
bool isInFlight(const sched::Use &use);

/// Which values ops read and write, but what is theirs alone: frames and what is in flight.
class Effects {
public:
  void add(mlir::Operation *op);
  void add(llvm::ArrayRef<mlir::Operation *> ops) {
    for (mlir::Operation *op : ops)
      add(op);
  }
  /// Whether the order of the two matters.
  bool meets(const Effects &other) const {
    return meets(writes, other.reads) || meets(writes, other.writes) || meets(reads, other.writes);
  }

private:
  llvm::SetVector<mlir::Value> reads, writes;
  static bool meets(const llvm::SetVector<mlir::Value> &some,
                    const llvm::SetVector<mlir::Value> &others) {
    return llvm::any_of(some, [&](mlir::Value each) { return others.contains(each); });
  }
};

/// What a layer does before its neighbour's sum is awaited.
Effects effectsBefore(const Layer &layer);
/// Its sum, and what needs it.
Effects effectsOfSum(const Layer &layer);

} // namespace tplan::overlap

#endif // TPLAN_OVERLAP_LAYERS_H
