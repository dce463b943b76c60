//===- kernels-avx512.cpp - the hand-written loops on 16 lanes ------------===//
#include <cstdint>
#include <immintrin.h>

namespace {
constexpr const char *kIsa = "AVX-512";
constexpr int kLanes = 16;
struct V {
  __m512 v;
};
inline V set(float x) { return {_mm512_set1_ps(x)}; }
inline V operator+(V a, V b) { return {_mm512_add_ps(a.v, b.v)}; }
inline V operator-(V a, V b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline V operator*(V a, V b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline V max(V a, V b) { return {_mm512_max_ps(a.v, b.v)}; }
inline V fmadd(V a, V b, V c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline V fnmadd(V a, V b, V c) { return {_mm512_fnmadd_ps(a.v, b.v, c.v)}; }
inline V round(V a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT)}; }
inline V scale(V a, V n) { return {_mm512_scalef_ps(a.v, n.v)}; }
inline float maxOf(V a) { return _mm512_reduce_max_ps(a.v); }
inline float sumOf(V a) { return _mm512_reduce_add_ps(a.v); }
inline V load(const float *p) { return {_mm512_loadu_ps(p)}; }
inline V load(const uint16_t *p) {
  __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(wide, 16))};
}
inline void store(float *p, V x) { _mm512_storeu_ps(p, x.v); }
inline void store(uint16_t *p, V x) {
  __mmask16 nan = _mm512_cmp_ps_mask(x.v, x.v, _CMP_UNORD_Q);
  __m512i u = _mm512_mask_mov_epi32(_mm512_castps_si512(x.v), nan, _mm512_set1_epi32(0x7FC00000));
  __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
  u = _mm512_add_epi32(u, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
  _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(_mm512_srli_epi32(u, 16)));
}

inline void turn(const float *x, int64_t ldx, float *y, int64_t ldy) {
  __m512 r[16], t[16];
  for (int i = 0; i < 16; ++i)
    r[i] = _mm512_loadu_ps(x + i * ldx);
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4)
    for (int j = 0; j < 2; ++j) {
      __m512d a = _mm512_castps_pd(t[i + j]), b = _mm512_castps_pd(t[i + j + 2]);
      r[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
      r[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
    }
  for (int i = 0; i < 4; ++i) // quarters of rows 4 apart
    for (int j = 0; j < 16; j += 8) {
      t[j + i] = _mm512_shuffle_f32x4(r[j + i], r[j + i + 4], 0x88);
      t[j + i + 4] = _mm512_shuffle_f32x4(r[j + i], r[j + i + 4], 0xdd);
    }
  for (int i = 0; i < 8; ++i) {
    r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
    r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
  }
  for (int i = 0; i < 16; ++i)
    _mm512_storeu_ps(y + i * ldy, r[i]);
}
inline void turn(const uint16_t *x, int64_t ldx, uint16_t *y, int64_t ldy) {
  __m256i r[16], t[16];
  for (int i = 0; i < 16; ++i)
    r[i] = _mm256_loadu_si256((const __m256i *)(x + i * ldx));
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm256_unpacklo_epi16(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_epi16(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4)
    for (int j = 0; j < 2; ++j) {
      r[i + 2 * j] = _mm256_unpacklo_epi32(t[i + j], t[i + j + 2]);
      r[i + 2 * j + 1] = _mm256_unpackhi_epi32(t[i + j], t[i + j + 2]);
    }
  for (int i = 0; i < 16; i += 8)
    for (int j = 0; j < 4; ++j) {
      t[i + 2 * j] = _mm256_unpacklo_epi64(r[i + j], r[i + j + 4]);
      t[i + 2 * j + 1] = _mm256_unpackhi_epi64(r[i + j], r[i + j + 4]);
    }
  for (int i = 0; i < 8; ++i) {
    r[i] = _mm256_permute2x128_si256(t[i], t[i + 8], 0x20);
    r[i + 8] = _mm256_permute2x128_si256(t[i], t[i + 8], 0x31);
  }
  for (int i = 0; i < 16; ++i)
    _mm256_storeu_si256((__m256i *)(y + i * ldy), r[i]);
}
} // namespace

#define HANDWRITTEN handwrittenAvx512
#include "bench/kernels-handwritten.inc"
