//===- cudnn_graph.h - graphs of operations for cuDNN -----------------------===//
//
// A graph reads like its formula: each operation makes a value of those before it. The first error
// on the way is kept, and reported when the graph is planned.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_LIBRARIES_CUDNN_GRAPH_H
#define TPLAN_RUNTIME_LIBRARIES_CUDNN_GRAPH_H

#include "runtime/libraries/cudnn_library.h"

#include <array>
#include <vector>

namespace tplan::runtime {

/// One of the library's descriptors.
class CudnnDescriptor {
public:
  CudnnDescriptor() = default;
  CudnnDescriptor(CudnnDescriptor &&other) noexcept { *this = std::move(other); }
  CudnnDescriptor &operator=(CudnnDescriptor &&other) noexcept;
  ~CudnnDescriptor();

  Status create(const Cudnn &library, int type);
  Status set(int attribute, int type, int64_t count, const void *values);
  Status set(int attribute, const CudnnDescriptor &value);
  Status set(int attribute, int64_t value);
  Status set(int attribute, bool value);
  /// An enumeration of the given kind.
  Status set(int attribute, int type, int value);
  Status get(int attribute, int type, int64_t room, int64_t &count, void *values) const;
  Status finalize();
  cudnn::DescriptorHandle get() const { return handle; }

private:
  const Cudnn *library = nullptr;
  cudnn::DescriptorHandle handle = nullptr;
};

/// What graphs are planned for: the GPU of a handle, or, without one, a GPU by its properties.
struct CudnnTarget {
  cudnn::Handle *handle = nullptr;
  const CudnnDescriptor *properties = nullptr;
};

/// A graph as an engine of the library computes it.
struct CudnnPlan {
  CudnnDescriptor plan;
  int64_t workspace = 0;      // bytes
  std::vector<float> scalars; // that the graph reads; their ids follow those of arrays
  std::vector<int64_t> ids;   // of arrays, in the order they were made, then of scalars
};

class CudnnGraph {
public:
  using Sizes = std::array<int64_t, 4>;
  /// A tensor of the graph, by number.
  using Value = int;

  explicit CudnnGraph(const Cudnn &library) : dnn(library) {}

  /// Bytes that arrays are aligned to at least: what engines load at once.
  static constexpr int64_t arrayAlignment = 16;
  /// Memory that the caller has, an operand or a result.
  Value array(const Sizes &dims, const Sizes &strides, int type,
              int64_t alignment = arrayAlignment);
  /// A value in between, which the library keeps to itself; packed, unless strides say otherwise.
  Value between(const Sizes &dims, int type = cudnn::float32);
  Value between(const Sizes &dims, const Sizes &strides, int type);
  Value scalar(float value);

  /// The result is written to `to`, and is this value.
  Value matmul(Value a, Value b, Value to);
  Value pointwise(int mode, Value x, Value to);
  Value pointwise(int mode, Value x, Value b, Value to, int precision = cudnn::float32);
  /// t ? x : b
  Value select(Value x, Value b, Value t, Value to);
  /// The position along an axis of x.
  Value index(Value x, int64_t axis);
  Value reduce(int reduction, Value x, Value to);
  /// The same elements with the last two axes exchanged.
  Value transpose(Value x, Value to);

  const Sizes &dimsOf(Value value) const { return tensors[value].dims; }

  /// The first engine in the library's order that adds in a fixed order and fits.
  Status plan(const CudnnTarget &target, int64_t workspace, CudnnPlan &plan);

private:
  struct Tensor {
    CudnnDescriptor descriptor;
    Sizes dims;
  };
  const Cudnn &dnn;
  Status status; // of what has been built
  std::vector<Tensor> tensors;
  std::vector<CudnnDescriptor> settings, operations;
  std::vector<int64_t> arrays, numbers; // ids, of arrays and scalars
  std::vector<float> scalars;

  enum Kind { inMemory, inside, byValue };
  Value add(const Sizes &dims, const Sizes &strides, int type, Kind kind,
            int64_t alignment = arrayAlignment);
  Status makeTensor(Tensor &tensor, const Sizes &strides, int type, Kind kind, int64_t alignment);
  /// Remembers the first error.
  bool isGood(Status made);
  struct Operand {
    int attribute;
    Value value;
  };
  Status makeOperation(int type, std::initializer_list<Operand> operands, int settingAttribute,
                       CudnnDescriptor setting);
  Status makePointwise(int mode, int precision, int64_t axis, CudnnDescriptor &setting);
  Status candidates(const CudnnDescriptor &graph, const CudnnTarget &target, int mode,
                    std::vector<CudnnDescriptor> &configs);
  Status tryConfig(const CudnnDescriptor &config, const CudnnTarget &target, int64_t workspace,
                   CudnnPlan &plan);
};

/// Runs a plan: pointers to its arrays, in the order they were made.
Status execute(const Cudnn &library, cudnn::Handle *handle, const CudnnPlan &plan,
               void *const *arrays, size_t count, void *workspace);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_LIBRARIES_CUDNN_GRAPH_H
