//===- matmul_tiles.h - how C is cut into tiles ---------------------------===//
//
// The tiles depend on the shape alone, so that the bits are those of any number of threads.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DEVICE_MATMUL_TILES_H
#define TPLAN_RUNTIME_DEVICE_MATMUL_TILES_H

#include "tplan/runtime.h"

namespace tplan::runtime {

/// Rows and columns of C in one tile, and the number of tiles of a matrix.
struct Tiling {
  int64_t m, n, tilesM, tilesN;
};
Tiling tilingOf(const tp_gemm &gemm);

/// One tile: its corner in each operand and its size; all of K.
struct Tile {
  const char *a, *b, *bias; // bias is null where there is none
  char *c;
  int64_t m, n;
  int thread;
  bool lastM, lastN; // the last row or column of tiles may be smaller
};

/// The number of units that hold `value`.
inline int64_t divideUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DEVICE_MATMUL_TILES_H
