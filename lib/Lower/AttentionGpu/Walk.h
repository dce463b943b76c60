//===- AttentionGpu/Walk.h - tiles that see each other --------------------===//
//
// What the attention kernels share above tiles: queries and keys as two sides of one
// kind, the walk over tiles of one of them, and its mask.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LOWER_ATTENTIONGPU_WALK_H
#define TPLAN_LOWER_ATTENTIONGPU_WALK_H

#include "lib/Lower/AttentionGpu/Block.h"

namespace tplan::lower {

/// Queries or keys.
struct Side {
  bool isQuery;
  llvm::StringRef dim, headDim;
  int64_t size;
  llvm::ArrayRef<Piece> pieces;

  int64_t tiles() const { return llvm::divideCeil(size, BlockLayout::side); }
  bool ragged() const { return size % BlockLayout::side; }
};

/// A tile of a side, of one head.
struct SideTile {
  const Side *side;
  mlir::Value first, head; ///< number of its first row; of the head
};

class Walk {
public:
  Walk(BlockCode &code, rt::TileOp op, const Places &places);

  /// Tile, head and batch of a block; the batch is remembered.
  SideTile owned(const Side &side, int64_t heads, mlir::Value block);
  /// Rows of an operand.
  TileRows rowsOf(const Operand &x, const SideTile &tile);

  /// Calls `body` for the tiles of a side of a head, ascending, unless the mask is empty there.
  /// It gets the tile and whether all of it is seen.
  Values forTiles(const SideTile &owned, const Side &streamed, mlir::Value head,
                  mlir::ValueRange init,
                  llvm::function_ref<Values(const SideTile &, mlir::Value, mlir::ValueRange)> body);
  /// The scores of an owned and a streamed tile, before the mask.
  Values scores(const TileRows &owned, const TileRows &streamed);
  /// Scores in the tile that the mask hides, or that are past the last column, become -inf.
  void hide(const SideTile &owned, const SideTile &streamed, mlir::Value allSeen);

  rt::TileOp op;
  const rt::AttentionShape shape;
  const Side queries, keys;

private:
  PositionRange rangeOf(const SideTile &tile);
  void hideEach(const SideTile &owned, const SideTile &streamed);

  BlockCode &c;
  llvm::SmallVector<mlir::Value> batch;
};

int64_t forwardBlocks(rt::TileOp op);
void emitAttentionForwardGpu(BlockCode &code, rt::TileOp op, llvm::ArrayRef<Operand> args,
                             const Places &places);
int64_t backwardBlocks(rt::TileOp op, const BlockLayout &layout);
void emitAttentionBackwardGpu(BlockCode &code, rt::TileOp op, llvm::ArrayRef<Operand> args,
                              const Places &places);

} // namespace tplan::lower

#endif // TPLAN_LOWER_ATTENTIONGPU_WALK_H
