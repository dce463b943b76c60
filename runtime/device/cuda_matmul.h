//===- cuda_matmul.h - GEMM on a GPU ----------------------------------------===//
//
// tp_gemm as calls of cuBLASLt, within the plan's workspace.
//
// Which algorithm computes a GEMM is chosen before it is first called: see gemm_choices.h.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DEVICE_CUDA_MATMUL_H
#define TPLAN_RUNTIME_DEVICE_CUDA_MATMUL_H

#include "runtime/device/gemm_choices.h"
#include "runtime/libraries/cublaslt_library.h"

#include <memory>
#include <string>

namespace tplan::runtime {

class CudaMatmul {
public:
  CudaMatmul();
  ~CudaMatmul();

  Status start(const CudaDriver &driver, void *workspace, int64_t workspaceBytes);
  /// Releases what the library holds, while its context lives.
  void stop();

  /// Issues one GEMM, by the algorithm that was chosen; where none was, by the one that the library
  /// takes to be the fastest.
  Status run(const tp_gemm &gemm, const tp_scales *scales, const GemmOperands &operands,
             cuda::StreamHandle *stream);

  /// Measures what the library offers for a GEMM that has no choice yet, and chooses the fastest.
  /// Where the memory is too small nothing is measured, and the library's first is chosen.
  Status choose(const GemmUse &use, void *memory, int64_t bytes, cuda::StreamHandle *stream,
                int64_t &measured);
  static int64_t bytesToMeasure(const GemmUse &use);

  GemmChoices choices(const std::string &gpu) const;
  /// Takes a choice that was made before. Counts those that the library refuses or that do not fit.
  void take(const GemmKey &key, const GemmAlgorithm &algorithm, int64_t &refused);

private:
  struct Problem;
  struct State;
  std::unique_ptr<State> state;
  Status findProblem(const GemmUse &use, Problem *&problem);
  Status takeOfWhole(const GemmUse &use, Problem &part);
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DEVICE_CUDA_MATMUL_H
