//===- matmul_tiles.h - how C is cut into tiles ---------------------------===//
//
// The tiles depend on the shape alone, so that the bits are those of any number of threads.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DEVICE_MATMUL_TILES_H
#define TPLAN_RUNTIME_DEVICE_MATMUL_TILES_H

#include "tplan/runtime.h"

namespace tplan::runtime {

/// The number of units that hold `value`.
inline int64_t divideUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }

/// Rows and columns of C in one tile, and the number of tiles of a matrix.
struct Tiling {
  int64_t m, n, tilesM, tilesN;
  int64_t chunk;   // rows of a chunk; all of C where it is not cut in chunks
  int64_t ofChunk; // tiles along a chunk's rows

  /// The first row of a tile, and how many it has.
  int64_t rowOf(int64_t tile) const { return tile / ofChunk * chunk + tile % ofChunk * m; }
  int64_t rowsOf(int64_t tile) const { return isLast(tile) ? lastRows() : m; }
  bool isLast(int64_t tile) const { return tile % ofChunk == ofChunk - 1; }
  int64_t lastRows() const { return chunk - (ofChunk - 1) * m; }
  /// Tiles that have any of the first `rows` rows.
  int64_t tilesOf(int64_t rows) const { return rows / chunk * ofChunk + divideUp(rows % chunk, m); }
};
Tiling tilingOf(const tp_gemm &gemm);

/// One tile: its corner in each operand and its size; all of K.
struct Tile {
  const char *a, *b, *bias; // bias is null where there is none
  char *c;
  int64_t row, column; // of the corner in C
  int64_t m, n;
  int thread;
  bool lastM, lastN; // the last row or column of tiles may be smaller
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DEVICE_MATMUL_TILES_H
