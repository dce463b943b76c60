//===- matmul_scaled.cpp - f8 tiles, panel by panel -------------------------===//
//
// One decision: codes are widened without their scales, which multiply the sums of a panel.
// Products of codes are exact in f32, and codes are in bf16, so scales of any size lose nothing on
// the way. Only where scales are powers of two that a sum takes along (tp_scales::folded) do they
// multiply codes, which is exact, too, and spares a pass over the result for each panel.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/matmul_ways.h"
#include "runtime/support/narrow.h"

#include <algorithm>
#include <bit>
#include <new>

#include <dnnl.h>

using namespace tplan::runtime;

namespace {

// Bounds of tilingOf, and of a slice of a panel.
constexpr int64_t maxM = 256, maxN = 384, sliceK = 512;
constexpr int64_t floatsC = maxM * maxN;
// Shorter panels are not folded: scales of a slice would take as much memory as codes.
constexpr int64_t leastFolded = 16, floatsScales = maxN * sliceK / leastFolded;
constexpr int64_t floatsThread = (maxM + maxN) * sliceK + 2 * floatsC + floatsScales;

/// A code as To: an f32, or the upper half of its bits, a bf16.
template <typename To, typename T> __attribute__((always_inline)) inline To widened(T code) {
  if constexpr (std::is_same_v<To, float>)
    return widen(code);
  else
    return To(NarrowBits<T>::template widen<uint32_t, float>(uint32_t(code)) >> 16);
}

/// The same times a power of two.
template <typename To, typename T>
__attribute__((always_inline)) inline To scaled(T code, float scale) {
  float value = widen(code) * scale;
  if constexpr (std::is_same_v<To, float>)
    return value;
  else
    return To(std::bit_cast<uint32_t>(value) >> 16);
}

/// Codes of a tile, so many rows and columns from `from` on.
struct Codes {
  const char *from;
  int64_t stride, rows, columns;
};

template <typename T, typename To>
__attribute__((always_inline)) inline void widenAll(const Codes &codes, To *__restrict to,
                                                    int64_t toStride) {
  for (int64_t i = 0; i < codes.rows; ++i)
    for (int64_t j = 0; j < codes.columns; ++j)
      to[i * toStride + j] = widened<To>(((const T *)codes.from)[i * codes.stride + j]);
}

/// scales[i][p]: of row i in its columns p * panel and on.
template <typename T, typename To>
__attribute__((always_inline)) inline void widenRows(const Codes &codes, const float *scales,
                                                     int64_t panel, To *__restrict to,
                                                     int64_t toStride) {
  for (int64_t i = 0; i < codes.rows; ++i)
    for (int64_t first = 0; first < codes.columns; first += panel) {
      float scale = *scales++;
      const T *from = (const T *)codes.from + i * codes.stride + first;
      for (int64_t j = 0; j < panel; ++j)
        to[i * toStride + first + j] = scaled<To>(from[j], scale);
    }
}

/// scales[p][j]: of column j in its rows p * panel and on.
template <typename T, typename To>
__attribute__((always_inline)) inline void widenColumns(const Codes &codes, const float *scales,
                                                        int64_t panel, To *__restrict to,
                                                        int64_t toStride) {
  for (int64_t i = 0; i < codes.rows; ++i) {
    const T *from = (const T *)codes.from + i * codes.stride;
    const float *__restrict by = scales + i / panel * codes.columns;
    for (int64_t j = 0; j < codes.columns; ++j)
      to[i * toStride + j] = scaled<To>(from[j], by[j]);
  }
}

/// How an operand of a type becomes f32, or bf16.
template <typename To> struct Widening {
  void (*all)(const Codes &, To *to, int64_t toStride);
  void (*rows)(const Codes &, const float *scales, int64_t panel, To *to, int64_t toStride);
  void (*columns)(const Codes &, const float *scales, int64_t panel, To *to, int64_t toStride);
};

} // namespace

