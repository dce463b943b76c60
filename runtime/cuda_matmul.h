//===- cuda_matmul.h - GEMM on a GPU ----------------------------------------===//
//
// tp_gemm as calls of cuBLASLt, within the plan's workspace.
//
// One decision: which algorithm computes a GEMM is chosen once, by one rank, and is part of a run's
// state: another algorithm adds in another order. So the choices can be written down, and whoever
// reads them back computes the same bits.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_CUDA_MATMUL_H
#define TPLAN_RUNTIME_CUDA_MATMUL_H

#include "runtime/cublaslt_library.h"
#include "tplan/runtime.h"

#include <map>
#include <memory>
#include <string>

namespace tplan::runtime {

class CudaMatmul {
public:
  CudaMatmul();
  ~CudaMatmul();

  Status start(const CudaDriver &driver, void *workspace, int64_t workspaceBytes);

  /// Issues one GEMM. Of the algorithms that fit it takes the one that was chosen, else the one
  /// that the library thinks is the fastest.
  Status run(const tp_gemm &gemm, const void *a, const void *b, void *c,
             cuda::StreamHandle *stream);

  /// Measures what the library offers for a GEMM, on any memory, and remembers the fastest.
  Status choose(const tp_gemm &gemm, void *memory, int64_t bytes, cuda::StreamHandle *stream);

  /// The choices as text, one a line, and back. They hold for one version of the library and one
  /// GPU: those of another are not taken (then false).
  std::string choices(const std::string &gpu) const;
  bool setChoices(const std::string &text, const std::string &gpu);

private:
  struct Problem;
  struct State;
  std::unique_ptr<State> state;
  Status findProblem(const tp_gemm &gemm, int64_t alignment, Problem *&problem);
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_CUDA_MATMUL_H
