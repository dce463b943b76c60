//===- Slots.cpp - memory for what lives from one task to another ---------------===//
//
// In the order of their begins, each takes a slot that is free: of those that are, the lowest.
//
//===----------------------------------------------------------------------===//
#include "lib/Pipeline/Slots.h"
#include "llvm/ADT/STLExtras.h"
#include <queue>

using namespace tplan;
using namespace tplan::pipeline;

Slots tplan::pipeline::countSlots(llvm::ArrayRef<Lifetime> lifetimes) {
  std::vector<size_t> byBegin(lifetimes.size());
  for (size_t i = 0; i < byBegin.size(); ++i)
    byBegin[i] = i;
  llvm::sort(byBegin, [&](size_t a, size_t b) {
    return std::pair(lifetimes[a].begin, a) < std::pair(lifetimes[b].begin, b);
  });
  Slots slots;
  slots.slotOf.resize(lifetimes.size());
  using Later = std::greater<>;
  std::priority_queue<int32_t, std::vector<int32_t>, Later> free;
  std::priority_queue<std::pair<int64_t, int32_t>, std::vector<std::pair<int64_t, int32_t>>, Later>
      taken; // until when, and which
  for (size_t i : byBegin) {
    for (; !taken.empty() && taken.top().first < lifetimes[i].begin; taken.pop())
      free.push(taken.top().second);
    int32_t slot = free.empty() ? static_cast<int32_t>(slots.count++) : free.top();
    if (!free.empty())
      free.pop();
    taken.push({lifetimes[i].end, slot});
    slots.slotOf[i] = slot;
  }
  return slots;
}
