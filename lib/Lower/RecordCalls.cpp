//===- RecordCalls.cpp - what calls cost stands beside them ---------------===//
#include "lib/Lower/Host/Functions.h"
#include "lib/Lower/Lower.h"

namespace tplan::lower {
#define GEN_PASS_DEF_RECORDCALLSPASS
#include "lib/Lower/Passes.h.inc"
} // namespace tplan::lower

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

static rt::Category categoryOf(rt::Call call, rt::FuncOp func) {
  rt::Category category = call.getCategory();
  bool updates = func.getPart() == nn::Part::Update;
  return category == rt::Category::Kernel && updates ? rt::Category::Optimizer : category;
}

namespace {
struct RecordCallsPass : tplan::lower::impl::RecordCallsPassBase<RecordCallsPass> {
  void runOnOperation() final {
    SymbolTable symbols(getOperation());
    for (auto func : getOperation().getOps<rt::FuncOp>())
      for (auto call : func.getBlock().getOps<rt::Call>()) {
        int64_t tasks = 1;
        if (auto launch = dyn_cast<rt::LaunchOp>(call.getOperation())) {
          Operation *def = symbols.lookup(launch.getKernel());
          if (auto kernel = dyn_cast_or_null<rt::KernelOp>(def)) {
            tasks = kernel.getNumTasks();
          } else if (auto tile = dyn_cast_or_null<rt::TileOp>(def)) {
            tasks = tile.getNumTasks();
          } else {
            launch.emitOpError("launches no kernel: ") << launch.getKernelAttr();
            return signalPassFailure();
          }
        }
        call->setAttr(kCallRecord,
                      rt::CallRecordAttr::get(&getContext(), categoryOf(call, func), tasks,
                                              call.getFlops(), call.getBytes()));
      }
  }
};
} // namespace
