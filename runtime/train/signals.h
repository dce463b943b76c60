//===- signals.h - signals that ask for the end of a training -------------===//
//
// SIGUSR1 asks; so do SIGTERM, SIGINT and SIGHUP, which a launcher also sends where another rank is
// lost. After one of these, a process that waits for others and hears nothing for half a second
// says whom it misses, and ends by the signal; it gives the others a little longer to say for whom
// they wait, if they are slow. A second signal ends it at once.
//
// Decisions. One thread takes the signals and does all that they ask for. All others block them,
// because kernels of BLAS libraries use the stack pointer as they like, and a handler writes there.
// Only tp_main installs it, for signals that nobody handles or ignores.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_TRAIN_SIGNALS_H
#define TPLAN_RUNTIME_TRAIN_SIGNALS_H

#include "runtime/ranks/wish.h"

#include <csignal>
#include <mutex>

#include <pthread.h>

namespace tplan::runtime {

class Signals {
public:
  /// One at a time in a process. `saveWithin`: seconds from a signal until all is saved.
  Signals(Wish &wish, double saveWithin) : wish(wish), saveWithin(saveWithin) {}
  ~Signals();
  /// Called before any other thread starts.
  Status start();
  /// Gives the object that knows what this process waits for; it must live as long as this one, or
  /// be taken back by null.
  void follow(const Waiting *of) {
    std::lock_guard guard(lock);
    waiting = of;
  }

private:
  static void handle(int signal);
  void watch();
  void caught(int signal);
  void tick();
  void say(const char *what) const;
  [[noreturn]] void endBy(int signal) const;

  Wish &wish;
  const double saveWithin;
  std::mutex lock;
  const Waiting *waiting = nullptr;
  int ends[2] = {-1, -1}; // of a pipe: a byte is a signal, or 0
  pthread_t thread;
  sigset_t installed;

  // Used by the thread alone.
  int first = 0;
  double since = 0;      // when the first signal came, in seconds
  bool told = false;     // the last words, if this process is killed soon
  uint32_t progress = 0; // the last one seen
  double moved = 0;      // when it changed
};

/// "SIGTERM".
const char *nameOfSignal(int signal);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRAIN_SIGNALS_H
