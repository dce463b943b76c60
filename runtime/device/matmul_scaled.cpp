//===- matmul_scaled.cpp - f8 tiles, panel by panel -------------------------===//
//
// One decision: codes are widened without their scales, which multiply the sums of a panel.
// Products of codes are exact in f32, and codes are in bf16, so scales of any size lose nothing on
// the way.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/matmul_ways.h"
#include "runtime/support/narrow.h"

#include <algorithm>
#include <new>

#include <dnnl.h>

using namespace tplan::runtime;

namespace {

// Bounds of tilingOf, and of a slice of a panel.
constexpr int64_t maxM = 256, maxN = 384, sliceK = 512;
constexpr int64_t floatsC = maxM * maxN;
constexpr int64_t floatsThread = (maxM + maxN) * sliceK + 2 * floatsC + maxN;

template <typename T>
__attribute__((always_inline)) inline void widenAll(const char *__restrict from, int64_t stride,
                                                    int64_t rows, int64_t columns,
                                                    float *__restrict to, int64_t toStride) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      to[i * toStride + j] = widen(((const T *)from)[i * stride + j]);
}

template <typename T>
__attribute__((always_inline)) inline void widenToBf16(const char *__restrict from, int64_t stride,
                                                       int64_t rows, int64_t columns,
                                                       uint16_t *__restrict to, int64_t toStride) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      to[i * toStride + j] = uint16_t(NarrowBits<T>::template widen<uint32_t, float>(
                                          uint32_t(((const T *)from)[i * stride + j])) >>
                                      16);
}

} // namespace

// As in matmul_widen.cpp. A level has FMA with AVX2; the name of a processor would choose that one
// alone.
#define TP_ALSO_AVX2 __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define TYPE(ID, T)                                                                                \
  TP_ALSO_AVX2 static void widen_##T(const char *from, int64_t stride, int64_t rows,               \
                                     int64_t columns, float *to, int64_t toStride) {               \
    widenAll<T>(from, stride, rows, columns, to, toStride);                                        \
  }                                                                                                \
  TP_ALSO_AVX2 static void widenBf16_##T(const char *from, int64_t stride, int64_t rows,           \
                                         int64_t columns, uint16_t *to, int64_t toStride) {        \
    widenToBf16<T>(from, stride, rows, columns, to, toStride);                                     \
  }
TP_SCALED_TYPES(TYPE)
#undef TYPE

/// total (+)= scale * by[j] * sum[j], each product of scales rounded, the rest in one rounding.
TP_ALSO_AVX2 static void promote(const float *__restrict sum, float scale,
                                 const float *__restrict by, int64_t columns, bool first,
                                 float *__restrict total) {
  if (first)
    for (int64_t j = 0; j < columns; ++j)
      total[j] = scale * by[j] * sum[j];
  else
    for (int64_t j = 0; j < columns; ++j)
      total[j] = __builtin_fmaf(scale * by[j], sum[j], total[j]);
}

namespace {
struct ScaledType {
  int32_t type;
  void (*widen)(const char *from, int64_t stride, int64_t rows, int64_t columns, float *to,
                int64_t toStride);
  void (*widenBf16)(const char *from, int64_t stride, int64_t rows, int64_t columns, uint16_t *to,
                    int64_t toStride);
};
constexpr ScaledType scaledTypes[] = {
#define TYPE(ID, T) {ID, widen_##T, widenBf16_##T},
    TP_SCALED_TYPES(TYPE)
#undef TYPE
};
const ScaledType *findScaled(int32_t type) {
  return std::ranges::find(scaledTypes, type, &ScaledType::type);
}

/// The deepest equal slices of a panel.
int64_t depthOf(int64_t panel) {
  int64_t slices = divideUp(panel, sliceK);
  while (panel % slices)
    ++slices;
  return panel / slices;
}

/// Rounds or adds `total` to a tile of C.
template <typename T>
void finish(const tp_gemm &g, const Tile &t, const float *total, int64_t stride) {
  for (int64_t i = 0; i < t.m; ++i)
    for (int64_t j = 0; j < t.n; ++j) {
      T &to = ((T *)t.c)[i * g.ldc + j];
      float value = total[i * stride + j];
      if constexpr (std::is_same_v<T, float>)
        to = g.accumulate ? to + value : value;
      else
        to = roundTo<T>(g.accumulate ? widen(to) + value : value);
    }
}

/// What one thread works in.
struct Scratch {
  float *a, *b, *sum, *total, *scales;
};
} // namespace

/// What the tiles of a call share.
struct Scaled::State {
  std::unique_ptr<float[]> storage;
  std::vector<Scratch> threads;
  int64_t held = 0;

  const ScaledType *typeA = nullptr, *typeB = nullptr;
  tp_scales scales;
  const float *scaleA, *scaleB;
  Tiling tiling;
  int64_t depth;                           // of a slice
  void *begins = nullptr, *adds = nullptr; // the library's descriptors of a slice; null: in f32

  Status start(Team &team);
  bool multiply(const tp_gemm &g, const Tile &t, const Scratch &s, int64_t k, bool adding) const;
  bool multiplyInF32(const tp_gemm &g, const Tile &t, const Scratch &s, int64_t k,
                     bool adding) const;
};

Scaled::Scaled() : state(std::make_unique<State>()) {}
Scaled::~Scaled() = default;
int64_t Scaled::bytes() const { return state->held; }

