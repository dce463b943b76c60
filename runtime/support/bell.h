//===- bell.h - to sleep until somebody rings --------------------------------===//
#ifndef TPLAN_RUNTIME_SUPPORT_BELL_H
#define TPLAN_RUNTIME_SUPPORT_BELL_H

#include "runtime/support/futex.h"

#include <climits>

namespace tplan::runtime {

/// Who looks for work notes `heard()` first; a ring after that ends its sleep, or lets it not
/// begin.
class Bell {
public:
  uint32_t heard() const { return count.load(); }
  void ring() {
    count.fetch_add(1);
    if (sleepers.load())
      futexWake(count, INT_MAX);
  }
  /// Sleeps until it rings, `seconds` at most (< 0: without an end).
  void sleep(uint32_t heard, double seconds = -1) {
    sleepers.fetch_add(1);
    futexWait(count, heard, seconds);
    sleepers.fetch_sub(1);
  }

private:
  alignas(64) std::atomic<uint32_t> count{0};
  std::atomic<uint32_t> sleepers{0};
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_SUPPORT_BELL_H
