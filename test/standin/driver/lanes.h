//===- lanes.h - the values of a register as vectors ----------------------===//
#ifndef TPLAN_TEST_STANDIN_LANES_H
#define TPLAN_TEST_STANDIN_LANES_H

#include "test/standin/driver/warp.h"

namespace standin {

template <typename T, int N> struct LanesOf {
  typedef T type __attribute__((ext_vector_type(N)));
};
template <typename T, int N = kWarp> using Lanes = typename LanesOf<T, N>::type;
typedef bool Bits __attribute__((ext_vector_type(kWarp)));

template <typename T, int N = kWarp> Lanes<T, N> get(const Warp &w, uint32_t offset) {
  Lanes<T, N> v;
  __builtin_memcpy(&v, __builtin_assume_aligned(w.r + offset, 64), sizeof v);
  return v;
}

/// -1 for the threads of a mask.
inline Lanes<int32_t> spread(uint32_t mask) {
  constexpr Lanes<uint32_t> bit = [] {
    Lanes<uint32_t> bit{};
    for (int i = 0; i < kWarp; ++i)
      bit[i] = 1u << i;
    return bit;
  }();
  return (Lanes<uint32_t>(mask) & bit) != 0;
}
/// The mask of comparisons, whose values are 0 or -1.
template <typename V> uint32_t maskOf(V comparison) {
  return __builtin_bit_cast(uint32_t, __builtin_convertvector(comparison, Bits));
}

template <typename T> void blend(Warp &w, uint32_t offset, Lanes<T> v) {
  using Mask = std::make_signed_t<T>;
  Lanes<Mask> mask = __builtin_convertvector(spread(w.exec), Lanes<Mask>);
  Lanes<T> old = get<T>(w, offset);
  v = (v & Lanes<T>(mask)) | (old & ~Lanes<T>(mask));
  __builtin_memcpy(__builtin_assume_aligned(w.r + offset, 64), &v, sizeof v);
}

/// Writes the register for the threads that execute.
template <typename V> void set(Warp &w, uint32_t offset, V v) {
  if (w.exec == ~0u) {
    __builtin_memcpy(__builtin_assume_aligned(w.r + offset, 64), &v, sizeof v);
    return;
  }
  if constexpr (sizeof v == 2 * kWarp)
    blend<uint16_t>(w, offset, __builtin_bit_cast(Lanes<uint16_t>, v));
  else if constexpr (sizeof v == 4 * kWarp)
    blend<uint32_t>(w, offset, __builtin_bit_cast(Lanes<uint32_t>, v));
  else
    blend<uint64_t>(w, offset, __builtin_bit_cast(Lanes<uint64_t>, v));
}

inline uint32_t getMask(const Warp &w, uint32_t offset) {
  uint32_t mask;
  __builtin_memcpy(&mask, w.r + offset, 4);
  return mask;
}
inline void setMask(Warp &w, uint32_t offset, uint32_t mask) {
  mask = (mask & w.exec) | (getMask(w, offset) & ~w.exec);
  __builtin_memcpy(w.r + offset, &mask, 4);
}

/// f16 in f32, which holds each.
inline Lanes<float> widened(Lanes<uint16_t> halves) {
  return __builtin_convertvector(__builtin_bit_cast(Lanes<_Float16>, halves), Lanes<float>);
}
/// The lower half of each word.
inline Lanes<float> widened(Lanes<uint32_t> words) {
  return widened(__builtin_convertvector(words, Lanes<uint16_t>));
}

// Instructions from functions on vectors. N is 64 for f32x2.
template <typename R, typename A, auto f, int N = kWarp> void one(Warp &w, const Inst &i) {
  set(w, i.d, f(get<A, N>(w, i.a)));
}
template <typename R, typename A, auto f, int N = kWarp> void two(Warp &w, const Inst &i) {
  set(w, i.d, f(get<A, N>(w, i.a), get<A, N>(w, i.b)));
}
template <typename R, typename A, auto f, int N = kWarp> void three(Warp &w, const Inst &i) {
  set(w, i.d, f(get<A, N>(w, i.a), get<A, N>(w, i.b), get<A, N>(w, i.c)));
}

// The same from functions on scalars, for what is rare.
template <typename R, typename A, auto f> void eachOne(Warp &w, const Inst &i) {
  auto a = get<A>(w, i.a);
  Lanes<R> d;
  for (int l = 0; l < kWarp; ++l)
    d[l] = f(A(a[l]));
  set(w, i.d, d);
}
template <typename R, typename A, typename B, auto f> void eachTwo(Warp &w, const Inst &i) {
  auto a = get<A>(w, i.a);
  auto b = get<B>(w, i.b);
  Lanes<R> d;
  for (int l = 0; l < kWarp; ++l)
    d[l] = f(A(a[l]), B(b[l]));
  set(w, i.d, d);
}
template <typename R, typename A, typename B, typename C, auto f>
void eachThree(Warp &w, const Inst &i) {
  auto a = get<A>(w, i.a);
  auto b = get<B>(w, i.b);
  auto c = get<C>(w, i.c);
  Lanes<R> d;
  for (int l = 0; l < kWarp; ++l)
    d[l] = f(A(a[l]), B(b[l]), C(c[l]));
  set(w, i.d, d);
}

} // namespace standin

#endif // TPLAN_TEST_STANDIN_LANES_H
