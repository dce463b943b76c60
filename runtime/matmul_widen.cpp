//===- matmul_widen.cpp - bf16 tiles through f32 --------------------------===//
//
// One decision: a panel covers all of the tile and a slice of K, so that the
// scratch of a thread is one fixed size whatever the shape.
//
//===----------------------------------------------------------------------===//

#include "runtime/bf16.h"
#include "runtime/matmul_ways.h"

#include <algorithm>
#include <new>

#include <dnnl.h>

using namespace tplan::runtime;

namespace {

// Bounds of tilingOf; a slice of K is deep enough to hide the widening.
constexpr int64_t maxM = 256, maxN = 384, sliceK = 512;
constexpr int64_t floatsA = maxM * sliceK, floatsB = maxN * sliceK, floatsC = maxM * maxN;
constexpr int64_t floatsThread = floatsA + floatsB + floatsC;

} // namespace

// The library is built for any x86-64; these two loops are worth a second body.
#define TP_ALSO_AVX2 __attribute__((target_clones("avx2", "default")))

TP_ALSO_AVX2 static void widenBlock(const bf16 *__restrict from, int64_t stride, int64_t rows,
                                    int64_t columns, float *__restrict to) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      to[i * columns + j] = widen(from[i * stride + j]);
}

TP_ALSO_AVX2 static void roundBlock(const float *__restrict from, int64_t rows, int64_t columns,
                                    bf16 *__restrict to, int64_t stride) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      to[i * stride + j] = roundToBf16(from[i * columns + j]);
}

Status Widened::prepare(Team &team) {
  if (storage)
    return {};
  held = floatsThread * team.size() * (int64_t)sizeof(float);
  storage.reset(new (std::nothrow) float[floatsThread * team.size()]);
  if (!storage)
    return errorf("cannot obtain %lld bytes for bf16 panels", (long long)held);
  for (int thread = 0; thread < team.size(); ++thread) {
    float *at = storage.get() + floatsThread * thread;
    panels.push_back({at, at + floatsA, at + floatsA + floatsB});
  }
  return {};
}

bool Widened::tile(void *way, const tp_gemm &g, const Tile &t) {
  const Panels &p = static_cast<Widened *>(way)->panels[t.thread];
  auto *a = (const bf16 *)t.a, *b = (const bf16 *)t.b;
  bool rounds = g.out == TP_BF16;
  float *c = rounds ? p.c : (float *)t.c;
  int64_t ldc = rounds ? t.n : g.ldc;
  if (rounds && g.accumulate)
    widenBlock((const bf16 *)t.c, g.ldc, t.m, t.n, c);
  bool adds = g.accumulate;
  for (int64_t k = 0; k < g.k; k += sliceK) {
    int64_t depth = std::min(sliceK, g.k - k);
    if (g.trans_a)
      widenBlock(a + k * g.lda, g.lda, depth, t.m, p.a);
    else
      widenBlock(a + k, g.lda, t.m, depth, p.a);
    if (g.trans_b)
      widenBlock(b + k, g.ldb, t.n, depth, p.b);
    else
      widenBlock(b + k * g.ldb, g.ldb, depth, t.n, p.b);
    int64_t lda = g.trans_a ? t.m : depth, ldb = g.trans_b ? depth : t.n;
    if (dnnl_sgemm(g.trans_a ? 'T' : 'N', g.trans_b ? 'T' : 'N', t.m, t.n, depth, 1.0f, p.a, lda,
                   p.b, ldb, adds ? 1.0f : 0.0f, c, ldc) != dnnl_success)
      return false;
    adds = true;
  }
  if (t.bias) { // C is bf16; the panel of A has been read
    widenBlock((const bf16 *)t.bias, t.n, 1, t.n, p.a);
    addBias(c, ldc, t.m, t.n, p.a);
  }
  if (rounds)
    roundBlock(c, t.m, t.n, (bf16 *)t.c, g.ldc);
  return true;
}
