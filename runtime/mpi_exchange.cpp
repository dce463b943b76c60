//===- mpi_exchange.cpp - messages in flight, and who is waited for ----------===//

#include "runtime/mpi_exchange.h"

#include "runtime/collectives.h"
#include "runtime/profile.h"

#include <atomic>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include <immintrin.h>
#include <sched.h>
#include <time.h>
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

// Of a process, as its signals are: a handler has no argument. The exchange, the signal that ends
// it, and what lets it speak once more before it does.
std::atomic<const MpiExchange *> only{nullptr};
std::atomic<int> ending{0};
std::atomic<bool> hasTimer{false};
timer_t timer;
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

/// When a rank dies, its launcher ends the others, and may do it for good at any time. So this one
/// says at once whom it misses, or what its last collective was. What others have sent may still be
/// on its way, and one that computes comes to its next collective: it goes on for a while, and
/// whoever is missing then is named alone.
void onSignal(int signal) {
  const MpiExchange *exchange = only.load();
  if (!exchange || !hasTimer || ending.exchange(signal))
    return die(signal);
  itimerspec grace = {};
  grace.it_value.tv_nsec = long(graceSeconds * 1e9);
  timer_settime(timer, 0, &grace, nullptr);
  say(*exchange, signal);
}

/// All ranks had the signal, and speak and end at one time.
void onTimer(int alarm) {
  const MpiExchange *exchange = only.load();
  int signal = ending;
  if (exchange && signal && exchange->busy())
    say(*exchange, signal);
  die(signal ? signal : alarm);
}

/// False where the program has a handler of its own.
bool install(int signal, void (*handler)(int)) {
  struct sigaction action = {}, old;
  action.sa_handler = handler;
  if (sigaction(signal, nullptr, &old) || old.sa_handler != SIG_DFL)
    return false;
  return !sigaction(signal, &action, nullptr);
}

void installAll() {
  struct sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGALRM;
  if (!hasTimer)
    hasTimer = install(SIGALRM, onTimer) && !timer_create(CLOCK_MONOTONIC, &event, &timer);
  for (int signal : {SIGTERM, SIGINT, SIGHUP})
    install(signal, onSignal);
}

} // namespace

MpiExchange::~MpiExchange() {
  const MpiExchange *mine = this;
  only.compare_exchange_strong(mine, nullptr);
}

void MpiExchange::installHandlers() {
  installAll();
  only = this;
}

void MpiExchange::reserve(int members, int64_t messages) {
  requests.reserve(messages);
  inFlight.reserve(messages);
  finished.reserve(messages);
  for (auto &sides : pending)
    for (Pending &side : sides)
      side.of.resize(members);
}

void MpiExchange::begin(const Operation &operation, const Communicator &over,
                        MpiLibrary::Comm with) {
  current = {operation.what->kind, operation.call, &over};
  comm = with, waitingFor = nullptr;
  inside = true;
}

void MpiExchange::end() {
  inside = false;
  if (current.call)
    last = current;
}

void MpiExchange::forget(const Communicator &group) {
  if (last.group == &group)
    last = {};
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
  double limit = current.call ? hangLimit : 10 * hangLimit, since = 0;
  for (int idle = 0; waitingFor->all;) {
    int ended;
    if (Status status = poll(ended); !status.ok()) {
      char text[1024];
      describe(text, sizeof text);
      return errorf("%s; %s", status.message().c_str(), text);
    }
    if (ended) {
      idle = 0;
      continue;
    }
    if (++idle < spins) {
      _mm_pause();
      continue;
    }
    if (notices)
      TP_TRY(hear());
    double now = monotonicSeconds();
    if (idle == spins)
      since = now;
    if (now - since > limit)
      return late(limit);
    idle < spins + yields ? sched_yield() : usleep(sleepMicroseconds);
  }
  return {};
}

Status MpiExchange::late(double seconds) {
  tooLate = true;
  char text[1024];
  describe(text, sizeof text);
  return errorf("nothing has come for %g s, the limit that %s sets: %s", seconds,
                notices ? "tp_options.hang_seconds" : "TPLAN_HANG_LIMIT", text);
}

Status MpiExchange::hear() {
  int is = 0;
  TP_TRY(mpi.check(mpi.Iprobe(MpiLibrary::anySource, 0, notices, &is, nullptr), "Iprobe"));
  if (!is)
    return {};
  TP_TRY(mpi.check(
      mpi.Recv(notice, noticeBytes, mpi.byte, MpiLibrary::anySource, 0, notices, nullptr), "Recv"));
  heard = true;
  notice[noticeBytes - 1] = 0;
  return errorf("rank %d leaves the %s: %s", rank, nameOfKind(current.kind), notice);
}

/// Short enough that MPI takes a copy: nobody need receive it.
void MpiExchange::tell(const std::string &failure, int ranks) {
  if (std::exchange(heard, true))
    return;
  snprintf(notice, sizeof notice, "rank %d failed: %s", rank, failure.c_str());
  for (int other = 0; other < ranks; ++other) {
    MpiLibrary::Request request;
    if (other != rank && mpi.Isend(notice, noticeBytes, mpi.byte, other, 0, notices, &request) == 0)
      mpi.Request_free(&request);
  }
}

/// Messages that others never take stay with MPI; nothing comes to this rank's memory any more.
void MpiExchange::cancel() {
  for (size_t i = 0; i < requests.size(); ++i) {
    if (inFlight[i].side == receiving)
      mpi.Cancel(&requests[i]);
    mpi.Request_free(&requests[i]);
  }
  requests.clear();
  inFlight.clear();
  inside = false;
}

void MpiExchange::describe(char *to, size_t size) const {
  SafeText text(to, size);
  auto name = [&](const Named &it) {
    text << "the " << nameOfKind(it.kind) << " over '" << it.group->name().c_str() << "'";
    if (const tp_call *call = it.call)
      text << " of " << call->file << ":" << (int64_t)call->line;
  };
  text << "rank " << (int64_t)rank;
  if (!inside) {
    text << " is in no collective";
  } else {
    text << " waits in ";
    name(current);
    int missing = 0;
    for (int member = 0; waitingFor && member < current.group->size(); ++member)
      if (waitingFor->of[member] && ++missing <= listed)
        text << (missing > 1 ? ", " : " for rank ") << (int64_t)current.group->members()[member];
    if (missing > listed)
      text << " and " << (int64_t)(missing - listed) << " more";
    if (missing && waitingSide == sending)
      text << " to receive";
    if (current.call)
      return;
  }
  // A line of the plan leads to what was done.
  if (!last.call) {
    text << ", and has been in none of the plan";
    return;
  }
  text << "; its last of the plan was ";
  name(last);
}
