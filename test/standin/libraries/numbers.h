//===- numbers.h - 16-bit numbers of the stand-ins ----------------------------===//
//
// Not those of runtime/: a mistake in those must show here.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_NUMBERS_H
#define TPLAN_TEST_STANDIN_NUMBERS_H

#include <bit>
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

/// f32 with the 10 bits of mantissa that a tensor core sees of it.
inline float tf32(float value) {
  uint32_t all = std::bit_cast<uint32_t>(value);
  if ((all & 0x7F800000) == 0x7F800000)
    return value;
  return std::bit_cast<float>((all + 0xFFF + (all >> 13 & 1)) & ~0x1FFFu);
}

} // namespace standin

#endif // TPLAN_TEST_STANDIN_NUMBERS_H
