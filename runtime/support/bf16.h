//===- bf16.h - bfloat16 as bits ------------------------------------------===//
//
// Widening is exact; rounding is to nearest, ties to even, NaN stays NaN.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_SUPPORT_BF16_H
#define TPLAN_RUNTIME_SUPPORT_BF16_H

#include "runtime/support/narrow_bits.h"

namespace tplan::runtime {

using bf16 = uint16_t;

template <> struct NarrowBits<bf16> {
  using Word = uint16_t;
  static constexpr Word exponent = 0x7F80;
  template <typename Bits, typename Real>
  __attribute__((always_inline)) static inline Bits widen(Bits half) {
    return half << 16;
  }
  template <typename Bits, typename Real>
  __attribute__((always_inline)) static inline Bits round(Bits bits) {
    Bits rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
    return (bits & 0x7FFFFFFF) > 0x7F800000 ? (bits >> 16) | 0x40 : rounded;
  }
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_SUPPORT_BF16_H
