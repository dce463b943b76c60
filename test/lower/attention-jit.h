//===- attention-jit.h - attention kernels from text, run in process ------===//
#ifndef TPLAN_TEST_LOWER_ATTENTION_JIT_H
#define TPLAN_TEST_LOWER_ATTENTION_JIT_H

#include "dialects/rt/RT.h"
#include "include/tplan/runtime.h"
#include "lib/Lower/Lower.h"
#include <memory>
#include <string>
#include <vector>

class Jit;

namespace tplan::test {

struct JitOptions {
  lower::RegisterBlock block = lower::RegisterBlock::of(32, 64);
  std::string cpu; // empty: this machine's
};

/// The code of the only rt.tile in a text, made as it is for a binary.
class AttentionKernel {
public:
  explicit AttentionKernel(const std::string &text, const JitOptions &options = {});
  ~AttentionKernel();

  int64_t tasks = 0, flops = 0;
  /// All tasks, in order.
  void run(const std::vector<void *> &args) const {
    for (int64_t task = 0; task < tasks; ++task)
      kernel(args.data(), task);
  }

private:
  std::unique_ptr<Jit> jit;
  tp_kernel kernel = nullptr;
};

} // namespace tplan::test

#endif // TPLAN_TEST_LOWER_ATTENTION_JIT_H
