//===- share.h - what a rank holds of a logical tensor --------------------===//
//
// A row of the tensor table says how the ranks share a tensor; here it becomes runs of
// elements that are consecutive both in the logical tensor and in the rank's memory.
//
// One decision: everything that touches tensors outside generated code (initial values,
// checkpoints, gradients) goes over runs, so that none of it knows a layout, and padding
// is what no run covers.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_RANKS_SHARE_H
#define TPLAN_RUNTIME_RANKS_SHARE_H

#include "runtime/support/status.h"
#include "tplan/runtime.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace tplan::runtime {

/// Elements [logical, + count) of a tensor, at [memory, + count) of the rank's buffer.
struct ElementRun {
  int64_t logical, memory, count;
};

/// Elements [placed, + count) of another array, whose element e is that at memory + e * step of the
/// rank's buffer.
struct PlacedRun {
  int64_t placed, memory, count, step;
};

class Share {
public:
  /// All of a tensor.
  explicit Share(const std::vector<int64_t> &shape);
  /// The rank's share of a tensor. With several programs, ranks at coordinate `holder` write what
  /// several programs hold.
  Share(const tp_program &program, const tp_tensor &tensor, int64_t rank, int64_t holder = 0);
  /// A share with nothing of a tensor.
  static Share none(const std::vector<int64_t> &shape);

  /// Number of elements of the logical tensor.
  int64_t elements() const { return logicalElements; }
  /// Number of elements in the rank's buffer of one instance; then the range of those that are its
  /// own.
  int64_t stored() const { return storedElements; }
  int64_t ownBegin() const { return begin; }
  int64_t ownEnd() const { return end; }
  /// Whether this rank writes its elements to files: one of all that hold the same ones does.
  bool writes() const { return writer; }

  /// Calls function(ElementRun) for the own elements in [from, to) that are no padding, in rising
  /// order of `memory` and of `logical`.
  template <typename Function> void forEach(int64_t from, int64_t to, Function &&function) const {
    from = std::max(from, begin) + shift;
    to = std::min({to, end, lineElements - shift}) + shift;
    for (int64_t row = rowElements ? from / rowElements : 0; row * rowElements < to; ++row) {
      int64_t logical = rowStart(row), line = row * rowElements;
      int64_t first = std::max(from, line), last = std::min(to, line + runElements);
      if (logical >= 0 && first < last)
        function(ElementRun{logical + first - line, first - shift, last - first});
    }
  }
  template <typename Function> void forEach(Function &&function) const {
    forEach(begin, end, function);
  }

  /// Calls function(PlacedRun) for the own elements that are no padding. Element (i, j, ...) of the
  /// logical tensor is number first + i * strides[0] + j * strides[1] ... of another array; runs
  /// come in rising order of that number.
  void forEachPlaced(const int64_t *strides, int64_t first,
                     const std::function<void(const PlacedRun &)> &function) const;

private:
  struct Dim {
    int64_t held, used, first, stride; // used <= held; first: position in the logical tensor
  };
  void setRows(const std::vector<Dim> &dims);
  /// Logical number of the first element of a row; -1 where the row is padding.
  int64_t rowStart(int64_t row) const;

  // The array before it is chunked, as a line: rows of `rowElements`, of which the first
  // `runElements` are no padding. `outer` numbers the rows.
  std::vector<Dim> outer, all; // `all`: with the inner ones
  int64_t rowElements = 1, runElements = 1, rowFirst = 0;
  int64_t lineElements = 1, logicalElements = 1;
  // Place in memory + shift = place in the line.
  int64_t storedElements = 1, begin = 0, end = 1, shift = 0;
  bool writer = true;
};

/// Checks that the table's row makes sense: every element of the tensor is held, each by one rank
/// and its replicas, and by the ranks of each program that has it.
Status checkShare(const tp_program &program, const tp_tensor &tensor);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RANKS_SHARE_H
