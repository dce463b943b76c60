//===- team.cpp - the threads of a rank -----------------------------------===//

#include "runtime/support/team.h"

#include "runtime/support/futex.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <immintrin.h>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

using namespace tplan::runtime;

namespace {

/// About 30 microseconds: longer than the gap between two kernels of a step,
/// shorter than a time slice.
constexpr int spinRounds = 1000;

uint32_t generation(uint64_t ticket) { return uint32_t(ticket >> 32); }
uint32_t nextTask(uint64_t ticket) { return uint32_t(ticket); }

std::vector<int> cpusOfMask() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &mask))
        cpus.push_back(cpu);
  return cpus;
}

} // namespace

int tplan::runtime::availableCpus() {
  int count = (int)cpusOfMask().size();
  return count ? count : (int)std::max(1l, sysconf(_SC_NPROCESSORS_ONLN));
}

Status Team::start(int count, int number, int teams, bool pins) {
  before = cpusOfMask();
  threads = count;
  spins = count * teams <= availableCpus() ? spinRounds : 0;
  // Teams that together are as large as the mask own its CPUs. Smaller ones float, because other
  // processes with the same mask would choose the same CPUs.
  if (pins && (int)before.size() == count * teams && before.size() > 1)
    cpus.assign(before.begin() + number * count, before.begin() + (number + 1) * count);
  pin(0);
  workers.reserve(count - 1);
  for (int thread = 1; thread < count; ++thread) {
    entries.push_back(std::make_unique<Entry>(Entry{this, thread}));
    auto body = [](void *argument) -> void * {
      auto *entry = static_cast<Entry *>(argument);
      entry->team->work(entry->thread);
      return nullptr;
    };
    pthread_t handle;
    if (int code = pthread_create(&handle, nullptr, body, entries.back().get()))
      return errorf("cannot start thread %d of %d: %s", thread + 1, count, strerror(code));
    workers.push_back(handle);
  }
  return {};
}

Team::~Team() {
  stop.store(true);
  signal.fetch_add(1);
  futexWake(signal, INT_MAX);
  for (pthread_t worker : workers)
    pthread_join(worker, nullptr);
  // The thread that started the team gets its own mask back.
  if (!cpus.empty()) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (int cpu : before)
      CPU_SET(cpu, &mask);
    pthread_setaffinity_np(pthread_self(), sizeof mask, &mask);
  }
}

void Team::pin(int thread) {
  if (cpus.empty())
    return;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(cpus[thread], &mask);
  // Refused in some containers; the thread then floats.
  pthread_setaffinity_np(pthread_self(), sizeof mask, &mask);
}

void Team::run(Function newFunction, void *newContext, int64_t count) {
  if (count <= 0)
    return;
  if (count == 1 || threads == 1) {
    for (int64_t task = 0; task < count; ++task)
      newFunction(newContext, task, 0);
    return;
  }
  // The generation is odd here: closed since the last job ended.
  uint32_t closed = generation(ticket.load(std::memory_order_relaxed));
  function.store(newFunction, std::memory_order_release);
  context.store(newContext, std::memory_order_release);
  tasks.store((uint32_t)count, std::memory_order_release);
  done.store(0, std::memory_order_relaxed);
  uint64_t open = uint64_t(closed + 1) << 32;
  ticket.store(open, std::memory_order_release);
  // Sequentially consistent on both sides: either the sleeper sees the new
  // signal, or this thread sees the sleeper.
  signal.fetch_add(1);
  if (sleepers.load())
    futexWake(signal, (int)std::min<int64_t>(count - 1, INT_MAX));

  takeTasks(open, 0);
  for (int i = 0; i < spins && done.load(std::memory_order_acquire) != (uint32_t)count; ++i)
    _mm_pause();
  while (true) {
    uint32_t seen = done.load(std::memory_order_acquire);
    if (seen == (uint32_t)count)
      break;
    callerWaits.store(1);
    if (done.load() == seen)
      futexWait(done, seen);
    callerWaits.store(0);
  }
  ticket.store(uint64_t(closed + 2) << 32, std::memory_order_release);
}

/// Takes tasks of the job of `seen` until none is left.
void Team::takeTasks(uint64_t seen, int thread) {
  uint32_t mine = generation(seen), finished = 0;
  uint64_t current = seen;
  while (generation(current) == mine) {
    Function run = function.load(std::memory_order_acquire);
    void *argument = context.load(std::memory_order_acquire);
    if (nextTask(current) >= tasks.load(std::memory_order_acquire))
      break;
    if (!ticket.compare_exchange_weak(current, current + 1, std::memory_order_acq_rel,
                                      std::memory_order_acquire))
      continue;
    run(argument, nextTask(current), thread);
    ++finished;
    current = ticket.load(std::memory_order_acquire);
  }
  if (!finished)
    return;
  done.fetch_add(finished);
  if (callerWaits.load())
    futexWake(done, 1);
}

void Team::work(int thread) {
  pin(thread);
  while (!stop.load(std::memory_order_relaxed)) {
    uint32_t seenSignal = signal.load();
    uint64_t seen = ticket.load(std::memory_order_acquire);
    if (generation(seen) % 2 == 0)
      takeTasks(seen, thread);
    int i = 0;
    while (i < spins && signal.load(std::memory_order_relaxed) == seenSignal) {
      _mm_pause();
      ++i;
    }
    if (signal.load() != seenSignal)
      continue;
    sleepers.fetch_add(1);
    if (!stop.load())
      futexWait(signal, seenSignal);
    sleepers.fetch_sub(1);
  }
}
