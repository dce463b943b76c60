//===- delays.c - communication that comes late, at random -------------------===//
//
// Linked into a training with -Wl,--wrap: before each list of collectives, and each await, a rank
// sleeps now and then, as if another job had its core. DELAY_SEED makes runs differ. At its end a
// process prints how often it has: "N delays".
//
//===----------------------------------------------------------------------===//
#include "tplan/runtime.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/// One call in OFTEN sleeps up to SHORT microseconds, one in SELDOM up to LONG ones.
enum { OFTEN = 4, SHORT = 300, SELDOM = 256, LONG = 5000 };

static atomic_long count;

__attribute__((destructor)) static void say(void) { printf("%ld delays\n", count); }

static void delay(tp_rank *rank) {
  static _Thread_local uint64_t state;
  if (!state) {
    const char *seed = getenv("DELAY_SEED");
    state = (uint64_t)(uintptr_t)rank ^ ((uint64_t)getpid() << 20) ^
            (uint64_t)(seed ? atoi(seed) + 1 : 1) * 0x9e3779b97f4a7c15u;
  }
  // xorshift64, Marsaglia 2003
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  uint64_t draw = state >> 8, most = draw % SELDOM == 0 ? LONG : draw % OFTEN == 0 ? SHORT : 0;
  if (!most)
    return;
  struct timespec time = {0, (long)((draw >> 16) % most) * 1000};
  nanosleep(&time, NULL);
  ++count;
}

int __real_tp_collectives(tp_rank *, const tp_call *, const tp_collective *, int64_t count,
                          void *const *pointers);
int __real_tp_start(tp_rank *, const tp_call *, const tp_collective *, int64_t count,
                    void *const *pointers, void *event);
int __real_tp_wait(tp_rank *, int64_t stream, int64_t event);
int __real_tp_await(tp_rank *, int64_t stream, void *event);

int __wrap_tp_collectives(tp_rank *rank, const tp_call *call, const tp_collective *all,
                          int64_t count, void *const *pointers) {
  delay(rank);
  return __real_tp_collectives(rank, call, all, count, pointers);
}

int __wrap_tp_start(tp_rank *rank, const tp_call *call, const tp_collective *all, int64_t count,
                    void *const *pointers, void *event) {
  delay(rank);
  return __real_tp_start(rank, call, all, count, pointers, event);
}

int __wrap_tp_wait(tp_rank *rank, int64_t stream, int64_t event) {
  delay(rank);
  return __real_tp_wait(rank, stream, event);
}

int __wrap_tp_await(tp_rank *rank, int64_t stream, void *event) {
  delay(rank);
  return __real_tp_await(rank, stream, event);
}
