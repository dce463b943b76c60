//===- mpi_exchange.cpp - messages in flight, and waits for them ---------===//

#include "runtime/transports/mpi_exchange.h"

#include "runtime/ranks/collectives.h"

#include <cstdio>
#include <cstring>
#include <utility>

#include <immintrin.h>
#include <sched.h>
#include <unistd.h>

using namespace tplan::runtime;

namespace {

/// It polls first without giving the CPU away, then with, and then sleeps between polls.
constexpr int spins = 200, yields = 2000;
constexpr int sleepMicroseconds = 50;

/// Seconds between looks for notes, while nothing comes.
constexpr double lookSeconds = 0.001;

/// What came while a rank was elsewhere is read within so many seconds after its return.
constexpr double backSeconds = 0.05;
constexpr int rollTag = 2; // in the world, where notes have another one
/// Seconds for others to answer, where their launcher may end them soon; for the rank that finds
/// the fault first; and for ranks that miss a silent one, so that they speak last.
constexpr double answerSeconds = 0.1, rollSeconds = 0.4, lastSeconds = 0.2;

/// Text in the caller's memory; what does not fit is left out.
struct BoundedText {
  char *at, *end;
  BoundedText(char *text, size_t size) : at(text), end(text + size - 1) { *at = 0; }
  BoundedText &operator<<(const char *more) {
    while (*more && at < end)
      *at++ = *more++;
    *at = 0;
    return *this;
  }
  BoundedText &operator<<(int64_t number) {
    char digits[24], *digit = digits + sizeof digits - 1;
    *digit = 0;
    do
      *--digit = char('0' + number % 10);
    while (number /= 10);
    return *this << digit;
  }
};

} // namespace

void MpiExchange::reserve(int members, int64_t messages) {
  ranks = members;
  states = std::make_unique<std::atomic<State>[]>(members);
  requests.reserve(messages);
  inFlight.reserve(messages);
  finished.reserve(messages);
  for (auto &sides : pending)
    for (Pending &side : sides)
      side.of = std::make_unique<std::atomic<int>[]>(members);
}

void MpiExchange::begin(const Operation &operation, const Communicator &over,
                        MpiLibrary::Comm with) {
  std::lock_guard guard(lock);
  current = {operation.what->kind, operation.call, &over, operation.task};
  comm = with, waitingFor = nullptr;
  ++moved;
  inside = true;
}

void MpiExchange::end() {
  std::lock_guard guard(lock);
  ++moved;
  inside = false;
  if (current.call)
    last = current;
}

void MpiExchange::forget(const Communicator &group) {
  std::lock_guard guard(lock);
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
  {
    std::lock_guard guard(lock);
    waitingFor = &pending[batch][side], waitingSide = side;
  }
  double limit = current.call ? hangLimit : 10 * hangLimit, since = 0;
  for (int idle = 0; waitingFor->all;) {
    int ended;
    if (Status status = poll(ended); !status.ok()) {
      char text[1024];
      describe(text, sizeof text);
      return errorf("%s; %s", status.message().c_str(), text);
    }
    if (ended) {
      ++moved;
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
    if (now - looked > lookSeconds) {
      if (now - looked > answerSeconds)
        unheard = now - looked, back = now;
      looked = now;
      TP_TRY(notes.look(/*waits=*/false));
      TP_TRY(hearRoll());
    }
    idle < spins + yields ? sched_yield() : usleep(sleepMicroseconds);
  }
  return {};
}

Status MpiExchange::hearRoll() {
  if (wondering && called == 0)
    callRoll();
  for (;;) {
    int there = 0;
    TP_TRY(mpi.check(mpi.Iprobe(MpiLibrary::anySource, rollTag, mpi.world, &there, nullptr),
                     "Iprobe"));
    if (!there)
      return {};
    Answer its;
    TP_TRY(mpi.check(
        mpi.Recv(&its, sizeof its, mpi.byte, MpiLibrary::anySource, rollTag, mpi.world, nullptr),
        "Recv"));
    if (called == 0) {
      silentFor = monotonicSeconds() - back < backSeconds ? unheard : 0;
      callRoll();
    }
    states[its.rank] = answered;
    for (int i = 0; i < its.count; ++i)
      miss(its.missing[i]);
  }
}

/// Short enough that MPI takes a copy. A lost rank does not receive it, which is no error here.
void MpiExchange::callRoll() {
  called = monotonicSeconds();
  states[rank] = answered;
  answer.rank = rank;
  for (int member = 0; member < current.group->size(); ++member) {
    int other = current.group->members()[member];
    if (!waitingFor->of[member] || answer.count == listed)
      continue;
    answer.missing[answer.count++] = other;
    miss(other);
  }
  for (int other = 0; other < ranks; ++other) {
    MpiLibrary::Request request;
    if (other != rank &&
        mpi.Isend(&answer, sizeof answer, mpi.byte, other, rollTag, mpi.world, &request) == 0)
      mpi.Request_free(&request);
  }
}

void MpiExchange::miss(int other) {
  State nothing = unknown;
  states[other].compare_exchange_strong(nothing, missed);
}

bool MpiExchange::misses(bool silent) const {
  for (int member = 0; waitingFor && member < current.group->size(); ++member)
    if (waitingFor->of[member] && isSilent(current.group->members()[member]) == silent)
      return true;
  return false;
}

/// The last words name who is at fault.
Status MpiExchange::late(double seconds) {
  tooLate = true;
  wondering = true;
  for (double begin = monotonicSeconds(), now = begin;
       now - begin < rollSeconds + (misses(/*silent=*/true) ? lastSeconds : 0);
       now = monotonicSeconds()) {
    TP_TRY(hearRoll());
    usleep(useconds_t(lookSeconds * 1e6));
  }
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

/// Short enough that MPI takes a copy: nobody needs to receive it.
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

/// Messages that others never take stay in MPI; nothing comes to this rank's memory any more.
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
  BoundedText text(to, size);
  auto name = [&](const Named &it) {
    text << "the " << nameOfKind(it.kind) << " over '" << it.group->name().c_str() << "'";
    if (const tp_call *call = it.call)
      text << " of " << call->file << ":" << (int64_t)call->line;
    // Without memory of its own, because this may be in a signal handler.
    if (it.task.stage >= 0)
      text << " (stage " << it.task.stage << ", microbatch " << it.task.microbatch << ")";
  };
  std::lock_guard guard(lock);
  text << "rank " << (int64_t)rank;
  if (notes.waiting()) {
    text << " waits for the others to say which step is the last";
  } else if (!inside) {
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
    // A rank that others wait for may itself wait for another one.
    int silent = 0;
    bool isCalled = called > 0 && monotonicSeconds() - called > answerSeconds;
    bool isUnclear = isCalled && misses(/*silent=*/false);
    for (int other = 0; isUnclear && other < ranks; ++other)
      if (isSilent(other) && ++silent <= listed)
        text << (silent > 1 ? ", rank " : "; nothing is heard of rank ") << (int64_t)other;
    if (double seconds = silentFor; seconds > 0)
      text << "; the others heard nothing of it for " << int64_t(seconds * 1000) << " ms";
    if (current.call)
      return;
  }
  // A line of the plan shows what was done.
  if (!last.call) {
    text << ", and has been in none of the plan";
    return;
  }
  text << "; its last of the plan was ";
  name(last);
}