// As in matmul_widen.cpp. A level has FMA with AVX2; the name of a processor would choose that one
// alone.
#define TP_ALSO_AVX2 __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define INTO(T, To)                                                                                \
  TP_ALSO_AVX2 static void all_##T##_##To(const Codes &codes, To *to, int64_t toStride) {          \
    widenAll<T>(codes, to, toStride);                                                              \
  }                                                                                                \
  TP_ALSO_AVX2 static void rows_##T##_##To(const Codes &codes, const float *scales, int64_t panel, \
                                           To *to, int64_t toStride) {                             \
    widenRows<T>(codes, scales, panel, to, toStride);                                              \
  }                                                                                                \
  TP_ALSO_AVX2 static void columns_##T##_##To(const Codes &codes, const float *scales,             \
                                              int64_t panel, To *to, int64_t toStride) {           \
    widenColumns<T>(codes, scales, panel, to, toStride);                                           \
  }
#define TYPE(ID, T) INTO(T, float) INTO(T, uint16_t)
TP_SCALED_TYPES(TYPE)
#undef TYPE
#undef INTO

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
  Widening<float> toF32;
  Widening<uint16_t> toBf16;
};
constexpr ScaledType scaledTypes[] = {
#define INTO(T, To) {all_##T##_##To, rows_##T##_##To, columns_##T##_##To}
#define TYPE(ID, T) {ID, INTO(T, float), INTO(T, uint16_t)},
    TP_SCALED_TYPES(TYPE)
#undef TYPE
#undef INTO
};
const ScaledType *findScaled(int32_t type) {
  return std::ranges::find(scaledTypes, type, &ScaledType::type);
}

/// The deepest equal slices of so many units, each of them within a slice.
int64_t depthOf(int64_t units, int64_t unit) {
  int64_t slices = divideUp(units * unit, sliceK);
  while (units % slices)
    ++slices;
  return units / slices * unit;
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

/// The scales of one operand, as tp_scales has them.
struct Grid {
  const float *scales;
  int64_t block, stride, ofPanel;

  float at(int64_t row, int64_t panel) const {
    return scales[row / block * stride + panel * ofPanel];
  }
  /// Copies the scales of a tile in so many panels, a row's side by side, or a panel's.
  void copy(int64_t row, int64_t rows, int64_t panel, int64_t panels, bool panelsFirst,
            float *to) const {
    if (panelsFirst)
      for (int64_t p = 0; p < panels; ++p)
        for (int64_t i = 0; i < rows; ++i)
          *to++ = at(row + i, panel + p);
    else
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t p = 0; p < panels; ++p)
          *to++ = at(row + i, panel + p);
  }
};
} // namespace

/// What the tiles of a call share.
struct Scaled::State {
  std::unique_ptr<float[]> storage;
  std::vector<Scratch> threads;
  int64_t held = 0;

  const ScaledType *typeA = nullptr, *typeB = nullptr;
  Grid gridA, gridB;
  int64_t panel = 0;
  bool isFolded = false;
  Tiling tiling;
  int64_t depth;                           // of a slice
  void *begins = nullptr, *adds = nullptr; // the library's descriptors of a slice; null: in f32

  Status start(Team &team);
  bool multiply(const tp_gemm &g, const Tile &t, const Scratch &s, int64_t k, bool adding) const;
  bool sum(const tp_gemm &g, const Tile &t, const Scratch &s, int64_t begin, int64_t end) const;
  bool addPanels(const tp_gemm &g, const Tile &t, const Scratch &s) const;
  template <typename To>
  void widenOperands(const tp_gemm &g, const Tile &t, const Scratch &s, int64_t k, int64_t lda,
                     int64_t ldb, Widening<To> ScaledType::*as) const;
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
  s.gridA = {scaleA, scales.a_block, scales.a_stride, scales.a_panel};
  s.gridB = {scaleB, scales.b_block, scales.b_stride, scales.b_panel};
  s.panel = scales.panel;
  s.isFolded = scales.folded && s.panel >= leastFolded && s.panel <= sliceK;
  s.tiling = tiling;
  s.depth = s.isFolded ? depthOf(g.k / s.panel, s.panel) : depthOf(s.panel, 1);
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
  if (s.depth == (s.isFolded ? g.k : s.panel))
    return {};
  slice.accumulate = true;
  return library->prepare(team, slice, tiling, s.adds);
}

