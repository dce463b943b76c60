//===- futex.h - to sleep until a word changes ----------------------------===//
#ifndef TPLAN_RUNTIME_SUPPORT_FUTEX_H
#define TPLAN_RUNTIME_SUPPORT_FUTEX_H

#include <atomic>
#include <cstdint>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tplan::runtime {

/// Returns when the word is woken, or no longer `expected`, or after `seconds` (< 0: never).
inline void futexWait(std::atomic<uint32_t> &word, uint32_t expected, double seconds = -1) {
  timespec limit = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, seconds < 0 ? nullptr : &limit, nullptr,
          0);
}

inline void futexWake(std::atomic<uint32_t> &word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_SUPPORT_FUTEX_H
