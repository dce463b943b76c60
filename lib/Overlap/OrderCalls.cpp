//===- OrderCalls.cpp - order-calls: a collective runs beside other calls ----===//
//
// In each function a collective is started as soon as what it reads is there, and awaited before
// the first call that reads what it makes. Where a call would wait, a later one that need not wait
// is done first, or what most work and waits depend on (FunctionOrder.h).
//
// One decision: a function in which nothing is gained stays as it is. Where costs decide what is
// started and the ranks that call it have no memory to spare, a function also holds no more at once
// than it did before.
//
//===----------------------------------------------------------------------===//
#include "lib/Cost/MemorySearch.h"
#include "lib/Cost/OverlapChoice.h"
#include "lib/Overlap/FunctionOrder.h"
#include "lib/Overlap/Overlap.h"

namespace tplan::overlap {
#define GEN_PASS_DEF_ORDERCALLSPASS
#include "lib/Overlap/Passes.h.inc"
} // namespace tplan::overlap

using namespace mlir;
using namespace tplan;

namespace {
struct OrderCallsPass : tplan::overlap::impl::OrderCallsPassBase<OrderCallsPass> {
  void runOnOperation() final {
    lang::Settings settings(getOperation());
    dist::MeshAttr mesh = dist::meshOf(getOperation());
    if (mesh.getNumRanks() == 1)
      return markAllAnalysesPreserved();
    cost::Prices prices(settings, mesh);
    cost::OverlapChoice choice(getOperation(), settings, prices);
    auto mayFly = [&](rt::CollectiveOp op) { return choice.starts(cost::overlapKindOf(op)); };
    llvm::DenseSet<Operation *> hasRoom, isShort; // functions, by the programs that call them
    for (auto [i, program] : llvm::enumerate(getOperation().getOps<sched::ProgramOp>())) {
      bool isFree = cost::roomOf(getOperation(), i).ordersFreely();
      program.walk(
          [&](sched::CallOp call) { (isFree ? hasRoom : isShort).insert(call.getFunction()); });
    }
    for (auto func : getOperation().getOps<rt::FuncOp>()) {
      bool keepsMemory = isShort.contains(func) && !hasRoom.contains(func);
      overlap::FunctionOrder(func, prices, mayFly).apply(choice.keepsMemory() || keepsMemory);
    }
  }
};
} // namespace
