//===- matmul_widen.cpp - bf16 and f16 tiles through f32 ------------------===//
//
// One decision: a panel covers all of the tile and a slice of K, so that the
// scratch of a thread is one fixed size whatever the shape.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/matmul_ways.h"
#include "runtime/support/narrow.h"

#include <algorithm>
#include <new>

#include <dnnl.h>

using namespace tplan::runtime;

namespace {

// Bounds of tilingOf; a slice of K is deep enough to hide the widening.
constexpr int64_t maxM = 256, maxN = 384, sliceK = 512;
constexpr int64_t floatsA = maxM * sliceK, floatsB = maxN * sliceK, floatsC = maxM * maxN;
constexpr int64_t floatsThread = floatsA + floatsB + floatsC;

template <typename T>
__attribute__((always_inline)) inline void widenAll(const char *__restrict from, int64_t stride,
                                                    int64_t rows, int64_t columns,
                                                    float *__restrict to) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      to[i * columns + j] = widen(((const T *)from)[i * stride + j]);
}

template <typename T>
__attribute__((always_inline)) inline void roundAll(const float *__restrict from, int64_t rows,
                                                    int64_t columns, char *__restrict to,
                                                    int64_t stride) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      ((T *)to)[i * stride + j] = roundTo<T>(from[i * columns + j]);
}

} // namespace

// The library is built for any x86-64; these loops are worth a second body. Only functions can be
// cloned for a CPU, not templates.
#define TP_ALSO_AVX2 __attribute__((target_clones("avx2", "default")))
#define TYPE(ID, T)                                                                                \
  TP_ALSO_AVX2 static void widen_##T(const char *from, int64_t stride, int64_t rows,               \
                                     int64_t columns, float *to) {                                 \
    widenAll<T>(from, stride, rows, columns, to);                                                  \
  }                                                                                                \
  TP_ALSO_AVX2 static void round_##T(const float *from, int64_t rows, int64_t columns, char *to,   \
                                     int64_t stride) {                                             \
    roundAll<T>(from, rows, columns, to, stride);                                                  \
  }
TP_SUMMED_TYPES(TYPE)
#undef TYPE

/// A type of 16 bits: from it into f32 and back.
struct NarrowType {
  int32_t type;
  void (*widen)(const char *from, int64_t stride, int64_t rows, int64_t columns, float *to);
  void (*round)(const float *from, int64_t rows, int64_t columns, char *to, int64_t stride);
};
static constexpr NarrowType narrowTypes[] = {
#define TYPE(ID, T) {ID, widen_##T, round_##T},
    TP_SUMMED_TYPES(TYPE)
#undef TYPE
};
static const NarrowType *findNarrow(int32_t type) {
  for (const NarrowType &narrow : narrowTypes)
    if (narrow.type == type)
      return &narrow;
  return nullptr;
}

Status Widened::prepare(Team &team, int32_t type) {
  if (!findNarrow(type))
    return errorf("a matmul is widened into f32 from bf16 or f16, found type %d", type);
  if (storage)
    return {};
  held = floatsThread * team.size() * (int64_t)sizeof(float);
  storage.reset(new (std::nothrow) float[floatsThread * team.size()]);
  if (!storage)
    return errorf("cannot obtain %lld bytes for widened panels", (long long)held);
  for (int thread = 0; thread < team.size(); ++thread) {
    float *at = storage.get() + floatsThread * thread;
    panels.push_back({at, at + floatsA, at + floatsA + floatsB});
  }
  return {};
}

bool Widened::tile(void *way, const tp_gemm &g, const Tile &t) {
  const Panels &p = static_cast<Widened *>(way)->panels[t.thread];
  auto [type, widenBlock, roundBlock] = *findNarrow(g.in);
  bool rounds = g.out == g.in;
  float *c = rounds ? p.c : (float *)t.c;
  int64_t ldc = rounds ? t.n : g.ldc;
  if (rounds && g.accumulate)
    widenBlock(t.c, g.ldc, t.m, t.n, c);
  bool adds = g.accumulate;
  for (int64_t k = 0; k < g.k; k += sliceK) {
    int64_t depth = std::min(sliceK, g.k - k);
    const char *a = t.a + 2 * k * (g.trans_a ? g.lda : 1);
    const char *b = t.b + 2 * k * (g.trans_b ? 1 : g.ldb);
    if (g.trans_a)
      widenBlock(a, g.lda, depth, t.m, p.a);
    else
      widenBlock(a, g.lda, t.m, depth, p.a);
    if (g.trans_b)
      widenBlock(b, g.ldb, t.n, depth, p.b);
    else
      widenBlock(b, g.ldb, depth, t.n, p.b);
    int64_t lda = g.trans_a ? t.m : depth, ldb = g.trans_b ? depth : t.n;
    if (dnnl_sgemm(g.trans_a ? 'T' : 'N', g.trans_b ? 'T' : 'N', t.m, t.n, depth, 1.0f, p.a, lda,
                   p.b, ldb, adds ? 1.0f : 0.0f, c, ldc) != dnnl_success)
      return false;
    adds = true;
  }
  if (t.bias) { // the panel of A has been read
    widenBlock(t.bias, t.n, 1, t.n, p.a);
    addBias(c, ldc, t.m, t.n, p.a);
  }
  if (rounds)
    roundBlock(c, t.m, t.n, t.c, g.ldc);
  return true;
}
