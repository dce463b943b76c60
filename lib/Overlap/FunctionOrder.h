//===- FunctionOrder.h - the calls of a function, in time -------------------===//
//
// Plays the calls of a function at their prices, with collectives beside them: where a call would
// wait for one, a later call that need not wait is done first.
//
// One decision: calls keep their order otherwise, or, where that is faster, what leads to most work
// and waits comes first: then weights' gradients are left for the time of a sum. Or else what leads
// to the next collective soonest, so that of several chunks one goes on and the others wait: that
// keeps the links busy, where they are what takes most time.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_OVERLAP_FUNCTIONORDER_H
#define TPLAN_OVERLAP_FUNCTIONORDER_H

#include "lib/Cost/Play.h"
#include "lib/Cost/Prices.h"
#include <limits>
#include <optional>

namespace tplan::overlap {

/// The share of a function's time that must be gained to be worth its events.
inline constexpr double kLeastGain = 0.001;

class FunctionOrder {
public:
  using MayFly = llvm::function_ref<bool(rt::CollectiveOp)>;
  using IsLeftOut = llvm::function_ref<bool(mlir::Operation *)>;

  /// `mayFly`: which collectives may be started. `isLeftOut`: calls that are done elsewhere, and
  /// take no time.
  FunctionOrder(
      rt::FuncOp func, const cost::Prices &prices, MayFly mayFly,
      IsLeftOut isLeftOut = [](mlir::Operation *) { return false; });

  /// What the function takes in the order that is found, or in its own if that takes no longer.
  double seconds();
  /// Reorders the calls, and starts those whose time other calls then hide. `spare`: bytes that the
  /// frame may hold more than before, where memory is short.
  void apply(std::optional<int64_t> spare);

private:
  struct Call {
    mlir::Operation *op;
    double seconds;                  // alone
    double memory;                   // the share of the device's memory bandwidth, of a kernel
    cost::Load load;                 // of a collective
    bool isShort;                    // a collective that mostly waits, whatever it moves
    bool mayFly;                     // a collective that may run beside other calls
    llvm::SmallVector<size_t> needs; // calls that come before it
    int64_t bytes = 0;               // of what it makes that the function's frame holds
    llvm::SmallVector<size_t> until; // calls after which nobody reads that any more
  };
  class Frame;

  rt::FuncOp func;
  std::vector<Call> calls;
  llvm::DenseMap<mlir::Operation *, size_t> number;
  std::vector<size_t> firstReader; // of what each call makes
  std::vector<double> urgency;     // seconds from the begin of a call to the end, if nothing waits
  std::vector<double> untilNext;   // and to the next collective that it leads to
  llvm::SmallVector<size_t> order;
  int64_t peakBefore = 0; // bytes that the frame holds at once, where each call is waited for
  int64_t most = std::numeric_limits<int64_t>::max(); // that it may hold

  bool fliesAny() const {
    return llvm::any_of(calls, [](const Call &call) { return call.mayFly; });
  }
  double secondsBefore() const;
  void findNeeds();
  int64_t peakOf(llvm::ArrayRef<size_t> order) const;
  /// Which of the calls that can begin is taken: the first in their order, the most urgent one, or
  /// the one that leads to a collective soonest.
  enum class Rule { Listed, Urgent, Feeding };
  double schedule();
  double schedule(Rule rule, llvm::SmallVector<size_t> &found) const;
  void startAll();
  static rt::CollectiveOp start(rt::CollectiveOp op);
};

} // namespace tplan::overlap

#endif // TPLAN_OVERLAP_FUNCTIONORDER_H
