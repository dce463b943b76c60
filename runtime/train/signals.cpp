//===- signals.cpp - signals that ask for the end of a training -----------===//

#include "runtime/train/signals.h"

#include "runtime/support/profile.h"
#include "runtime/train/exit_codes.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

using namespace tplan::runtime;

namespace {

/// The signals that ask, and whether a launcher sends one where a rank is lost.
struct Asking {
  int signal;
  const char *name;
  bool mayMeanLoss;
};
constexpr Asking asking[] = {{SIGUSR1, "SIGUSR1", false},
                             {SIGTERM, "SIGTERM", true},
                             {SIGINT, "SIGINT", true},
                             {SIGHUP, "SIGHUP", true}};

const Asking *find(int signal) {
  for (const Asking &it : asking)
    if (it.signal == signal)
      return &it;
  return nullptr;
}

/// Seconds without progress in a collective: until this rank tries to find out who is at fault;
/// until it ends.
constexpr double wonders = 0.1, patience = 0.5;
/// Seconds until a process says its last words, if its launcher may kill it a second after the
/// signal; and until it no longer waits for what the others know.
constexpr double lastWords = 0.25, lastAnswers = 0.7;
/// Seconds in which one signal may come twice, from a terminal and from a launcher.
constexpr double echo = 0.1;
/// Seconds for a process to end after all is saved, while its launcher ends it, too.
constexpr double lastSeconds = 5;
constexpr int tickMilliseconds = 20;

std::atomic<int> pipeEnd{-1}; // a handler has no argument

/// mpirun ends ranks for good a second after its SIGTERM, unless an option says otherwise.
bool isKilledSoon() {
  const char *delay = getenv("OMPI_MCA_odls_base_sigkill_timeout");
  return !delay || atof(delay) <= 2;
}

} // namespace

const char *tplan::runtime::nameOfSignal(int signal) {
  const Asking *it = find(signal);
  return it ? it->name : "a signal";
}

void Signals::handle(int signal) {
  int before = errno;
  char byte = (char)signal;
  [[maybe_unused]] ssize_t written = write(pipeEnd, &byte, 1);
  errno = before;
}

Status Signals::start() {
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
    return errorf("cannot make a pipe for signals: %s", strerror(errno));
  auto body = [](void *self) -> void * {
    static_cast<Signals *>(self)->watch();
    return nullptr;
  };
  if (int code = pthread_create(&thread, nullptr, body, this))
    return errorf("cannot start the thread that watches for signals: %s", strerror(code));
  pipeEnd = ends[1];
  sigemptyset(&installed);
  for (const Asking &it : asking) {
    struct sigaction action = {}, old;
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    if (!sigaction(it.signal, nullptr, &old) && old.sa_handler == SIG_DFL &&
        !sigaction(it.signal, &action, nullptr))
      sigaddset(&installed, it.signal);
  }
  pthread_sigmask(SIG_BLOCK, &installed, nullptr);
  return {};
}

/// A late signal changes nothing if the process is about to end by itself.
Signals::~Signals() {
  if (pipeEnd < 0)
    return;
  struct sigaction action = {};
  action.sa_handler = wish.asked() || wish.ended() ? SIG_IGN : SIG_DFL;
  for (const Asking &it : asking)
    if (sigismember(&installed, it.signal))
      sigaction(it.signal, &action, nullptr);
  pthread_sigmask(SIG_UNBLOCK, &installed, nullptr);
  pipeEnd = -1;
  char stop = 0;
  while (write(ends[1], &stop, 1) < 0 && errno == EAGAIN)
    usleep(1000);
  pthread_join(thread, nullptr);
  close(ends[0]);
  close(ends[1]);
}

void Signals::watch() {
  pthread_setname_np(pthread_self(), "signals");
  for (;;) {
    pollfd polled = {ends[0], POLLIN, 0};
    poll(&polled, 1, first ? tickMilliseconds : -1);
    std::lock_guard guard(lock);
    for (char signal; read(ends[0], &signal, 1) == 1;) {
      if (!signal)
        return;
      caught(signal);
    }
    if (first)
      tick();
  }
}

void Signals::caught(int signal) {
  double now = monotonicSeconds();
  if (first) {
    if (now - since < echo || (wish.ended() && wish.settled() && now - since < lastSeconds))
      return;
    if (!wish.settled())
      say("ended at once by a second signal, nothing is saved");
    endBy(signal);
  }
  if (find(signal)->mayMeanLoss && !waiting && !wish.begun())
    endBy(signal); // nothing to lose, and nobody to tell
  first = signal, since = moved = now;
  progress = waiting ? waiting->progress() : 0;
  wish.ask(signal);
}

void Signals::tick() {
  if (wish.settled())
    return;
  double now = monotonicSeconds();
  if (now - since >= saveWithin) {
    char text[160];
    snprintf(text, sizeof text,
             "nothing was saved within %g s of %s, the limit that --save-within sets", saveWithin,
             nameOfSignal(first));
    say(text);
    _exit(exitUnsaved);
  }
  // When all have come to one point, they wait until everything is saved.
  if (!waiting || !find(first)->mayMeanLoss || wish.ended())
    return;
  if (uint32_t seen = waiting->progress(); seen != progress)
    progress = seen, moved = now;
  bool waits = waiting->waits();
  char text[64];
  snprintf(text, sizeof text, "ended by signal %d", first);
  if (waits && now - moved >= wonders)
    waiting->wonder();
  bool knows = !waits || waiting->isAnswered() || now - since >= lastAnswers;
  if (waits && knows && now - moved >= patience) {
    say(text);
    endBy(first);
  }
  // A rank that computes may still come to its next collective, or be killed before.
  if (!told && knows && now - since >= lastWords && isKilledSoon()) {
    told = true;
    snprintf(text, sizeof text, "about to be ended by signal %d", first);
    say(text);
  }
}

/// Written in one piece, because other ranks write, too.
void Signals::say(const char *what) const {
  char text[1400], where[1024] = "";
  if (waiting)
    waiting->describe(where, sizeof where);
  int length = snprintf(text, sizeof text, "tplan: %s%s%s\n", what, *where ? ": " : "", where);
  [[maybe_unused]] ssize_t written =
      write(STDERR_FILENO, text, std::min<size_t>(length, sizeof text - 1));
}

void Signals::endBy(int signal) const {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  raise(signal);
  _exit(128 + signal);
}
