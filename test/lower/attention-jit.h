//===- attention-jit.h - attention kernels from text, run in process ------===//
#ifndef TPLAN_TEST_LOWER_ATTENTION_JIT_H
#define TPLAN_TEST_LOWER_ATTENTION_JIT_H

#include "dialects/rt/RT.h"
#include "include/tplan/runtime.h"
#include "lib/Lower/Lower.h"
#include <memory>
#include <string>
#include <vector>

class GpuOnCpu;
class Jit;

namespace tplan::test {

struct JitOptions {
  lower::RegisterBlock block = lower::RegisterBlock::of(32, 64);
  std::string cpu;  // empty: this machine's
  bool gpu = false; // the code for GPUs, run here
};

/// The code of the only rt.tile in a text, made as it is for a binary.
class AttentionKernel {
public:
  explicit AttentionKernel(const std::string &text, const JitOptions &options = {});
  ~AttentionKernel();

  int64_t tasks = 0, flops = 0;
  /// All tasks, in order; or all blocks.
  void run(const std::vector<void *> &args) const;
  /// What the arguments begin at a multiple of.
  size_t alignment() const { return gpu ? 64 : 1; }

private:
  std::unique_ptr<Jit> jit;
  std::unique_ptr<GpuOnCpu> gpu;
  tp_kernel kernel = nullptr;
};

} // namespace tplan::test

#endif // TPLAN_TEST_LOWER_ATTENTION_JIT_H
