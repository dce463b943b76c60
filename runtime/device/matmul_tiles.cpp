//===- matmul_tiles.cpp - how C is cut into tiles -------------------------===//

#include "runtime/device/matmul_tiles.h"

#include <algorithm>

using namespace tplan::runtime;

/// Tiles of about tileM x tileN, equal up to rounding to the library's register
/// block, so that the last is not a sliver; smaller ones where C is small, for
/// a team needs several tiles a thread to end together. Tiles of a part are those of the whole.
Tiling tplan::runtime::tilingOf(const tp_gemm &g) {
  constexpr int64_t blockM = 16, blockN = 48;
  int64_t tileM = 256, tileN = 384, chunks = std::max(g.chunks, 1);
  int64_t whole = g.is_part ? g.m * chunks : g.m;
  auto tiles = [&] { return divideUp(whole, tileM) * divideUp(g.n, tileN) * g.batch; };
  while (tiles() < 16 && tileM * tileN > 64 * 96) {
    if (tileM * 3 > tileN * 2)
      tileM /= 2;
    else
      tileN /= 2;
  }
  auto even = [](int64_t size, int64_t tile, int64_t block) {
    int64_t count = std::max<int64_t>(1, divideUp(size, tile));
    return std::max(block, divideUp(divideUp(size, count), block) * block);
  };
  Tiling t;
  t.chunk = whole / chunks;
  t.m = even(t.chunk, tileM, blockM);
  t.n = even(g.n, tileN, blockN);
  t.ofChunk = divideUp(t.chunk, t.m);
  t.tilesM = g.m / t.chunk * t.ofChunk;
  t.tilesN = divideUp(g.n, t.n);
  return t;
}
