//===- bf16.h - bfloat16 as bits ------------------------------------------===//
//
// Widening is exact; rounding is to nearest, ties to even, NaN stays NaN.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_SUPPORT_BF16_H
#define TPLAN_RUNTIME_SUPPORT_BF16_H

#include <bit>
#include <cstdint>

namespace tplan::runtime {

using bf16 = uint16_t;

inline float widen(bf16 value) { return std::bit_cast<float>(uint32_t(value) << 16); }

inline bf16 roundToBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  bool nan = (bits & 0x7FFFFFFF) > 0x7F800000;
  return bf16(nan ? (bits >> 16) | 0x40 : rounded);
}

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_SUPPORT_BF16_H
