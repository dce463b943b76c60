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

// The one exchange of a process that is inside a collective: a handler has no argument.
std::atomic<const MpiExchange *> inside{nullptr};
static_assert(std::atomic<const MpiExchange *>::is_always_lock_free);

void sayAndEnd(int signal) {
  if (const MpiExchange *exchange = inside.load()) {
    char text[1024];
    SafeText(text, sizeof text) << "tplan: ended by signal " << signal << ": ";
    size_t length = strlen(text);
    exchange->describe(text + length, sizeof text - length - 1);
    length = strlen(text);
    text[length++] = '\n';
    [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text, length);
  }
  raise(signal); // the handler is gone: SA_RESETHAND
}

/// Unless the program has a handler of its own.
void installHandler() {
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) {
    struct sigaction old;
    if (sigaction(signal, nullptr, &old) || old.sa_handler != SIG_DFL)
      continue;
    struct sigaction action = {};
    action.sa_handler = sayAndEnd;
    action.sa_flags = SA_RESETHAND;
    sigaction(signal, &action, nullptr);
  }
}

} // namespace

MpiExchange::~MpiExchange() { end(); }

void MpiExchange::reserve(int members, int64_t messages) {
  requests.reserve(messages);
  inFlight.reserve(messages);
  finished.reserve(messages);
  for (int batch = 0; batch < batches; ++batch) {
    receives[batch].resize(std::max<size_t>(members, receives[batch].size()));
    sends[batch].resize(receives[batch].size());
  }
}

void MpiExchange::begin(const Operation &operation, const Communicator &over,
                        MpiLibrary::Comm with) {
  installHandler();
  first = &operation, group = &over, comm = with;
  inside.store(this);
}

void MpiExchange::end() { inside.store(nullptr); }

Status MpiExchange::add(MpiLibrary::Request request, InFlight what) {
  requests.push_back(request);
  inFlight.push_back(what);
  ++pending[what.batch];
  ++(what.receives ? receives : sends)[what.batch][what.member];
  return {};
}

Status MpiExchange::send(int to, const char *data, int64_t bytes, int batch) {
  MpiLibrary::Request request;
  TP_TRY(mpi.check(mpi.Isend(data, (int)bytes, mpi.byte, to, batch, comm, &request), "Isend"));
  sent += bytes;
  return add(request, {to, batch, false});
}

Status MpiExchange::receive(int from, char *data, int64_t bytes, int batch) {
  MpiLibrary::Request request;
  TP_TRY(mpi.check(mpi.Irecv(data, (int)bytes, mpi.byte, from, batch, comm, &request), "Irecv"));
  return add(request, {from, batch, true});
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
    --(done.receives ? receives : sends)[done.batch][done.member];
    --pending[done.batch];
    requests[finished[i]] = requests.back();
    inFlight[finished[i]] = inFlight.back();
    requests.pop_back();
    inFlight.pop_back();
  }
  return {};
}

Status MpiExchange::wait(int batch) {
  waitingFor = batch;
  double limit = first->call ? hangLimit : 10 * hangLimit, end = 0;
  for (int idle = 0; pending[batch];) {
    int ended;
    TP_TRY(poll(ended));
    if (ended) {
      idle = 0, end = 0;
      continue;
    }
    if (++idle < spins) {
      _mm_pause();
      continue;
    }
    double now = monotonicSeconds();
    end = end > 0 ? end : now + limit;
    if (now > end)
      return late(limit);
    idle < spins + yields ? sched_yield() : usleep(sleepMicroseconds);
  }
  return {};
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
  // Who owes data; where nobody does, who has not taken what it is sent.
  int missing = 0;
  for (bool receiving : {true, false}) {
    if (missing)
      break;
    for (int member = 0; member < group->size(); ++member) {
      if (!(receiving ? receives : sends)[waitingFor][member] || ++missing > listed)
        continue;
      text << (missing > 1 ? ", "
               : receiving ? " for rank "
                           : " to be heard by rank ")
           << (int64_t)group->members()[member];
    }
  }
  if (missing > listed)
    text << " and " << (int64_t)(missing - listed) << " more";
}
