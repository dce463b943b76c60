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

/// The logical positions of rows; i32, or vectors of them.
mlir::Value positionsOf(Code &code, mlir::ArrayAttr segments, mlir::Value rows);

/// Logical positions of the rows of a tile: a table of i32 on the stack, and its
/// range. Rows may cross segments, and segments may run in any order.
class Positions : public PositionRange {
public:
  /// Reserves the table, so only at the beginning of the kernel.
  Positions(TileCode &code, mlir::ArrayAttr segments, int64_t tile, int64_t size);

  /// Fills the table for the rows from `begin` on. Rows at and after the end of
  /// the dimension repeat its last.
  void fill(mlir::Value begin);

  mlir::Value table;

private:
  TileCode &code;
  mlir::ArrayAttr segments;
  int64_t tile, size;
};

/// i1: whether query position q sees key position k; i32, or vectors of them.
mlir::Value emitMask(Code &code, nn::MaskAttr mask, mlir::Value q, mlir::Value k);

/// What the mask says of a tile, as i1.
rt::Sight<mlir::Value> emitSight(Code &code, nn::MaskAttr mask, const PositionRange &q,
                                 const PositionRange &k);

} // namespace tplan::lower

#endif // TPLAN_LOWER_ATTENTION_MASK_H
