//===- AttentionGpu/Block.h - tiles on the threads of a block -------------===//
//
// The vocabulary that the attention kernels for GPUs are written in. A block owns a
// tile of rows (queries or keys) and walks over tiles of the other side. Scores and
// sums are in registers; panels of operands, and one tile of scores, go through
// shared memory, widened to the type of the sums.
//
// One decision: every product is scores[owned][streamed] = X Y^T or sums[owned][width]
// += scores Z, and every element of it one chain of fused multiply-adds in ascending
// order. So roles, panels and the rows of a thread change no bit.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LOWER_ATTENTIONGPU_BLOCK_H
#define TPLAN_LOWER_ATTENTIONGPU_BLOCK_H

#include "lib/Lower/Attention/Mask.h"
#include "lib/Lower/Gpu/Module.h"

namespace tplan::lower {

/// How tiles lie on threads and in shared memory. Threads are `across` to a row of
/// the tile; each has `rows` rows, one below the other, and vectors of columns that
/// alternate with those of its neighbours.
struct BlockLayout {
  static BlockLayout of(mlir::Type element, int64_t width);

  static constexpr int64_t side = 64;   ///< rows and columns of a tile of scores
  static constexpr int64_t across = 16; ///< threads; they fold a row by shuffles
  int64_t bytes = 4;                    ///< bytes of a sum
  int64_t lanes = 4;                    ///< sums in 16 bytes, the length of a vector of scores
  int64_t width = 0;                    ///< width of a head
  int64_t rows = 4;                     ///< rows of a thread
  int64_t columns = 1;                  ///< columns of the width, for each thread
  int64_t vector = 1;                   ///< columns side by side
  int64_t access = 1;                   ///< elements of a head read at once from global memory
  int64_t depth = 8;                    ///< elements of the width in a pair of panels for scores
  int64_t panelRows = 64;               ///< streamed rows in a panel for sums

  int64_t threads() const { return across * side / rows; }
  int64_t scoreVectors() const { return side / across / lanes; }
  int64_t sumVectors() const { return columns / vector; }
  int64_t paddedWidth() const { return across * columns; }
  /// A row of the tile in shared memory: rows of neighbouring threads lie in other banks.
  int64_t pitch() const { return side + lanes; }
  /// Registers of 32 bits that hold a thread's sums of one output.
  int64_t sumRegisters() const { return rows * columns * bytes / 4; }
  /// Sums in panels.
  int64_t panelSize() const { return std::max(2 * side * depth, panelRows * paddedWidth()); }
};

/// Registers that a thread may have: without this bound ptxas spills some to run more blocks at
/// once.
inline constexpr int32_t kRegisters = 255;
/// At most so many of them hold the sums of one output, so that none is spilled.
inline constexpr int64_t kSumRegisters = 96;

using Values = llvm::SmallVector<mlir::Value>;

/// Rows of a tile; `ragged`: it may have fewer than `side`.
struct TileRows : Rows {
  bool ragged;
};

class BlockCode : public Code {
public:
  BlockCode(mlir::Location loc, mlir::OpBuilder &b, mlir::Type sum, const BlockLayout &layout,
            mlir::gpu::GPUFuncOp func);

  const BlockLayout layout;
  mlir::Type sum;               ///< f32 or f64
  mlir::VectorType scoreVector; ///< lanes of sums
  mlir::VectorType sumVector;   ///< layout.vector sums
  Value block, tx;              ///< number of the block, and of the thread across

  /// Scores are vectors, row by row of the thread; sums likewise.
  size_t numScores() const { return layout.rows * layout.scoreVectors(); }
  Values noSums();
  /// Where the thread's vector v of scores, or row i, is in the tile.
  Value column(int64_t v);
  Value row(Value i) { return add(firstRow, i); }

  /// owned * streamed^T.
  Values products(const TileRows &owned, const TileRows &streamed);
  /// Puts the thread's scores into the tile. No barrier is needed: since the sums of another tile
  /// all threads have met in `scores`, and they meet again in `accumulate`.
  void keep(mlir::ValueRange scores);
  /// The scores that the thread has put there.
  Values kept();
  /// Changes them row by row, in a loop: code for all scores at once is long.
  void forRows(llvm::function_ref<void(Value, llvm::MutableArrayRef<Value>)> body);
  /// sums + tile * streamed.
  Values accumulate(const TileRows &streamed, mlir::ValueRange sums);
  /// Rounds the sums and writes them.
  void write(mlir::ValueRange sums, const TileRows &to);

  /// `values` after the body, or as they are where the condition is true. All threads of
  /// the block agree.
  Values unless(Value condition, mlir::ValueRange values, llvm::function_ref<Values()> body);
  /// Runs the body where the condition holds; null means always.
  void when(Value condition, llvm::function_ref<void()> body);
  using Code::unless;
  /// Steps 0 .. n - 1 that carry values.
  Values steps(int64_t n, mlir::ValueRange init,
               llvm::function_ref<Values(Value, mlir::ValueRange)> body);
  Value splat(Value scalar, mlir::VectorType type);
  Value lane(Value vector, int64_t i);
  Value less(Value a, Value b);
  Value both(Value a, Value b);
  Value loadScalar(Value memory, Value at);
  Value toI32(Value index);

private:
  void barrier();
  Value loadVector(Value memory, Value at, mlir::VectorType type);
  void storeVector(Value x, Value memory, Value at);
  Value loadHead(const TileRows &rows, Value row, Value d, Value inside);
  Values loadTurned(const TileRows &rows, Value d);
  void storeTurned(mlir::ValueRange loaded, int64_t at);
  Values addOuterProduct(Value d, mlir::ValueRange sums);
  void fillPanel(const TileRows &rows, Value first);
  Values addPanelRows(Value begin, Value inTile, mlir::ValueRange sums);
  Value scoreAt(Value i, int64_t v);
  Values keptRow(Value i);
  Value widen(Value x);

  Value id, firstRow, panels, tile;
};

} // namespace tplan::lower

#endif // TPLAN_LOWER_ATTENTIONGPU_BLOCK_H