template <typename To>
void Scaled::State::widenOperands(const tp_gemm &g, const Tile &t, const Scratch &s, int64_t k,
                                  int64_t lda, int64_t ldb, Widening<To> ScaledType::*as) const {
  auto widen = [&](const ScaledType *type, const Grid &grid, const char *corner, int64_t first,
                   int64_t size, int64_t stride, bool isAcross, float *to, int64_t toStride) {
    const char *from = corner + k * (isAcross ? stride : 1);
    Codes codes = {from, stride, isAcross ? depth : size, isAcross ? size : depth};
    const Widening<To> &into = type->*as;
    if (!isFolded)
      return into.all(codes, (To *)to, toStride);
    grid.copy(first, size, k / panel, depth / panel, isAcross, s.scales);
    (isAcross ? into.columns : into.rows)(codes, s.scales, panel, (To *)to, toStride);
  };
  widen(typeA, gridA, t.a, t.row, t.m, g.lda, g.trans_a, s.a, lda);
  widen(typeB, gridB, t.b, t.column, t.n, g.ldb, !g.trans_b, s.b, ldb);
}

/// Adds products of `depth` codes from k on to s.sum, or begins with them.
bool Scaled::State::multiply(const tp_gemm &g, const Tile &t, const Scratch &s, int64_t k,
                             bool adding) const {
  if (!begins) {
    int64_t lda = g.trans_a ? t.m : depth, ldb = g.trans_b ? depth : t.n;
    widenOperands(g, t, s, k, lda, ldb, &ScaledType::toF32);
    return dnnl_sgemm(g.trans_a ? 'T' : 'N', g.trans_b ? 'T' : 'N', t.m, t.n, depth, 1.0f, s.a, lda,
                      s.b, ldb, adding ? 1.0f : 0.0f, s.sum, tiling.n) == dnnl_success;
  }
  widenOperands(g, t, s, k, g.trans_a ? tiling.m : depth, g.trans_b ? depth : tiling.n,
                &ScaledType::toBf16);
  Tile slice = t;
  slice.a = (const char *)s.a;
  slice.b = (const char *)s.b;
  slice.bias = nullptr;
  slice.c = (char *)s.sum;
  return LibraryBf16::tile(adding ? adds : begins, g, slice);
}

/// The sum of products from `begin` to `end`, in s.sum.
bool Scaled::State::sum(const tp_gemm &g, const Tile &t, const Scratch &s, int64_t begin,
                        int64_t end) const {
  for (int64_t k = begin; k < end; k += depth)
    if (!multiply(g, t, s, k, k > begin))
      return false;
  return true;
}

/// Multiplies the sums of panels by their scales, and adds them up in s.total.
bool Scaled::State::addPanels(const tp_gemm &g, const Tile &t, const Scratch &s) const {
  for (int64_t p = 0; p < g.k / panel; ++p) {
    if (!sum(g, t, s, p * panel, (p + 1) * panel))
      return false;
    gridB.copy(t.column, t.n, p, 1, false, s.scales);
    for (int64_t i = 0; i < t.m; ++i)
      promote(s.sum + i * tiling.n, gridA.at(t.row + i, p), s.scales, t.n, p == 0,
              s.total + i * tiling.n);
  }
  return true;
}

bool Scaled::tile(void *way, const tp_gemm &g, const Tile &t) {
  const State &state = *static_cast<Scaled *>(way)->state;
  const Scratch &s = state.threads[t.thread];
  int64_t stride = state.tiling.n;
  if (!(state.isFolded ? state.sum(g, t, s, 0, g.k) : state.addPanels(g, t, s)))
    return false;
  const float *whole = state.isFolded ? s.sum : s.total;
  switch (g.out) {
  case TP_F32:
    finish<float>(g, t, whole, stride);
    break;
#define TYPE(ID, T)                                                                                \
  case ID:                                                                                         \
    finish<T>(g, t, whole, stride);                                                                \
    break;
    TP_SUMMED_TYPES(TYPE)
#undef TYPE
  }
  return true;
}
