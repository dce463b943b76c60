//===- kernels-avx2.cpp - the hand-written loops on 8 lanes ---------------===//
#include <cstdint>
#include <immintrin.h>

namespace {
constexpr const char *kIsa = "AVX2";
constexpr int kLanes = 8;
struct V {
  __m256 v;
};
inline V set(float x) { return {_mm256_set1_ps(x)}; }
inline V operator+(V a, V b) { return {_mm256_add_ps(a.v, b.v)}; }
inline V operator-(V a, V b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline V operator*(V a, V b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline V max(V a, V b) { return {_mm256_max_ps(a.v, b.v)}; }
inline V fmadd(V a, V b, V c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
inline V fnmadd(V a, V b, V c) { return {_mm256_fnmadd_ps(a.v, b.v, c.v)}; }
inline V round(V a) {
  return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
/// a * 2^n in two factors, so that denormals come out.
inline V scale(V a, V n) {
  __m256i k = _mm256_cvtps_epi32(n.v), half = _mm256_srai_epi32(k, 1);
  auto power = [](__m256i e) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(e, _mm256_set1_epi32(127)), 23));
  };
  return {_mm256_mul_ps(_mm256_mul_ps(a.v, power(half)), power(_mm256_sub_epi32(k, half)))};
}
inline float maxOf(V a) {
  __m128 x = _mm_max_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  x = _mm_max_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}
inline float sumOf(V a) {
  __m128 x = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  x = _mm_add_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
inline V load(const float *p) { return {_mm256_loadu_ps(p)}; }
inline V load(const uint16_t *p) {
  __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(wide, 16))};
}
inline void store(float *p, V x) { _mm256_storeu_ps(p, x.v); }
inline void store(uint16_t *p, V x) {
  __m256 nan = _mm256_cmp_ps(x.v, x.v, _CMP_UNORD_Q);
  __m256 quiet = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FC00000));
  __m256i u = _mm256_castps_si256(_mm256_blendv_ps(x.v, quiet, nan));
  __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
  u = _mm256_srli_epi32(_mm256_add_epi32(u, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF))), 16);
  __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(u, u), 0xd8);
  _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(packed));
}

inline void turn(const float *x, int64_t ldx, float *y, int64_t ldy) {
  __m256 r[8], t[8];
  for (int i = 0; i < 8; ++i)
    r[i] = _mm256_loadu_ps(x + i * ldx);
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4)
    for (int j = 0; j < 2; ++j) {
      r[i + 2 * j] = _mm256_shuffle_ps(t[i + j], t[i + j + 2], 0x44);
      r[i + 2 * j + 1] = _mm256_shuffle_ps(t[i + j], t[i + j + 2], 0xee);
    }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(y + i * ldy, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(y + (i + 4) * ldy, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}
inline void turn(const uint16_t *x, int64_t ldx, uint16_t *y, int64_t ldy) {
  __m128i r[8], t[8];
  for (int i = 0; i < 8; ++i)
    r[i] = _mm_loadu_si128((const __m128i *)(x + i * ldx));
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm_unpacklo_epi16(r[i], r[i + 1]);
    t[i + 1] = _mm_unpackhi_epi16(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4)
    for (int j = 0; j < 2; ++j) {
      r[i + 2 * j] = _mm_unpacklo_epi32(t[i + j], t[i + j + 2]);
      r[i + 2 * j + 1] = _mm_unpackhi_epi32(t[i + j], t[i + j + 2]);
    }
  for (int i = 0; i < 4; ++i) {
    _mm_storeu_si128((__m128i *)(y + 2 * i * ldy), _mm_unpacklo_epi64(r[i], r[i + 4]));
    _mm_storeu_si128((__m128i *)(y + (2 * i + 1) * ldy), _mm_unpackhi_epi64(r[i], r[i + 4]));
  }
}
} // namespace

#define HANDWRITTEN handwrittenAvx2
#include "bench/kernels-handwritten.inc"