Status Scaled::State::start(Team &team) {
  if (storage)
    return {};
  held = floatsThread * team.size() * (int64_t)sizeof(float);
  storage.reset(new (std::nothrow) float[floatsThread * team.size()]);
  if (!storage)
    return errorf("cannot obtain %lld bytes for widened panels", (long long)held);
  for (int thread = 0; thread < team.size(); ++thread) {
    float *a = storage.get() + floatsThread * thread, *b = a + maxM * sliceK;
    float *sum = b + maxN * sliceK;
    threads.push_back({a, b, sum, sum + floatsC, sum + 2 * floatsC});
  }
  return {};
}

Status Scaled::prepare(Team &team, const tp_gemm &g, const tp_scales &scales, const Tiling &tiling,
                       const float *scaleA, const float *scaleB, LibraryBf16 *library) {
  State &s = *state;
  TP_TRY(s.start(team));
  s.typeA = findScaled(g.in);
  s.typeB = findScaled(scales.type_b);
  s.scales = scales;
  s.scaleA = scaleA;
  s.scaleB = scaleB;
  s.tiling = tiling;
  s.depth = depthOf(scales.panel);
  s.begins = s.adds = nullptr;
  if (!library || s.depth < 32) // a library's call for every few elements would cost more
    return {};
  tp_gemm slice = {};
  slice.m = g.m;
  slice.n = g.n;
  slice.k = s.depth;
  slice.lda = g.trans_a ? tiling.m : s.depth;
  slice.ldb = g.trans_b ? s.depth : tiling.n;
  slice.ldc = tiling.n;
  slice.batch = 1;
  slice.trans_a = g.trans_a;
  slice.trans_b = g.trans_b;
  slice.in = TP_BF16;
  slice.out = TP_F32;
  TP_TRY(library->prepare(team, slice, tiling, s.begins));
  if (s.depth == scales.panel)
    return {};
  slice.accumulate = true;
  return library->prepare(team, slice, tiling, s.adds);
}

/// The sum of products of `depth` codes from k on.
bool Scaled::State::multiply(const tp_gemm &g, const Tile &t, const Scratch &s, int64_t k,
                             bool adding) const {
  if (!begins)
    return multiplyInF32(g, t, s, k, adding);
  auto *a = (uint16_t *)s.a, *b = (uint16_t *)s.b;
  const char *fromA = t.a + k * (g.trans_a ? g.lda : 1), *fromB = t.b + k * (g.trans_b ? 1 : g.ldb);
  if (g.trans_a)
    typeA->widenBf16(fromA, g.lda, depth, t.m, a, tiling.m);
  else
    typeA->widenBf16(fromA, g.lda, t.m, depth, a, depth);
  if (g.trans_b)
    typeB->widenBf16(fromB, g.ldb, t.n, depth, b, depth);
  else
    typeB->widenBf16(fromB, g.ldb, depth, t.n, b, tiling.n);
  Tile slice = t;
  slice.a = (const char *)a;
  slice.b = (const char *)b;
  slice.bias = nullptr;
  slice.c = (char *)s.sum;
  return LibraryBf16::tile(adding ? adds : begins, g, slice);
}

bool Scaled::State::multiplyInF32(const tp_gemm &g, const Tile &t, const Scratch &s, int64_t k,
                                  bool adding) const {
  const char *fromA = t.a + k * (g.trans_a ? g.lda : 1), *fromB = t.b + k * (g.trans_b ? 1 : g.ldb);
  int64_t lda = g.trans_a ? t.m : depth, ldb = g.trans_b ? depth : t.n;
  typeA->widen(fromA, g.lda, g.trans_a ? depth : t.m, lda, s.a, lda);
  typeB->widen(fromB, g.ldb, g.trans_b ? t.n : depth, ldb, s.b, ldb);
  return dnnl_sgemm(g.trans_a ? 'T' : 'N', g.trans_b ? 'T' : 'N', t.m, t.n, depth, 1.0f, s.a, lda,
                    s.b, ldb, adding ? 1.0f : 0.0f, s.sum, tiling.n) == dnnl_success;
}

bool Scaled::tile(void *way, const tp_gemm &g, const Tile &t) {
  const State &state = *static_cast<Scaled *>(way)->state;
  const Scratch &s = state.threads[t.thread];
  const tp_scales &grid = state.scales;
  int64_t stride = state.tiling.n;
  for (int64_t p = 0; p < g.k / grid.panel; ++p) {
    for (int64_t k = 0; k < grid.panel; k += state.depth)
      if (!state.multiply(g, t, s, p * grid.panel + k, k > 0))
        return false;
    const float *ofA = state.scaleA + p * grid.a_panel, *ofB = state.scaleB + p * grid.b_panel;
    for (int64_t j = 0; j < t.n; ++j)
      s.scales[j] = ofB[(t.column + j) / grid.b_block * grid.b_stride];
    for (int64_t i = 0; i < t.m; ++i)
      promote(s.sum + i * stride, ofA[(t.row + i) / grid.a_block * grid.a_stride], s.scales, t.n,
              p == 0, s.total + i * stride);
  }
  switch (g.out) {
  case TP_F32:
    finish<float>(g, t, s.total, stride);
    break;
#define TYPE(ID, T)                                                                                \
  case ID:                                                                                         \
    finish<T>(g, t, s.total, stride);                                                              \
    break;
    TP_SUMMED_TYPES(TYPE)
#undef TYPE
  }
  return true;
}
