//===- OrderCalls.cpp - order-calls: a collective runs beside other calls ----===//
//
// In each function a collective is started as soon as what it reads is there, and awaited before
// the first call that reads what it makes. Where a call would wait, a later one that need not wait
// is done first, or what most work and waits depend on (FunctionOrder.h).
//
// One decision: a function in which nothing is gained stays as it is. Where costs decide what is
// started and the ranks that call it are short of memory, a function also holds no more at once
// than it did before, and what these ranks have to spare.
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
    auto mayFly = [&](rt::CollectiveOp op) { return choice.mayFly(op); };
    llvm::DenseSet<Operation *> hasRoom; // functions that a program with room calls
    llvm::DenseMap<Operation *, int64_t> spare;
    for (auto [i, program] : llvm::enumerate(getOperation().getOps<sched::ProgramOp>())) {
      cost::Room room = cost::roomOf(getOperation(), i);
      program.walk([&](sched::CallOp call) {
        if (room.ordersFreely())
          hasRoom.insert(call.getFunction());
        int64_t &least = spare.try_emplace(call.getFunction(), room.spare).first->second;
        least = std::min(least, room.spare);
      });
    }
    for (auto func : getOperation().getOps<rt::FuncOp>()) {
      std::optional<int64_t> bytes;
      if (choice.keepsMemory())
        bytes = 0;
      else if (spare.contains(func) && !hasRoom.contains(func))
        bytes = spare.at(func);
      overlap::FunctionOrder(func, prices, mayFly).apply(bytes);
    }
  }
};
} // namespace
