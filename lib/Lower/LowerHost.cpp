//===- LowerHost.cpp - the host program becomes LLVM ----------------------===//
#include "dialects/tplan/Settings.h"
#include "lib/Lower/Host/Functions.h"
#include "lib/Lower/Host/Program.h"
#include "lib/Lower/Host/SharedSections.h"
#include "lib/Lower/Lower.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace tplan::lower {
#define GEN_PASS_DEF_LOWERHOSTPASS
#include "lib/Lower/Passes.h.inc"
} // namespace tplan::lower

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

namespace {
struct LowerHostPass : tplan::lower::impl::LowerHostPassBase<LowerHostPass> {
  LogicalResult run() {
    ModuleOp module = getOperation();
    std::vector<HostProgram> programs;
    HostBuilder host(module);
    for (auto program : module.getOps<sched::ProgramOp>())
      if (program.getArena())
        programs.push_back({program, HostPlaces(host, program), {}, memory::countGraphs(program)});
    if (programs.empty())
      return module.emitError("there is no placed sched.program to lower");
    HostGroups groups(module);
    HostCalls calls(host, groups, module);
    // Programs read the functions, so those go only when all code is written.
    auto functions = llvm::to_vector(module.getOps<rt::FuncOp>());
    for (rt::FuncOp func : functions)
      lowerFunction(host, groups, calls, func);
    host.declare("tp_gradients_ready", {host.ptr});
    for (StringRef entry :
         {"tp_prepare", "tp_train", "tp_train_early", "tp_evaluate", "tp_predict"})
      host.declare(entry, {host.ptr, host.ptr});
    SharedSections shared(host, groups, calls);
    for (HostProgram &program : programs) {
      program.entries = emitEntryPoints(host, shared, program.places, program.op);
    }
    emitTables(host, groups, calls, programs);

    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (op.getName().getDialectNamespace() != "llvm" && !isa<gpu::GPUModuleOp>(op))
        op.erase();
    module->removeAttr(lang::kTarget);
    return success();
  }

  void runOnOperation() final {
    if (failed(run()))
      signalPassFailure();
  }
};
} // namespace
