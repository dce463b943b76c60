//===- touched.cpp - which bytes of global memory a launch read and wrote -===//
#include "test/standin/driver/touched.h"

#include <algorithm>
#include <cstdio>

namespace standin {

void Intervals::merge() {
  std::sort(list.begin(), list.end());
  size_t kept = 0;
  for (auto [low, high] : list)
    if (kept && low <= list[kept - 1].second)
      list[kept - 1].second = std::max(list[kept - 1].second, high);
    else
      list[kept++] = {low, high};
  list.resize(kept);
}

std::string Intervals::text(size_t most) {
  merge();
  uint64_t gap = 0; // joined where they are no further apart
  if (list.size() > most) {
    std::vector<uint64_t> gaps;
    for (size_t i = 1; i < list.size(); ++i)
      gaps.push_back(list[i].first - list[i - 1].second);
    std::nth_element(gaps.begin(), gaps.begin() + (list.size() - most), gaps.end());
    gap = gaps[list.size() - most];
  }
  std::string out;
  for (size_t i = 0; i < list.size();) {
    auto [low, high] = list[i];
    for (++i; i < list.size() && list[i].first - high <= gap; ++i)
      high = list[i].second;
    char buffer[64];
    snprintf(buffer, sizeof buffer, "%s%llx-%llx", out.empty() ? "" : ",", (unsigned long long)low,
             (unsigned long long)high);
    out += buffer;
  }
  return out.empty() ? "-" : out;
}

} // namespace standin
