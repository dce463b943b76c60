//===- room.cpp - where the threads of a group meet ------------------------===//

#include "runtime/transports/room.h"

#include "runtime/support/futex.h"
#include "runtime/support/profile.h"

#include <climits>

#include <immintrin.h>

using namespace tplan::runtime;

Room::Outcome Room::arrive(uint32_t round) {
  uint32_t word = arrived.load();
  do {
    if (word & closedBit)
      return closed;
  } while (!arrived.compare_exchange_weak(word, word + one));
  if (complete(word + one, round)) {
    futexWake(arrived, INT_MAX);
    ring();
  }
  return together;
}

Room::Outcome Room::meet(uint32_t round, double seconds) {
  if (arrive(round) == closed)
    return closed;
  double end = 0;
  uint32_t word = arrived.load();
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

void Room::depart(uint32_t round) {
  if (complete(left.fetch_add(one) + one, round)) {
    futexWake(left, INT_MAX);
    ring();
  }
}

void Room::leave(uint32_t round) {
  depart(round);
  uint32_t word = left.load();
  for (int i = 0; !complete(word, round); ++i, word = left.load())
    if (i < spins)
      _mm_pause();
    else
      futexWait(left, word);
}

void Room::close() {
  arrived.fetch_or(closedBit);
  futexWake(arrived, INT_MAX);
  mailbox.close();
  ring();
}
