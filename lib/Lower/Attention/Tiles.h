//===- Attention/Tiles.h - tiles on the stack and products of them --------===//
//
// The vocabulary that the two attention kernels are written in. A task packs
// pieces of its operands into scratch on the stack, widened to the type of the
// sums, and works there with whole vectors; only packing knows strides, element
// types and ragged edges.
//
// One decision: every element of a product is one chain of fused multiply-adds
// in ascending order. How many chains run at once (`RegisterBlock`) may then
// follow the machine, and results are still the same bits everywhere.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LOWER_ATTENTION_TILES_H
#define TPLAN_LOWER_ATTENTION_TILES_H

#include "dialects/rt/RT.h"
#include "lib/Lower/Lower.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tplan::lower {

/// A builder with the arithmetic of indices and loops in short form. Constants fold.
class Code : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;
  using Value = mlir::Value;

  Value index(int64_t n);
  Value add(Value a, Value b);
  Value add(Value a, int64_t b) { return add(a, index(b)); }
  Value sub(Value a, Value b);
  Value mul(Value a, int64_t b);
  Value div(Value a, int64_t b);
  Value rem(Value a, int64_t b);
  Value min(Value a, Value b);
  /// A number in a float type or in every element of a vector of floats.
  Value number(mlir::Type type, double value);

  void loop(Value from, Value to, int64_t step, llvm::function_ref<void(Value)> body);
  /// A loop that carries values from step to step.
  llvm::SmallVector<Value>
  fold(Value from, Value to, mlir::ValueRange init,
       llvm::function_ref<llvm::SmallVector<Value>(Value, mlir::ValueRange)> body);
  /// Runs `body` where the condition is false.
  void unless(Value condition, llvm::function_ref<void()> body);
};

/// A tensor argument of the kernel: packed memory, strides by name.
struct Operand {
  nn::Tensor type;
  mlir::Value memory;

  /// In elements.
  int64_t stride(llvm::StringRef dim) const;
};

/// Rows of the width of a head in an operand: row i begins at offset + i * stride.
struct Rows {
  const Operand *operand;
  mlir::Value offset;
  int64_t stride;
  mlir::Value count;
};

/// Scratch of rows x cols sums. A product handles the columns panel by panel, so
/// that a panel of sums fits the registers.
struct Scratch {
  mlir::Value memory;
  int64_t rows = 0, cols = 0;
  int64_t panel = 0; // columns
  int64_t rowStride = 0, panelStride = 0;

  int64_t panels() const { return cols / panel; }
};

/// The left operand of a product, read one element at a time: element (m, k) is
/// at m * mStride + k * kStride.
struct Coefficients {
  mlir::Value memory;
  int64_t mStride, kStride;
};

/// What the sums of a product start from.
enum class Start { Zero, Old, ScaledOld };

class TileCode : public Code {
public:
  TileCode(mlir::Location loc, mlir::OpBuilder &b, mlir::Type sum, RegisterBlock block);

  mlir::Type sum;       // f32 or f64
  mlir::VectorType vec; // 64 bytes of sums
  int64_t lanes;
  /// Elements along a side of the squares that are transposed in registers: half a vector, which is
  /// a register of AVX2. For whole vectors LLVM takes 1.6 times as long there.
  int64_t side;

  /// Scratch whose panels lie one after the other, as the inner loop of a product walks down one
  /// panel. `cols` is a multiple of the lanes. It is on the stack, so it may be made only at the
  /// beginning of the kernel.
  Scratch panels(int64_t rows, int64_t cols);
  /// The same with whole rows one after the other.
  Scratch rowMajor(int64_t rows, int64_t cols);
  int64_t roundToLanes(int64_t n) const { return (n + lanes - 1) / lanes * lanes; }
  void fill(const Scratch &scratch, double value);
  /// The left operand m x k of a product, and its transpose.
  Coefficients rowsOf(const Scratch &s) { return {s.memory, s.rowStride, 1}; }
  Coefficients columnsOf(const Scratch &s) { return {s.memory, 1, s.rowStride}; }

  Value load(Value memory, Value at) { return load(memory, at, lanes); }
  Value load(Value memory, Value at, int64_t n);
  void store(Value x, Value memory, Value at);
  Value loadScalar(Value memory, Value at);
  Value splat(Value scalar);
  Value exp(Value x);
  /// The larger; b where either is NaN.
  Value larger(Value a, Value b);

  /// to[i][:] = rows[i][:], widened; rows at and after the count are zero. `to` is row-major.
  void pack(const Rows &rows, const Scratch &to, int64_t width);
  /// to[:][i] = rows[i][:], widened; columns after the count repeat the last row.
  void packTransposed(const Rows &rows, const Scratch &to, int64_t width);
  /// rows[i][:] = from[i][:], rounded. `from` is row-major.
  void unpack(const Scratch &from, const Rows &rows, int64_t width);
  /// rows[i][:] = from[:][i], rounded.
  void unpackTransposed(const Scratch &from, const Rows &rows, int64_t width);

  using Finish = llvm::function_ref<Value(Value)>;
  /// c[i][j] = finish(start + sum over k of a(i, k) * b[k][j]), for i < m; without `finish` the
  /// sum itself. ScaledOld starts from c[i][j] * columns[j].
  void product(const Coefficients &a, const Scratch &b, const Scratch &c, int64_t m, Value k,
               Start start = Start::Zero, Finish finish = {}, Value columns = {});

private:
  void productRows(const Coefficients &a, const Scratch &b, const Scratch &c, Value panel, Value m,
                   int64_t rows, Value k, Start start, Finish finish, Value columns);
  llvm::SmallVector<Value> transpose(llvm::SmallVector<Value> rows);
  void forSquares(Value rows, int64_t width,
                  llvm::function_ref<void(Value, Value, int64_t)> square);
  Value columnAt(const Scratch &s, Value i);
  Value widen(Value x);
  void copyRow(Value from, Value fromAt, Value to, Value toAt, int64_t width);

  RegisterBlock block;
};

struct Places;
/// Emits the body of a kernel; the arguments are inputs without starts, then outputs.
void emitAttentionForward(TileCode &code, rt::TileOp tile, llvm::ArrayRef<Operand> args,
                          const Places &places, mlir::Value task);
void emitAttentionBackward(TileCode &code, rt::TileOp tile, llvm::ArrayRef<Operand> args,
                           const Places &places, mlir::Value task);

/// Index along each batch dimension, from the linear one in the order of q.
llvm::SmallVector<mlir::Value> batchIndices(Code &code, const rt::AttentionShape &shape,
                                            mlir::Value batch);
/// Element offset of a batch in an operand.
mlir::Value batchOffset(Code &code, const rt::AttentionShape &shape, const Operand &operand,
                        mlir::ValueRange indices);

} // namespace tplan::lower

#endif // TPLAN_LOWER_ATTENTION_TILES_H
