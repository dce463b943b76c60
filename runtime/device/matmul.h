//===- matmul.h - GEMM on the team ----------------------------------------===//
//
// C = A B (+ C), cut over M, N and batch into tiles, each one single-threaded
// library call: f32 and bf16 from oneDNN, f64 from OpenBLAS.
//
// One decision: K is never cut between threads and the tiles depend on the shape
// alone, so that the bits are those of any number of threads.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DEVICE_MATMUL_H
#define TPLAN_RUNTIME_DEVICE_MATMUL_H

#include "runtime/support/status.h"
#include "runtime/support/team.h"
#include "tplan/runtime.h"

#include <memory>

namespace tplan::runtime {

/// How a GEMM with bf16 operands is done; one with f16, which oneDNN has on no CPU, is widened.
enum class Bf16Way {
  Library, // oneDNN's own, where the CPU multiplies bf16
  Widen    // panels widened into f32, f32 GEMM, rounded
};

class Matmul {
public:
  Matmul();
  ~Matmul();

  /// Prepares each thread of the team. `way` of bf16 is "library", "widen" or null:
  /// the faster one of this CPU. f64 loads OpenBLAS when it is first needed.
  Status start(Team &team, const char *way);

  /// One tp_matmul. Allocates only when it first meets a descriptor.
  /// Tiles without a row below `rows` (over the batch) are left out.
  Status run(Team &team, const tp_gemm &gemm, const void *a, const void *b, const void *bias,
             void *c, int64_t rows);

  /// One tp_scaled_matmul.
  Status runScaled(Team &team, const tp_gemm &gemm, const tp_scales &scales, const void *a,
                   const void *b, const float *scaleA, const float *scaleB, void *c, int64_t rows);

  Bf16Way bf16Way() const;

  /// Bytes that this object obtained for panels and scratch, libraries' own
  /// allocations inside a call not included.
  int64_t bytes() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DEVICE_MATMUL_H
