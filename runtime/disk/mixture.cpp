//===- mixture.cpp - which source a row comes from ---------------------------===//

#include "runtime/disk/mixture.h"

#include <cmath>

using namespace tplan::runtime;

Mixture::Mixture(const std::vector<double> &weights) : parts(weights.size()) {
  double after = 0;
  for (size_t i = weights.size(); i-- > 0;) {
    after += weights[i];
    parts[i] = (uint64_t)std::ldexp(weights[i] / after, 63);
  }
}

/// The first source has the rows at which the whole part of `rows * part` rises. The remaining rows
/// are numbered anew, and are shared among the other sources in the same way.
Mixture::Place Mixture::operator[](int64_t row) const {
  for (size_t source = 0;; ++source) {
    auto before = [&](int64_t rows) {
      return (int64_t)(((unsigned __int128)rows * parts[source]) >> 63);
    };
    int64_t own = before(row);
    if (before(row + 1) > own)
      return {(int64_t)source, own};
    row -= own;
  }
}
