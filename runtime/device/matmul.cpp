//===- matmul.cpp - GEMM on the team --------------------------------------===//

#include "runtime/device/matmul.h"

#include "runtime/device/matmul_tiles.h"
#include "runtime/device/matmul_ways.h"

#include "runtime/support/narrow.h"

#include <algorithm>
#include <cstring>

#include <dlfcn.h>

using namespace tplan::runtime;

namespace {

/// An empty sum: the libraries leave C as it is.
bool emptySumTile(void *, const tp_gemm &g, const Tile &t) {
  int64_t size = bytesOf(g.out);
  for (int64_t i = 0; i < t.m && !g.accumulate; ++i)
    if (g.bias)
      memcpy(t.c + i * g.ldc * size, t.bias, t.n * size);
    else
      memset(t.c + i * g.ldc * size, 0, t.n * size);
  return true;
}

/// Bytes of C's rows are disjoint and operands are as wide as their shape says.
Status checkShape(const tp_gemm &g) {
  int64_t widthA = g.trans_a ? g.m : g.k, widthB = g.trans_b ? g.k : g.n;
  if (g.m < 0 || g.n < 0 || g.k < 0 || g.batch < 0)
    return errorf("matmul of a negative size: m = %lld, n = %lld, k = %lld, batch = %lld",
                  (long long)g.m, (long long)g.n, (long long)g.k, (long long)g.batch);
  if (g.lda < widthA || g.ldb < widthB || g.ldc < g.n)
    return errorf(
        "matmul with a leading dimension below its row: lda = %lld of %lld, ldb = %lld of %lld, "
        "ldc = %lld of %lld",
        (long long)g.lda, (long long)widthA, (long long)g.ldb, (long long)widthB, (long long)g.ldc,
        (long long)g.n);
  if (g.chunks < 0 || (g.chunks > 0 && !g.is_part && g.m % g.chunks) ||
      (g.chunks > 0 && (g.batch != 1 || g.accumulate)))
    return errorf("matmul in chunks is without a batch, onto nothing, and cuts its rows evenly: "
                  "found m = %lld, chunks = %d, batch = %lld, accumulate = %d",
                  (long long)g.m, g.chunks, (long long)g.batch, g.accumulate);
  return {};
}

Status check(const tp_gemm &g) {
  TP_TRY(checkShape(g));
  if (g.bias && (g.accumulate || g.batch != 1 || g.in != g.out || g.in == TP_F64))
    return errorf(
        "matmul with a bias is one of f32, bf16 or f16, without a batch, onto nothing: found %s "
        "to %s, batch = %lld, accumulate = %d",
        nameOf(g.in), nameOf(g.out), (long long)g.batch, g.accumulate);
  bool known = (g.in == TP_F32 && g.out == TP_F32) || (g.in == TP_F64 && g.out == TP_F64) ||
               (isNarrow(g.in) && bytesOf(g.in) == 2 && (g.out == g.in || g.out == TP_F32));
  if (known)
    return {};
  return errorf("matmul of %s to %s is not one of f32 to f32, f64 to f64, bf16 to bf16 or f32, f16 "
                "to f16 or f32",
                nameOf(g.in), nameOf(g.out));
}

Status checkScaled(const tp_gemm &g, const tp_scales &s) {
  TP_TRY(checkShape(g));
  if (!isScaled(g.in) || !isScaled(s.type_b) || isScaled(g.out) ||
      (!isNarrow(g.out) && g.out != TP_F32))
    return errorf("a matmul with scales is of f8 to f32, bf16 or f16, found %s by %s to %s",
                  nameOf(g.in), nameOf(s.type_b), nameOf(g.out));
  if (g.batch != 1 || g.bias || g.chunks)
    return errorf("a matmul with scales has no batch, bias or chunks: found batch = %lld, bias = "
                  "%d, chunks = %d",
                  (long long)g.batch, g.bias, g.chunks);
  if (s.panel < 1 || g.k % s.panel || s.a_block < 1 || s.b_block < 1)
    return errorf("panels divide k, and blocks have one element at least: found k = %lld, panel = "
                  "%lld, blocks of %lld and %lld",
                  (long long)g.k, (long long)s.panel, (long long)s.a_block, (long long)s.b_block);
  return {};
}

/// Does all tiles that have any of the first `rows` rows of C, over the batch.
Status forTiles(Team &team, const tp_gemm &g, const Tiling &tiling, TileFunction function,
                void *way, const void *a, const void *b, const void *bias, void *c, int64_t rows) {
  struct Job {
    const tp_gemm &g;
    Tiling tiling;
    TileFunction function;
    void *way;
    const char *a, *b, *bias;
    char *c;
    std::atomic<bool> failed{false};
  } job{g, tiling, function, way, (const char *)a, (const char *)b, (const char *)bias, (char *)c};
  int64_t sizeIn = bytesOf(g.in), sizeOut = bytesOf(g.out);

  // Tasks are in the order of C's rows; a tile that is wanted in part is computed whole,
  // so that its bits do not depend on how much is wanted.
  int64_t whole = std::min(rows / g.m, g.batch);
  int64_t rest = whole < g.batch ? tiling.tilesOf(rows % g.m) : 0;
  team.forEach((whole * tiling.tilesM + rest) * tiling.tilesN,
               [&job, sizeIn, sizeOut](int64_t task, int thread) {
                 const tp_gemm &g = job.g;
                 int64_t column = task % job.tiling.tilesN, rest = task / job.tiling.tilesN;
                 int64_t row = rest % job.tiling.tilesM, batch = rest / job.tiling.tilesM;
                 Tile tile;
                 tile.thread = thread;
                 tile.lastM = job.tiling.isLast(row);
                 tile.lastN = column == job.tiling.tilesN - 1;
                 int64_t i = job.tiling.rowOf(row), j = column * job.tiling.n;
                 tile.row = i;
                 tile.column = j;
                 tile.m = job.tiling.rowsOf(row);
                 tile.n = std::min(job.tiling.n, g.n - j);
                 tile.a = job.a + (batch * g.stride_a + i * (g.trans_a ? 1 : g.lda)) * sizeIn;
                 tile.b = job.b + (batch * g.stride_b + j * (g.trans_b ? g.ldb : 1)) * sizeIn;
                 tile.bias = job.bias ? job.bias + j * sizeOut : nullptr;
                 tile.c = job.c + (batch * g.stride_c + i * g.ldc + j) * sizeOut;
                 if (!job.function(job.way, g, tile))
                   job.failed.store(true, std::memory_order_relaxed);
               });
  if (job.failed)
    return errorf("the library refused a matmul of m = %lld, n = %lld, k = %lld, %s",
                  (long long)g.m, (long long)g.n, (long long)g.k, nameOf(g.in));
  return {};
}

} // namespace

