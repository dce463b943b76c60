//===- attention-jit.cpp - attention kernels from text, run in process ----===//
#include "test/lower/attention-jit.h"
#include "mlir/Pass/PassManager.h"
#include "test/lower/gpu-on-cpu.h"
#include "test/lower/jit.h"

using namespace tplan::test;

AttentionKernel::~AttentionKernel() = default;

AttentionKernel::AttentionKernel(const std::string &text, const JitOptions &options) {
  if (options.gpu) {
    gpu = std::make_unique<GpuOnCpu>(text);
    return;
  }
  std::string name;
  jit = std::make_unique<Jit>(text, options.cpu, [&](mlir::ModuleOp module) {
    auto tile = *module.getOps<rt::TileOp>().begin();
    name = tile.getSymName().str();
    tasks = tile.getNumTasks();
    flops = tile.getFlops();
    mlir::PassManager pm(module.getContext());
    pm.addPass(lower::createLowerAttentionPass(
        {.rows = options.block.rows, .vectors = options.block.vectors}));
    if (failed(pm.run(module)))
      exit(1);
  });
  kernel = jit->get(name);
}

void AttentionKernel::run(const std::vector<void *> &args) const {
  if (gpu)
    return gpu->run(args);
  for (int64_t task = 0; task < tasks; ++task)
    kernel(args.data(), task);
}
