//===- room.cpp - where the threads of a group meet ------------------------===//

#include "runtime/transports/room.h"

#include "runtime/support/futex.h"
#include "runtime/support/profile.h"

#include <climits>

#include <immintrin.h>

using namespace tplan::runtime;

Room::Outcome Room::meet(uint32_t round, double seconds) {
  uint32_t word = arrived.load();
  do {
    if (word & closedBit)
      return closed;
  } while (!arrived.compare_exchange_weak(word, word + one));
  word += one;
  if (complete(word, round)) {
    futexWake(arrived, INT_MAX);
    return together;
  }
  double end = 0;
  for (int i = 0; !complete(word, round); ++i, word = arrived.load()) {
    if (word & closedBit)
      return closed;
    if (i < spins) {
      _mm_pause();
      continue;
    }
    double now = monotonicSeconds();
    end = end > 0 ? end : now + seconds;
    if (now >= end)
      return late;
    futexWait(arrived, word, end - now);
  }
  return together;
}

void Room::leave(uint32_t round) {
  uint32_t word = left.fetch_add(one) + one;
  if (complete(word, round)) {
    futexWake(left, INT_MAX);
    return;
  }
  for (int i = 0; !complete(word, round); ++i, word = left.load())
    if (i < spins)
      _mm_pause();
    else
      futexWait(left, word);
}

void Room::close() {
  arrived.fetch_or(closedBit);
  futexWake(arrived, INT_MAX);
}
