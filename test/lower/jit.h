//===- jit.h - kernels as MLIR text, compiled and called in a test --------===//
//
// The way of a kernel in a binary: lower-kernels, LLVM, object file; then
// loaded.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_LOWER_JIT_H
#define TPLAN_TEST_LOWER_JIT_H

#include "include/tplan/runtime.h"
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
}

/// An object file in memory, linked into this process.
class Jit {
public:
  /// Compiles a module in text; ends the process with diagnostics where it
  /// fails. An empty `cpu` is this machine's. `prepare` goes before lower-kernels.
  explicit Jit(const std::string &mlir, const std::string &cpu = "",
               const std::function<void(mlir::ModuleOp)> &prepare = nullptr);
  ~Jit();
  tp_kernel get(const std::string &name);
  /// Runs tasks 0 .. tasks - 1.
  void run(const std::string &name, int64_t tasks, std::vector<void *> args) {
    tp_kernel kernel = get(name);
    for (int64_t task = 0; task < tasks; ++task)
      kernel(args.data(), task);
  }
  /// Seconds from text to object.
  double seconds = 0;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// A kernel in few words. Loops are "S=333,D=72" (`S<=333` is bounded); an operand is "S,D:f32",
/// followed by its access: "V,D:f32 gather V 1". In the body the arguments are %0, %1, ... and T is
/// the element type.
struct KernelText {
  std::string skeleton, rows, cols;
  int64_t grain;
  std::vector<std::string> inputs, outputs;
  std::string body;
  /// The op as MLIR text. `sizes` are of dimensions that are no loop: "task=9".
  std::string text(const std::string &name, const std::string &type,
                   const std::string &sizes = "") const;
};

/// bf16 as the top half of an f32, rounded to nearest even.
struct bf16 {
  uint16_t bits = 0;
  bf16() = default;
  bf16(float x) {
    uint32_t u;
    std::memcpy(&u, &x, 4);
    bits = x != x ? 0x7FC0 : (u + 0x7FFF + ((u >> 16) & 1)) >> 16;
  }
  operator float() const {
    uint32_t u = uint32_t(bits) << 16;
    float x;
    std::memcpy(&x, &u, 4);
    return x;
  }
};

/// f16 by the compiler's own type.
struct f16 {
  _Float16 value = 0;
  f16() = default;
  f16(float x) : value(_Float16(x)) {}
  operator float() const { return float(value); }
};

#endif // TPLAN_TEST_LOWER_JIT_H
