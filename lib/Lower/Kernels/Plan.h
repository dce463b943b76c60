//===- Kernels/Plan.h - what an rt.kernel computes where, before any code -===//
//
// Loops collapsed, strides of operands along them, and for every value of the
// body how often it changes (its rate) and after how many row reductions it is
// known (its pass). The skeletons read this and write loops.
//
// One decision: columns are always walked as one flat index. An operand that is
// not contiguous along it pays with index arithmetic per vector or with a
// gather, so that the order of reductions never depends on how operands are
// laid out.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LOWER_KERNELS_PLAN_H
#define TPLAN_LOWER_KERNELS_PLAN_H

#include "dialects/rt/RT.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace tplan::lower {

/// How often a value changes: a set of the two bits.
enum Rate : unsigned { Uniform = 0, PerRow = 1, PerColumn = 2, PerElement = 3 };

/// Elements that one step of each loop moves.
struct Strides {
  llvm::SmallVector<int64_t> rows, cols;
  bool alongRows() const {
    return llvm::any_of(rows, [](int64_t s) { return s != 0; });
  }
  bool alongCols() const {
    return llvm::any_of(cols, [](int64_t s) { return s != 0; });
  }
  unsigned rate() const { return (alongRows() ? PerRow : 0) | (alongCols() ? PerColumn : 0); }
};

struct OperandPlan {
  nn::Tensor type;
  rt::AccessAttr access;
  Strides strides;
  int64_t idStride = 0;    ///< gather, scatter: elements per step of the id
  mlir::BlockArgument id;  ///< gather, scatter: the id
  int64_t taskStride = 0;  ///< outputs with one row per task
  int64_t layerStride = 0; ///< elements to the operand of the next layer, in a launch for several
  int64_t half = 0;        ///< rotate, repeat: half of the loop
  Strides along;           ///< rotate, repeat: index along the loop
  bool streams = false;    ///< output: written past the caches, in aligned vectors

  bool isScatter() const { return access.getKind() == rt::AccessKind::Scatter; }
  bool isRepeat() const { return access.getKind() == rt::AccessKind::Repeat; }
};

struct ValuePlan {
  unsigned rate = Uniform;
  unsigned pass = 0;          ///< number of row reductions before it, one after the other
  bool final = false;         ///< known when all rows of the task are done
  bool inSegment = false;     ///< the same in all columns of a segment
  bool afterSegments = false; ///< follows from what is found of segments
};

struct KernelPlan {
  rt::KernelOp op;
  llvm::SmallVector<int64_t> rows,
      cols; ///< sizes after collapse, outermost first, none is 1
  int64_t numRows = 1, numCols = 1;
  int64_t grain = 1, tasks = 1;
  int64_t lanes = 16;
  /// Lanes hold the even columns of a vector, then the odd ones: so two bf16 of a word
  /// widen with one instruction each, and narrow back without a shuffle (CPU).
  bool evenOdd = false;
  /// Column of a lane, from the first one of the vector on.
  int64_t columnOf(int64_t lane) const {
    return !evenOdd ? lane : lane < lanes / 2 ? 2 * lane : 2 * lane - lanes + 1;
  }
  /// Whole vectors begin at multiples of their size (GPU), not of an element's.
  bool alignedVectors = false;
  /// Rows per step of the run-time count of the outermost row loop; 0: static.
  int64_t boundedRows = 0;
  /// The columns hold all loops, and a task owns a range of them (flat maps).
  bool flat = false;

  std::vector<OperandPlan> operands; ///< inputs, then outputs
  llvm::DenseMap<mlir::Operation *, Strides> positions;
  llvm::DenseMap<mlir::Value, ValuePlan> values;
  int64_t segment = 0;        ///< columns of a segment; 0: there are none
  bool nestsSegments = false; ///< a reduction along the row follows from what is found of them
  unsigned reducePasses = 0;  ///< passes over a row that end in reductions
  unsigned elementPass = 0;   ///< the pass that writes elements

  unsigned numInputs() const { return const_cast<rt::KernelOp &>(op).getNumInputs(); }
  unsigned numOutputs() const { return operands.size() - numInputs(); }
  mlir::Block &block() const { return const_cast<rt::KernelOp &>(op).getBody().front(); }
  const OperandPlan &output(unsigned i) const { return operands[numInputs() + i]; }
  mlir::Value yielded(unsigned i) const {
    return const_cast<rt::KernelOp &>(op).getYield().getOperand(i);
  }
  const ValuePlan &at(mlir::Value v) const { return values.find(v)->second; }
  /// Whether output `i` is written element by element, not once for a row or for all rows. A
  /// scattered row is written element by element, even where it has one column.
  bool writesElements(unsigned i) const {
    return !at(yielded(i)).final && (output(i).strides.alongCols() || output(i).isScatter());
  }
  /// Ways through a row.
  unsigned passes() const { return std::max(reducePasses, elementPass + 1); }
  /// The reductions in which a pass ends.
  llvm::SmallVector<rt::RowReduceOp> reductionsOf(unsigned pass) const;

  /// The part of the plan that no target changes, or failure with a diagnostic where the body or an
  /// access is beyond what kernels can do.
  static mlir::FailureOr<KernelPlan> get(rt::KernelOp op);
};

/// Chooses the vectors of a CPU, and which outputs go past its caches.
void chooseVectors(KernelPlan &plan);

/// An output of at least so many bytes does not stay in a cache until it is read: so it is written
/// past the caches, which saves reading it first. Bits do not depend on it.
inline constexpr int64_t kStreamBytes = 64 << 20;

/// Lanes of 64 bytes.
int64_t lanesOf(mlir::Type element);

} // namespace tplan::lower

#endif // TPLAN_LOWER_KERNELS_PLAN_H
