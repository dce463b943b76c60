//===- Limits.h - what keeps any input within a second and little memory ---===//
#ifndef TPLAN_PARSE_LIMITS_H
#define TPLAN_PARSE_LIMITS_H

#include <cstdint>

namespace tplan::parse::limits {

inline constexpr int64_t size = int64_t(1) << 40, elements = int64_t(1) << 50;
inline constexpr int64_t layers = 1 << 20;
inline constexpr unsigned rank = 32, specialisations = 2000, nesting = 48, items = 4096, parts = 64;
/// A limit on distinct code, whose cost grows faster than its size: a list of layers counts once.
inline constexpr unsigned weights = 400, ops = 1000;

} // namespace tplan::parse::limits

#endif // TPLAN_PARSE_LIMITS_H
