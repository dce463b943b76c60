//===- narrow_bits.h - what a narrow type says of itself --------------------===//
#ifndef TPLAN_RUNTIME_SUPPORT_NARROW_BITS_H
#define TPLAN_RUNTIME_SUPPORT_NARROW_BITS_H

#include <bit>
#include <cstdint>

namespace tplan::runtime {

/// The facts about a type T of 8 or 16 bits: `Word`, the integer that holds one; `exponent`, the
/// bits that are all ones in what is not finite; `widen`, the bits of a T, in 32, as those of an
/// f32; `round`, the bits of an f32 as those of the nearest T. `Bits` and `Real` are uint32_t and
/// float, or vectors of them.
template <typename T> struct NarrowBits;

/// The f32 that a narrow number is.
template <typename T> __attribute__((always_inline)) inline float widen(T value) {
  return std::bit_cast<float>(NarrowBits<T>::template widen<uint32_t, float>(uint32_t(value)));
}

/// The nearest T.
template <typename T> __attribute__((always_inline)) inline T roundTo(float value) {
  return T(NarrowBits<T>::template round<uint32_t, float>(std::bit_cast<uint32_t>(value)));
}

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_SUPPORT_NARROW_BITS_H
