//===- f16.h - IEEE half precision as bits ---------------------------------===//
//
// Widening is exact; rounding is to nearest, ties to even: what is 65520 or more becomes
// infinity, what is below 2^-14 loses bits, NaN stays NaN.
//
// One decision: written in integers and one sum or product in f32, each exact or rounded as f16 is.
// Levels of x86-64 below v3 have no instructions for it, and the functions that a compiler calls
// instead are in no library of older systems. It serves vectors, too: `Bits` and `Real` are
// uint32_t and float, or vectors of them, for which std::bit_cast is a function call.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_SUPPORT_F16_H
#define TPLAN_RUNTIME_SUPPORT_F16_H

#include "runtime/support/narrow_bits.h"

namespace tplan::runtime {

enum class f16 : uint16_t {}; // bf16 are plain uint16_t

template <> struct NarrowBits<f16> {
  using Word = uint16_t;
  static constexpr Word exponent = 0x7C00;

  /// What is left of a denormal after the shift is a denormal of f32, so a product puts both in
  /// their place.
  template <typename Bits, typename Real>
  __attribute__((always_inline)) static inline Bits widen(Bits half) {
    Bits magnitude = half & 0x7FFF;
    auto finite = __builtin_bit_cast(Bits, __builtin_bit_cast(Real, magnitude << 13) * 0x1p112f);
    Bits special = (magnitude << 13) | 0x7F800000;
    return (magnitude >= 0x7C00 ? special : finite) | ((half & 0x8000) << 16);
  }

  template <typename Bits, typename Real>
  __attribute__((always_inline)) static inline Bits round(Bits bits) {
    Bits magnitude = bits & 0x7FFFFFFF;
    Bits normal = (magnitude - (112u << 23) + 0xFFF + ((magnitude >> 13) & 1)) >> 13;
    // 0.5 has its last place where the denormals of f16 have theirs.
    auto small = __builtin_bit_cast(Bits, __builtin_bit_cast(Real, magnitude) + 0.5f) - 0x3F000000;
    Bits special =
        magnitude > 0x7F800000 ? ((magnitude >> 13) & 0x3FF) | 0x7E00 : magnitude * 0 + 0x7C00;
    Bits finite = magnitude < 0x38800000 ? small : normal;
    return (magnitude >= 0x477FF000 ? special : finite) | ((bits >> 16) & 0x8000);
  }
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_SUPPORT_F16_H
