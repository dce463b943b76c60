//===- touched.h - which bytes of global memory a launch read and wrote ---===//
#ifndef TPLAN_TEST_STANDIN_TOUCHED_H
#define TPLAN_TEST_STANDIN_TOUCHED_H

#include <cstdint>
#include <string>
#include <vector>

namespace standin {

/// Intervals of addresses, merged as they become many.
class Intervals {
public:
  void add(uint64_t low, uint64_t high) {
    if (!list.empty() && list.back().second == low)
      list.back().second = high;
    else
      list.push_back({low, high});
    if (list.size() > kMany)
      merge();
  }
  /// Sorted and maximal; more than `most` are joined over the smallest gaps.
  std::string text(size_t most);

private:
  static constexpr size_t kMany = 1 << 16;
  void merge();
  std::vector<std::pair<uint64_t, uint64_t>> list;
};

class Touched {
public:
  Intervals reads, writes;
};

} // namespace standin

#endif // TPLAN_TEST_STANDIN_TOUCHED_H
