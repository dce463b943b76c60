//===- order3.h - interpolated Witten-Bell byte model ---------------------===//
//
// The yardstick of the quickstart: how much three bytes of context predict. For a context h
// followed c(h) times by t(h) distinct bytes,
//
//   p(b | h) = (c(h b) + t(h) p(b | h')) / (c(h) + t(h)),
//
// where h' lacks the oldest byte; below the empty context stands 1 / 256.
// Witten and Bell, "The zero-frequency problem", IEEE Trans. Inf. Theory, 1991.
//
// One decision: counts are sorted arrays of packed n-grams, which need no table of
// 256^4 places and no hash.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_BENCH_ORDER3_H
#define TPLAN_BENCH_ORDER3_H

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

namespace order3 {

/// Bytes of context.
inline constexpr int kOrder = 3;
/// Stands before the first byte of each file, in training and in scoring.
inline constexpr uint8_t kSeparator = 0;

class Model {
public:
  /// Fits the model on files, each on its own.
  explicit Model(const std::vector<std::string_view> &files) {
    for (int order = 0; order <= kOrder; ++order)
      levels[order] = count(files, order);
  }

  /// Probability of `byte` after `history`, whose lowest byte is the latest.
  double probability(uint32_t history, uint8_t byte) const {
    double p = 1.0 / 256;
    for (int order = 0; order <= kOrder; ++order) {
      const Level &level = levels[order];
      uint32_t context = low(history, order);
      auto found = std::lower_bound(level.contexts.begin(), level.contexts.end(), context,
                                    [](const Context &c, uint32_t key) { return c.key < key; });
      if (found == level.contexts.end() || found->key != context)
        return p; // a longer context was not seen either
      double types = found->types;
      p = (level.occurrences(context << 8 | byte) + types * p) / (found->count + types);
    }
    return p;
  }

  /// The sum of nats over the bytes of a file, the first predicted from the separator.
  double nats(std::string_view file) const {
    double sum = 0;
    uint32_t history = kSeparator;
    for (char c : file) {
      uint8_t byte = static_cast<uint8_t>(c);
      sum -= std::log(probability(history, byte));
      history = history << 8 | byte;
    }
    return sum;
  }

private:
  struct Context {
    uint32_t key, count, types;
  };
  struct Level {
    std::vector<uint32_t> grams, counts; // sorted by gram
    std::vector<Context> contexts;       // sorted by key

    uint32_t occurrences(uint32_t gram) const {
      auto found = std::lower_bound(grams.begin(), grams.end(), gram);
      return found == grams.end() || *found != gram ? 0 : counts[found - grams.begin()];
    }
  };

  static uint32_t low(uint32_t history, int bytes) {
    return bytes == 4 ? history : history & ((1u << 8 * bytes) - 1);
  }

  static Level count(const std::vector<std::string_view> &files, int order) {
    std::vector<uint32_t> all;
    for (std::string_view file : files) {
      uint32_t history = kSeparator;
      for (char c : file) {
        history = history << 8 | static_cast<uint8_t>(c);
        all.push_back(low(history, order + 1));
      }
    }
    std::sort(all.begin(), all.end());
    Level level;
    for (size_t i = 0, j; i < all.size(); i = j) {
      for (j = i; j < all.size() && all[j] == all[i];)
        ++j;
      level.grams.push_back(all[i]);
      level.counts.push_back(static_cast<uint32_t>(j - i));
      uint32_t context = all[i] >> 8;
      if (level.contexts.empty() || level.contexts.back().key != context)
        level.contexts.push_back({context, 0, 0});
      level.contexts.back().count += level.counts.back();
      level.contexts.back().types += 1;
    }
    return level;
  }

  std::array<Level, kOrder + 1> levels;
};

} // namespace order3

#endif // TPLAN_BENCH_ORDER3_H
