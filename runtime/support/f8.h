//===- f8.h - numbers of eight bits: E4M3 and E5M2 --------------------------===//
//
// E4M3 has 4 bits of exponent and 3 of mantissa, E5M2 has 5 and 2. Widening is exact. Rounding is
// to nearest, ties to even, and saturates: what is larger than the largest number, infinity too,
// becomes that number; NaN becomes the code 0x7F. These are the rules of `cvt.rn.satfinite` of PTX.
// E4M3 has no infinity, and its only NaN is 0x7F with either sign. Source: Micikevicius et al.,
// "FP8 formats for deep learning", 2022.
//
// One decision: written as f16.h is, in integers and one sum or product in f32, for numbers and
// vectors.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_SUPPORT_F8_H
#define TPLAN_RUNTIME_SUPPORT_F8_H

#include "runtime/support/narrow_bits.h"

namespace tplan::runtime {

enum class f8e4m3 : uint8_t {};
enum class f8e5m2 : uint8_t {};

/// What both share: `Mantissa` bits of it, the bias of the exponent, and the code of the largest
/// number.
template <int Mantissa, int Bias, uint8_t Largest> struct F8Bits {
  using Word = uint8_t;
  static constexpr int shift = 23 - Mantissa; // of a mantissa in f32

  /// The bits of the f32, without what the format has for infinity and NaN.
  template <typename Bits, typename Real>
  __attribute__((always_inline)) static inline Bits widenFinite(Bits code) {
    constexpr float scale = std::bit_cast<float>(uint32_t(127 + 127 - Bias) << 23);
    return __builtin_bit_cast(Bits, __builtin_bit_cast(Real, (code & 0x7F) << shift) * scale);
  }

  template <typename Bits, typename Real>
  __attribute__((always_inline)) static inline Bits round(Bits bits) {
    constexpr uint32_t half = (1u << (shift - 1)) - 1;
    constexpr uint32_t smallest = uint32_t(128 - Bias) << 23; // that is no denormal of the format
    // It has its last place where the denormals of the format have theirs.
    constexpr uint32_t magic = uint32_t(128 - Bias + shift) << 23;
    Bits magnitude = bits & 0x7FFFFFFF;
    Bits normal =
        (magnitude - (uint32_t(127 - Bias) << 23) + half + ((magnitude >> shift) & 1)) >> shift;
    auto small = __builtin_bit_cast(Bits, __builtin_bit_cast(Real, magnitude) +
                                              std::bit_cast<float>(magic)) -
                 magic;
    Bits code = magnitude < smallest ? small : normal;
    code = code > Largest ? magnitude * 0 + Largest : code;
    return magnitude > 0x7F800000 ? magnitude * 0 + 0x7F : code | ((bits >> 24) & 0x80);
  }
};

template <> struct NarrowBits<f8e4m3> : F8Bits<3, 7, 0x7E> {
  static constexpr Word exponent = 0x7F;
  template <typename Bits, typename Real>
  __attribute__((always_inline)) static inline Bits widen(Bits code) {
    Bits finite = widenFinite<Bits, Real>(code);
    return ((code & 0x7F) == 0x7F ? code * 0 + 0x7FC00000 : finite) | ((code & 0x80) << 24);
  }
};

template <> struct NarrowBits<f8e5m2> : F8Bits<2, 15, 0x7B> {
  static constexpr Word exponent = 0x7C;
  template <typename Bits, typename Real>
  __attribute__((always_inline)) static inline Bits widen(Bits code) {
    Bits finite = widenFinite<Bits, Real>(code), special = ((code & 0x7F) << shift) | 0x7F800000;
    return ((code & 0x7F) >= 0x7C ? special : finite) | ((code & 0x80) << 24);
  }
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_SUPPORT_F8_H