struct Matmul::State {
  Bf16Way way = Bf16Way::Widen;
  Blas blas;
  Widened widened;
  LibraryBf16 library;
  Scaled scaled;
};

Matmul::Matmul() : state(std::make_unique<State>()) {}
Matmul::~Matmul() = default;

Bf16Way Matmul::bf16Way() const { return state->way; }
int64_t Matmul::bytes() const {
  return state->widened.bytes() + state->library.bytes() + state->scaled.bytes();
}

Status Matmul::start(Team &team, const char *way) {
  bool native = LibraryBf16::native();
  if (!way || !*way)
    state->way = native ? Bf16Way::Library : Bf16Way::Widen;
  else if (!strcmp(way, "widen"))
    state->way = Bf16Way::Widen;
  else if (!strcmp(way, "library"))
    state->way = Bf16Way::Library;
  else
    return errorf("TPLAN_GEMM is 'library' or 'widen', found '%s'", way);
  if (state->way == Bf16Way::Library && !native)
    return errorf("TPLAN_GEMM=library needs a CPU with avx512_bf16; use TPLAN_GEMM=widen");
  TP_TRY(setLibraryThreads(team));
  return {};
}

Status Matmul::run(Team &team, const tp_gemm &g, const void *a, const void *b, const void *bias,
                   void *c, int64_t rows) {
  TP_TRY(check(g));
  if (g.m == 0 || g.n == 0 || g.batch == 0 || rows <= 0)
    return {};
  Tiling tiling = tilingOf(g);
  TileFunction function = nullptr;
  void *way = nullptr;
  if (g.k == 0) {
    function = emptySumTile;
  } else if (g.in == TP_F32) {
    function = sgemmTile;
  } else if (g.in == TP_F64) {
    TP_TRY(state->blas.load());
    function = Blas::tile;
    way = &state->blas;
  } else if (g.in == TP_BF16 && state->way == Bf16Way::Library) {
    TP_TRY(state->library.prepare(team, g, tiling, way));
    function = LibraryBf16::tile;
  } else {
    TP_TRY(state->widened.prepare(team, g.in));
    function = Widened::tile;
    way = &state->widened;
  }

  return forTiles(team, g, tiling, function, way, a, b, bias, c, rows);
}

Status Matmul::runScaled(Team &team, const tp_gemm &g, const tp_scales &scales, const void *a,
                         const void *b, const float *scaleA, const float *scaleB, void *c,
                         int64_t rows) {
  TP_TRY(checkScaled(g, scales));
  if (g.m == 0 || g.n == 0 || rows <= 0)
    return {};
  Tiling tiling = tilingOf(g);
  if (g.k == 0)
    return forTiles(team, g, tiling, emptySumTile, nullptr, a, b, nullptr, c, rows);
  LibraryBf16 *library = state->way == Bf16Way::Library ? &state->library : nullptr;
  TP_TRY(state->scaled.prepare(team, g, scales, tiling, scaleA, scaleB, library));
  return forTiles(team, g, tiling, Scaled::tile, &state->scaled, a, b, nullptr, c, rows);
}
