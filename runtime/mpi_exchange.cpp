//===- mpi_exchange.cpp - messages in flight, and who is waited for ----------===//

#include "runtime/mpi_exchange.h"

#include "runtime/collectives.h"
#include "runtime/profile.h"

#include <atomic>
#include <climits>
#include <csignal>
#include <cstring>

#include <immintrin.h>
#include <sched.h>
#include <unistd.h>

using namespace tplan::runtime;

namespace {

/// Polls without, and then with, giving the CPU away; then it sleeps between polls.
constexpr int spins = 200, yields = 2000;
constexpr int sleepMicroseconds = 50;

/// From a signal to the end. A launcher may kill a second after its SIGTERM.
constexpr double graceSeconds = 0.5;

/// Messages list so many ranks.
constexpr int listed = 16;

/// Text in memory of the caller, without anything that a signal handler may not call.
struct SafeText {
  char *at, *end;
  SafeText(char *text, size_t size) : at(text), end(text + size - 1) { *at = 0; }
  SafeText &operator<<(const char *more) {
    while (*more && at < end)
      *at++ = *more++;
    *at = 0;
    return *this;
  }
  SafeText &operator<<(int64_t number) {
    char digits[24], *digit = digits + sizeof digits - 1;
    *digit = 0;
    do
      *--digit = char('0' + number % 10);
    while (number /= 10);
    return *this << digit;
  }
};

// Of a process, as its signals are: a handler has no argument. The exchange that is inside a
// collective, and the signal that ends it.
std::atomic<const MpiExchange *> inside{nullptr};
std::atomic<int> ending{0};
static_assert(std::atomic<const MpiExchange *>::is_always_lock_free);

void die(int signal) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  raise(signal);
}

void say(const MpiExchange &exchange, int signal) {
  char text[1024];
  SafeText(text, sizeof text) << "tplan: ended by signal " << signal << ": ";
  size_t length = strlen(text);
  exchange.describe(text + length, sizeof text - length - 1);
  length = strlen(text);
  text[length++] = '\n';
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text, length);
}

/// When a rank dies, its launcher ends the others, and may do it for good at any time. So this
/// one says at once whom it misses. What others have sent may still be on its way: the wait goes
/// on for a while, and whoever is missing then is named alone.
void onSignal(int signal) {
  const MpiExchange *exchange = inside.load();
  if (!exchange || ending.exchange(signal))
    return die(signal);
  say(*exchange, signal);
}

/// Unless the program has a handler of its own.
void installHandler() {
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) {
    struct sigaction action = {}, old;
    action.sa_handler = onSignal;
    if (!sigaction(signal, nullptr, &old) && old.sa_handler == SIG_DFL)
      sigaction(signal, &action, nullptr);
  }
}

} // namespace

void MpiExchange::reserve(int members, int64_t messages) {
  installHandler();
  requests.reserve(messages);
  inFlight.reserve(messages);
  finished.reserve(messages);
  for (auto &sides : pending)
    for (Pending &side : sides)
      side.of.resize(members);
}

void MpiExchange::begin(const Operation &operation, const Communicator &over,
                        MpiLibrary::Comm with) {
  first = &operation, group = &over, comm = with, waitingFor = nullptr;
  inside.store(this);
}

void MpiExchange::end() {
  inside.store(nullptr);
  if (int signal = ending)
    die(signal);
}

Status MpiExchange::add(MpiLibrary::Request request, InFlight what) {
  requests.push_back(request);
  inFlight.push_back(what);
  ++pending[what.batch][what.side].all;
  ++pending[what.batch][what.side].of[what.member];
  return {};
}

Status MpiExchange::send(int to, const char *data, int64_t bytes, int batch) {
  MpiLibrary::Request request;
  TP_TRY(mpi.check(mpi.Isend(data, (int)bytes, mpi.byte, to, batch, comm, &request), "Isend"));
  sent += bytes;
  return add(request, {to, batch, sending});
}

Status MpiExchange::receive(int from, char *data, int64_t bytes, int batch) {
  MpiLibrary::Request request;
  TP_TRY(mpi.check(mpi.Irecv(data, (int)bytes, mpi.byte, from, batch, comm, &request), "Irecv"));
  return add(request, {from, batch, receiving});
}

Status MpiExchange::poll(int &ended) {
  ended = 0;
  finished.resize(requests.size());
  TP_TRY(mpi.check(mpi.Testsome((int)requests.size(), requests.data(), &ended, finished.data(),
                                /*MPI_STATUSES_IGNORE*/ nullptr),
                   "Testsome"));
  if (ended == MpiLibrary::undefined)
    ended = 0;
  // From the last on, so that the places still to be freed do not move.
  std::sort(finished.begin(), finished.begin() + ended);
  for (int i = ended - 1; i >= 0; --i) {
    InFlight done = inFlight[finished[i]];
    --pending[done.batch][done.side].all;
    --pending[done.batch][done.side].of[done.member];
    requests[finished[i]] = requests.back();
    inFlight[finished[i]] = inFlight.back();
    requests.pop_back();
    inFlight.pop_back();
  }
  return {};
}

Status MpiExchange::wait(int batch, Side side) {
  waitingFor = &pending[batch][side], waitingSide = side;
  double limit = first->call ? hangLimit : 10 * hangLimit, since = 0;
  for (int idle = 0; waitingFor->all;) {
    int ended;
    if (Status status = poll(ended); !status.ok()) {
      char text[1024];
      describe(text, sizeof text);
      return errorf("%s; %s", status.message().c_str(), text);
    }
    if (ending)
      lastWords();
    if (ended) {
      idle = 0;
      continue;
    }
    if (++idle < spins) {
      _mm_pause();
      continue;
    }
    double now = monotonicSeconds();
    if (idle == spins)
      since = now;
    if (now - since > limit)
      return late(limit);
    idle < spins + yields ? sched_yield() : usleep(sleepMicroseconds);
  }
  return {};
}

/// All ranks had the signal, and speak and end at one time.
void MpiExchange::lastWords() {
  double now = monotonicSeconds();
  if (endAt == 0)
    endAt = now + graceSeconds;
  if (now < endAt)
    return;
  say(*this, ending);
  die(ending);
}

Status MpiExchange::late(double seconds) {
  tooLate = true;
  char text[1024];
  describe(text, sizeof text);
  return errorf("nothing has come for %g s, the limit that TPLAN_HANG_LIMIT sets: %s", seconds,
                text);
}

void MpiExchange::describe(char *to, size_t size) const {
  SafeText text(to, size);
  text << "rank " << (int64_t)rank << " waits in the " << nameOfKind(first->what->kind) << " over '"
       << group->name().c_str() << "'";
  if (const tp_call *call = first->call)
    text << " of " << call->file << ":" << (int64_t)call->line;
  int missing = 0;
  for (int member = 0; waitingFor && member < group->size(); ++member)
    if (waitingFor->of[member] && ++missing <= listed)
      text << (missing > 1 ? ", " : " for rank ") << (int64_t)group->members()[member];
  if (missing > listed)
    text << " and " << (int64_t)(missing - listed) << " more";
  if (missing && waitingSide == sending)
    text << " to receive";
}
