//===- gpu-on-cpu.h - kernels for GPUs, run without one -------------------===//
//
// The LLVM IR that becomes PTX is compiled for this machine instead, and every thread
// of a block is a fiber. Shuffles and barriers are where fibers change, so a kernel
// whose threads do not all come to the same one fails here.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_LOWER_GPU_ON_CPU_H
#define TPLAN_TEST_LOWER_GPU_ON_CPU_H

#include <memory>
#include <string>
#include <vector>

class GpuOnCpu {
public:
  /// Compiles the only rt.kernel or rt.tile of a module in text; ends the process with diagnostics
  /// where it fails.
  explicit GpuOnCpu(const std::string &mlir);
  ~GpuOnCpu();
  /// Runs all blocks, the last one first: their order may not matter.
  void run(std::vector<void *> args);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

#endif // TPLAN_TEST_LOWER_GPU_ON_CPU_H
