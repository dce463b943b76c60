//===- Attention/Mask.h - masks as code -----------------------------------===//
#ifndef TPLAN_LOWER_ATTENTION_MASK_H
#define TPLAN_LOWER_ATTENTION_MASK_H

#include "dialects/rt/RT.h"
#include "lib/Lower/Attention/Tiles.h"

namespace tplan::lower {

/// Range of logical positions, i32.
struct PositionRange {
  mlir::Value min, max;
};

/// Rows begin .. end of a side: row r lies at logical position r + shift, an i32.
struct Piece {
  int64_t begin, end;
  mlir::Value shift;
};
/// Where the rows of queries and of keys lie: pieces in order; no pieces where each row's number is
/// its position.
struct Places {
  llvm::SmallVector<Piece> queries, keys;

  /// Takes the starts of the pieces out of a kernel's arguments (inputs, then outputs), and loads
  /// them.
  static Places take(Code &code, rt::TileOp tile, llvm::SmallVectorImpl<Operand> &args);
};

/// The logical positions of rows; i32, or vectors of them.
mlir::Value positionsOf(Code &code, llvm::ArrayRef<Piece> pieces, mlir::Value rows);

/// Logical positions of the rows of a tile: a table of i32 on the stack, and its
/// range. Rows may cross pieces, and pieces may lie in any order.
class Positions : public PositionRange {
public:
  /// Reserves the table on the stack, so it may stand only at the beginning of the kernel.
  Positions(TileCode &code, llvm::ArrayRef<Piece> pieces, int64_t tile, int64_t size);

  /// Fills the table for the rows from `begin` on. Rows at and after the end of
  /// the dimension repeat its last.
  void fill(mlir::Value begin);

  mlir::Value table;

private:
  TileCode &code;
  llvm::ArrayRef<Piece> pieces;
  int64_t tile, size;
};

/// i1: whether query position q sees key position k; i32, or vectors of them.
mlir::Value emitMask(Code &code, nn::MaskAttr mask, mlir::Value q, mlir::Value k);

/// What the mask says of a tile, as i1.
rt::Sight<mlir::Value> emitSight(Code &code, nn::MaskAttr mask, const PositionRange &q,
                                 const PositionRange &k);

} // namespace tplan::lower

#endif // TPLAN_LOWER_ATTENTION_MASK_H
