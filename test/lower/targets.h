//===- targets.h - a kernel for each kind of machine, called in a test ----===//
#ifndef TPLAN_TEST_LOWER_TARGETS_H
#define TPLAN_TEST_LOWER_TARGETS_H

#include "test/lower/gpu-on-cpu.h"
#include "test/lower/jit.h"

// avx2: registers half as wide, and f16 converted by the machine instead of in integers; the bits
// are the same.
enum class On { cpu, avx2, gpu };

/// A kernel for one of the targets, called as on the CPU.
class Kernel {
public:
  Kernel(On on, const std::string &text) {
    if (on != On::gpu)
      cpu = on == On::avx2
                ? std::make_unique<Jit>(
                      "module attributes {tplan.target = #tplan.target<{f16c = true}>} {\n" + text +
                          "}\n",
                      "x86-64-v3")
                : std::make_unique<Jit>(text);
    else
      gpu = std::make_unique<GpuOnCpu>(text);
  }
  void run(const std::string &name, int64_t tasks, std::vector<void *> args) {
    cpu ? cpu->run(name, tasks, args) : gpu->run(args);
  }

private:
  std::unique_ptr<Jit> cpu;
  std::unique_ptr<GpuOnCpu> gpu;
};

inline std::string nameOf(On on) { return on == On::gpu ? "gpu" : on == On::avx2 ? "avx2" : "cpu"; }

#endif // TPLAN_TEST_LOWER_TARGETS_H
