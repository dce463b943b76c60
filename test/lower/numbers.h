//===- numbers.h - what kernels are tried on ---------------------------------===//
#ifndef TPLAN_TEST_LOWER_NUMBERS_H
#define TPLAN_TEST_LOWER_NUMBERS_H

#include "test/lower/jit.h"
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

/// What a type of C++ is called in the IR.
template <typename T> constexpr const char *typeName = "f32";
template <> inline constexpr const char *typeName<double> = "f64";
template <> inline constexpr const char *typeName<bf16> = "bf16";
template <> inline constexpr const char *typeName<f16> = "f16";

/// n numbers from -3 to 3, the same for each seed.
template <typename T> std::vector<T> numbers(size_t n, unsigned seed) {
  std::vector<T> x(n);
  uint64_t state = seed * 0x9E3779B97F4A7C15ull + 1;
  for (T &v : x) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    v = T(float(double(int64_t(state >> 11)) / double(1ull << 52) - 1.0) * 3.0f);
  }
  return x;
}

/// Bit for bit.
template <typename T> void expectSame(const std::vector<T> &a, const std::vector<T> &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i], &b[i], sizeof(T)) != 0)
      FAIL() << "element " << i << " of " << a.size() << ": " << double(a[i]) << " and "
             << double(b[i]);
}

#endif // TPLAN_TEST_LOWER_NUMBERS_H
