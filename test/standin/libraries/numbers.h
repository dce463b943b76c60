//===- numbers.h - narrow numbers of the stand-ins ----------------------------===//
//
// Not those of runtime/: a mistake in those must show here.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_NUMBERS_H
#define TPLAN_TEST_STANDIN_NUMBERS_H

#include <bit>
#include <cmath>
#include <cstdint>

namespace standin {

using Half = _Float16;

/// bfloat16, rounded to nearest even.
struct Brain {
  uint16_t bits;

  Brain() = default;
  explicit Brain(float value) {
    uint32_t all = std::bit_cast<uint32_t>(value);
    if (value != value) {
      bits = uint16_t(all >> 16 | 0x40);
      return;
    }
    uint32_t kept = all >> 16, rest = all & 0xFFFF;
    bits = uint16_t(kept + (rest > 0x8000 || (rest == 0x8000 && kept % 2 == 1)));
  }
  explicit operator float() const { return std::bit_cast<float>((uint32_t)bits << 16); }
};

/// Eight bits, of which so many are the mantissa. E4M3 has no infinity, and one NaN of each sign.
template <int mantissa> struct Eight {
  uint8_t bits;

  explicit operator float() const {
    static constexpr int exponentBits = 7 - mantissa, bias = (1 << (exponentBits - 1)) - 1;
    static constexpr bool hasInfinity = exponentBits == 5;
    int exponent = bits >> mantissa & ((1 << exponentBits) - 1),
        rest = bits & ((1 << mantissa) - 1);
    float magnitude = exponent
                          ? std::ldexp(float(rest + (1 << mantissa)), exponent - bias - mantissa)
                          : std::ldexp(float(rest), 1 - bias - mantissa);
    if (hasInfinity && exponent == 31)
      magnitude = rest ? NAN : INFINITY;
    if (!hasInfinity && (bits & 0x7F) == 0x7F)
      magnitude = NAN;
    return bits & 0x80 ? -magnitude : magnitude;
  }
};
using E4M3 = Eight<3>;
using E5M2 = Eight<2>;

/// f32 with the 10 bits of mantissa that a tensor core sees of it.
inline float tf32(float value) {
  uint32_t all = std::bit_cast<uint32_t>(value);
  if ((all & 0x7F800000) == 0x7F800000)
    return value;
  return std::bit_cast<float>((all + 0xFFF + (all >> 13 & 1)) & ~0x1FFFu);
}

} // namespace standin

#endif // TPLAN_TEST_STANDIN_NUMBERS_H
