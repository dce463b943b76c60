//===- team.h - the threads of a rank -------------------------------------===//
//
// A persistent team: the caller is thread 0, the others wait between jobs.
//
// One decision: a job ends when its tasks are done, not when all threads have
// seen it. A thread that wakes late finds no task left and delays nobody, so a
// job with few tasks costs no wake-up.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_SUPPORT_TEAM_H
#define TPLAN_RUNTIME_SUPPORT_TEAM_H

#include "runtime/support/status.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include <pthread.h>

namespace tplan::runtime {

/// CPUs that this process may run on.
int availableCpus();

class Team {
public:
  /// Task `task` of a job, on thread `thread` of the team.
  using Function = void (*)(void *context, int64_t task, int thread);

  Team() = default;
  Team(const Team &) = delete;
  Team &operator=(const Team &) = delete;
  ~Team();

  /// Starts threads 1 .. count - 1. Called once, by the thread that will run jobs. This is
  /// team `number` of `teams` equal ones in the process; with `pins` threads may be bound to CPUs.
  Status start(int count, int number = 0, int teams = 1, bool pins = true);

  int size() const { return threads; }

  /// Runs tasks 0 .. tasks - 1 in any order, on any threads; returns when all
  /// are done. Never allocates. `tasks` is below 2^31.
  void run(Function function, void *context, int64_t tasks);

  /// The same for a callable with operator()(int64_t task, int thread).
  template <typename Callable> void forEach(int64_t tasks, Callable &&callable) {
    run(
        [](void *context, int64_t task, int thread) {
          (*static_cast<std::remove_reference_t<Callable> *>(context))(task, thread);
        },
        &callable, tasks);
  }

private:
  void work(int thread);
  void takeTasks(uint64_t seen, int thread);
  void pin(int thread);

  // (generation << 32) | next task. An odd generation is closed: the job is
  // being written. A thread takes a task by exchanging the whole word, so that
  // it cannot take one of a job that it has not read.
  alignas(64) std::atomic<uint64_t> ticket{uint64_t(1) << 32};
  alignas(64) std::atomic<uint32_t> done{0};
  std::atomic<uint32_t> callerWaits{0};
  alignas(64) std::atomic<uint32_t> signal{0};
  std::atomic<uint32_t> sleepers{0};
  alignas(64) std::atomic<Function> function{nullptr};
  std::atomic<void *> context{nullptr};
  std::atomic<uint32_t> tasks{0};
  std::atomic<bool> stop{false};

  int threads = 1;
  int spins = 0;
  std::vector<int> cpus;   // to pin to; empty: threads float
  std::vector<int> before; // those of the thread that started the team
  struct Entry {
    Team *team;
    int thread;
  };
  std::vector<std::unique_ptr<Entry>> entries;
  std::vector<pthread_t> workers;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_SUPPORT_TEAM_H
