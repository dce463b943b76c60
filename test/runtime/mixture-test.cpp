//===- mixture-test.cpp - rows of several sources, by weight -------------------===//

#include "helpers.h"

#include "runtime/disk/mixture.h"

using namespace tplan::runtime;

TEST(Mixture, OneSourceHasAllRows) {
  Mixture one, weighted({0.3});
  for (int64_t row : {int64_t(0), int64_t(1), int64_t(7), int64_t(1) << 50})
    for (const Mixture &mixture : {one, weighted}) {
      EXPECT_EQ(mixture[row].source, 0);
      EXPECT_EQ(mixture[row].row, row);
    }
}

/// Each source's rows come one after the other, and at every moment it has its part.
static void expectParts(const std::vector<double> &weights, int64_t rows) {
  Mixture mixture(weights);
  double all = 0;
  for (double weight : weights)
    all += weight;
  std::vector<int64_t> next(weights.size());
  for (int64_t row = 0; row < rows; ++row) {
    auto [source, own] = mixture[row];
    ASSERT_EQ(own, next[source]++) << "row " << row;
    for (size_t i = 0; i < weights.size(); ++i)
      ASSERT_LT(std::abs(next[i] - (row + 1) * weights[i] / all), (double)weights.size())
          << "source " << i << " after row " << row;
  }
}

TEST(Mixture, SourcesHaveTheirWeights) {
  expectParts({0.8, 0.2}, 5000);
  expectParts({1, 1, 1}, 5000);
  expectParts({4, 1, 3, 2, 0.001}, 20000);
  expectParts({0.999, 0.001}, 20000);
  expectParts({1e-3, 1e3}, 100000);
}

TEST(Mixture, AFarRowIsAFormula) {
  // 3/4 and 1/4 have no rounding.
  Mixture mixture({3, 1});
  int64_t far = int64_t(1) << 60;
  int64_t own = 0;
  for (int64_t row = far; row < far + 4; ++row)
    if (auto place = mixture[row]; place.source == 1)
      own = place.row;
  EXPECT_EQ(own, far / 4);
}
