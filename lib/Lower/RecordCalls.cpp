//===- RecordCalls.cpp - what calls cost stands beside them ---------------===//
#include "lib/Lower/Host/Functions.h"
#include "lib/Lower/Lower.h"
#include "llvm/ADT/StringSwitch.h"

namespace tplan::lower {
#define GEN_PASS_DEF_RECORDCALLSPASS
#include "lib/Lower/Passes.h.inc"
} // namespace tplan::lower

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

static int64_t categoryOf(rt::Call call, rt::FuncOp func) {
  bool update = func.getPart() == nn::Part::Update;
  return llvm::StringSwitch<int64_t>(call.getCategory())
      .Case("gemm", TP_GEMM)
      .Case("attention", TP_ATTENTION)
      .Case("copy", TP_COPY)
      .Case("collective", TP_COLLECTIVE)
      .Default(update ? TP_OPTIMIZER : TP_KERNEL);
}

namespace {
struct RecordCallsPass : tplan::lower::impl::RecordCallsPassBase<RecordCallsPass> {
  void runOnOperation() final {
    SymbolTable symbols(getOperation());
    Builder b(&getContext());
    auto number = [&](StringRef name, int64_t value) {
      return b.getNamedAttr(name, b.getI64IntegerAttr(value));
    };
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
                      b.getDictionaryAttr({number("tasks", tasks), number("flops", call.getFlops()),
                                           number("bytes", call.getBytes()),
                                           number("category", categoryOf(call, func))}));
      }
  }
};
} // namespace
