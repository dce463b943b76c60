//===- cuda_attention.h - attention on a GPU ---------------------------------===//
//
// tp_attention as graphs of cuDNN's, within the plan's workspace.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DEVICE_CUDA_ATTENTION_H
#define TPLAN_RUNTIME_DEVICE_CUDA_ATTENTION_H

#include "runtime/libraries/cudnn_graph.h"
#include "tplan/runtime.h"

#include <memory>

namespace tplan::runtime {

/// The graph of one chunk of a pass: its arrays are those of tp_attention, in that order; in the
/// backward also the sums of rows, an array in the workspace.
void describeAttention(const tp_attention &attention, CudnnGraph &graph);
/// Bytes of workspace for that array.
int64_t bytesOfRowSums(const tp_attention &attention);

class CudaAttention {
public:
  CudaAttention();
  ~CudaAttention();

  void start(void *workspace, int64_t workspaceBytes);
  /// Releases what the library holds, while its context lives.
  void stop();

  /// Issues one pass. A new one is planned first, so no capture may be under way.
  Status run(const tp_attention &attention, void *const *pointers, cuda::StreamHandle *stream);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DEVICE_CUDA_ATTENTION_H
