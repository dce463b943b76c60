//===- Pack.cpp - best fit, over a few orders of placement ----------------===//
//
// Offline placement of intervals is NP-hard; best fit by falling size is
// usually within a few percent of the sum of live bytes. One decision: instead of a
// cleverer placement, four orders are tried, and in each what ends last is placed
// earlier and earlier as long as that helps. It is deterministic, and cheap beside
// everything else.
//
//===----------------------------------------------------------------------===//
#include "lib/Memory/Pack.h"
#include "dialects/sched/Sched.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <functional>
#include <numeric>

using namespace tplan::memory;

namespace {
/// The smallest hole between placed pieces that holds `size`, or the end.
int64_t bestFit(std::vector<std::pair<int64_t, int64_t>> &taken, int64_t size) {
  std::sort(taken.begin(), taken.end());
  int64_t end = 0, best = -1, bestHole = 0;
  for (auto [begin, stop] : taken) {
    int64_t hole = begin - end;
    if (hole >= size && (best < 0 || hole < bestHole)) {
      best = end;
      bestHole = hole;
    }
    end = std::max(end, stop);
  }
  return best < 0 ? end : best;
}

Packing place(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<llvm::BitVector> conflicts,
              llvm::ArrayRef<size_t> order) {
  Packing packing;
  packing.offsets.assign(sizes.size(), 0);
  llvm::BitVector placed(sizes.size());
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (size_t i : order) {
    if (sizes[i] == 0)
      continue;
    taken.clear();
    for (unsigned j : conflicts[i].set_bits())
      if (placed[j])
        taken.push_back({packing.offsets[j], packing.offsets[j] + sizes[j]});
    packing.offsets[i] = bestFit(taken, sizes[i]);
    packing.bytes = std::max(packing.bytes, packing.offsets[i] + sizes[i]);
    placed.set(i);
  }
  return packing;
}

/// Places again with what ended last placed first, the best of a few dozen rounds.
Packing improve(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<llvm::BitVector> conflicts,
                std::vector<size_t> order) {
  constexpr int kRounds = 48;
  constexpr size_t kMostPieces = 512; // beyond them a round costs more than it saves
  Packing best = place(sizes, conflicts, order), now = best;
  for (int round = 0; round < kRounds && sizes.size() <= kMostPieces; ++round) {
    auto last = llvm::max_element(order, [&](size_t a, size_t b) {
      return now.offsets[a] + sizes[a] < now.offsets[b] + sizes[b];
    });
    std::rotate(order.begin(), last, last + 1);
    now = place(sizes, conflicts, order);
    if (now.bytes < best.bytes)
      best = now;
  }
  return best;
}
} // namespace

Packing tplan::memory::pack(llvm::ArrayRef<int64_t> bytes,
                            llvm::ArrayRef<llvm::BitVector> conflicts) {
  if (bytes.empty())
    return {};
  std::vector<int64_t> sizes, pressure(bytes.size(), 0);
  for (int64_t size : bytes)
    sizes.push_back(sched::alignUp(size));
  for (size_t i = 0; i < sizes.size(); ++i)
    for (unsigned j : conflicts[i].set_bits())
      pressure[i] += sizes[j];

  using Key = std::function<std::pair<int64_t, int64_t>(size_t)>;
  const Key keys[] = {
      [&](size_t i) { return std::pair(-sizes[i], -pressure[i]); },
      [&](size_t i) { return std::pair(-pressure[i] - sizes[i], -sizes[i]); },
      [&](size_t i) { return std::pair(-static_cast<int64_t>(conflicts[i].count()), -sizes[i]); },
      [&](size_t i) { return std::pair<int64_t, int64_t>(i, 0); }, // as they come
  };
  Packing best;
  bool first = true;
  for (const Key &key : keys) {
    std::vector<size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), 0);
    llvm::sort(order,
               [&](size_t a, size_t b) { return std::pair(key(a), a) < std::pair(key(b), b); });
    Packing packing = improve(sizes, conflicts, std::move(order));
    if (first || packing.bytes < best.bytes)
      best = packing;
    first = false;
  }
  return best;
}
