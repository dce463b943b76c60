//===- cudnn_graph.h - graphs of operations in the stand-in for cuDNN ---------------===//
#ifndef TPLAN_TEST_STANDIN_CUDNN_GRAPH_H
#define TPLAN_TEST_STANDIN_CUDNN_GRAPH_H

#include "cudnn_descriptor.h"

namespace standin::dnn {

using Sizes = std::array<int64_t, 4>;

struct Tensor {
  int64_t id = 0, alignment = 0;
  int type = 0;
  Sizes dims = {}, strides = {};
  bool isVirtual = false, isByValue = false;

  bool operator==(const Tensor &) const = default;
  int64_t elements() const { return dims[0] * dims[1] * dims[2] * dims[3]; }
  /// Elements from the first to the last in memory.
  int64_t extent() const;
};
size_t bytesOf(int dataType);

/// y = an operation of x, and of b and t where it has them (0: it has none).
struct Operation {
  int kind = 0, mode = 0; // of operations; of pointwise operations and reductions
  int64_t axis = 0, x = 0, b = 0, t = 0, y = 0;
};

struct Graph {
  std::map<int64_t, Tensor> tensors;
  std::vector<Operation> operations; // each after those whose results it reads

  const Operation *producerOf(int64_t id) const;
  /// Arrays and scalars: what a variant pack has to name.
  std::vector<int64_t> givenIds() const;
};

/// Refuses what is no graph: shapes, types, values that nothing makes.
Verdict makeGraph(const std::vector<std::shared_ptr<const Descriptor>> &operations, Graph &graph);

/// Engines that know the graph, the most promising first: attention, forward and backward.
Verdict findEngines(std::shared_ptr<const Graph> graph, int mode, std::vector<Engine> &engines);

/// Computes all operations; memory by id, of the host.
void evaluate(const Graph &graph, const std::map<int64_t, char *> &memory);

} // namespace standin::dnn

#endif // TPLAN_TEST_STANDIN_CUDNN_GRAPH_H
