#include "bench/order3.h"

#include <gtest/gtest.h>
#include <random>
#include <string>

// Text in which every order has contexts that were seen, seen partly, and never.
static std::string text() {
  std::mt19937 random(7);
  std::string s;
  for (int i = 0; i < 4000; ++i)
    s += static_cast<char>(random() % 4 ? "abcab"[i % 5] : static_cast<char>(random() % 256));
  return s;
}

TEST(Order3, ProbabilitiesSumToOne) {
  std::string s = text();
  order3::Model model({s});
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    uint32_t history = i % 2 ? static_cast<uint32_t>(random()) : 0;
    for (int j = 0; j < 4 && i % 2 == 0; ++j)
      history = history << 8 | static_cast<uint8_t>(s[(i * 7 + j) % s.size()]);
    double sum = 0;
    for (int byte = 0; byte < 256; ++byte)
      sum += model.probability(history, static_cast<uint8_t>(byte));
    EXPECT_NEAR(sum, 1, 1e-12) << "history " << history;
  }
}

// "aab" by hand: after the empty context a, a, b were seen; a is followed by a and by b once each.
TEST(Order3, MatchesTheFormula) {
  std::string s = "aab";
  order3::Model model({s});
  double p0 = (2 + 2 / 256.0) / (3 + 2); // a after nothing: count 2 of 3, two kinds
  double p1 = (1 + 2 * p0) / (2 + 2);    // a after a
  EXPECT_NEAR(model.probability('a' | 'z' << 8, 'a'), p1, 1e-15);
  EXPECT_NEAR(model.probability('z', 'a'), p0, 1e-15);
}

TEST(Order3, ScoresEveryByte) {
  std::string s = "ab";
  order3::Model model({s});
  double first = model.probability(order3::kSeparator, 'a');
  double second = model.probability('a', 'b');
  EXPECT_NEAR(model.nats(s), -std::log(first) - std::log(second), 1e-12);
}
