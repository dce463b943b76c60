//===- attention-jit.h - attention kernels from text, run in process ------===//
#ifndef TPLAN_TEST_LOWER_ATTENTION_JIT_H
#define TPLAN_TEST_LOWER_ATTENTION_JIT_H

#include "lib/Lower/Attention.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include <string>
#include <vector>

namespace tplan::test {

struct JitOptions {
  lower::RegisterBlock block = lower::RegisterBlock::of(32, 64);
  /// Machine features to leave out, as in "-avx512f"; empty: all of this machine's.
  std::string features;
};

/// The code of the only rt.tile in a text.
class AttentionKernel {
public:
  explicit AttentionKernel(const std::string &text, const JitOptions &options = {});

  int64_t tasks = 0, flops = 0;
  /// All tasks, in order.
  void run(const std::vector<void *> &args) const;

private:
  void (*function)(void **) = nullptr;
  mlir::MLIRContext context;
  std::unique_ptr<mlir::ExecutionEngine> engine;
};

} // namespace tplan::test

#endif // TPLAN_TEST_LOWER_ATTENTION_JIT_H
