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
constexpr double backSeconds = 0.3;
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

void MpiExchange::reserve(int all, int64_t messages) {
  if (ranks != all)
    states = std::make_unique<std::atomic<State>[]>(all);
  ranks = all;
  requests.reserve(messages);
  inFlight.reserve(messages);
  finished.reserve(messages);
}

void MpiExchange::begin(MpiFlight &flight, const Operation &operation, const Communicator &over) {
  std::lock_guard guard(lock);
  flight.what = {operation.what->kind, operation.call, &over, operation.task};
  flight.waitingFor = nullptr;
  ++moved;
}

void MpiExchange::attend(const MpiFlight *flight) {
  std::lock_guard guard(lock);
  attended = flight;
}

void MpiExchange::end(MpiFlight &flight) {
  std::lock_guard guard(lock);
  ++moved;
  if (attended == &flight)
    attended = nullptr;
  if (flight.what.call)
    last = flight.what;
}

void MpiExchange::forget(const Communicator &group) {
  std::lock_guard guard(lock);
  if (last.group == &group)
    last = {};
  if (const MpiFlight *flight = attended; flight && flight->what.group == &group)
    attended = nullptr;
}

Status MpiExchange::add(MpiLibrary::Request request, InFlight what) {
  requests.push_back(request);
  inFlight.push_back(what);
  MpiFlight::Pending &pending = what.of->pending[what.batch][what.side];
  ++pending.all;
  ++pending.of[what.member];
  return {};
}

Status MpiExchange::send(MpiFlight &flight, int to, const char *data, int64_t bytes, int batch) {
  MpiLibrary::Request request;
  TP_TRY(
      mpi.check(mpi.Isend(data, (int)bytes, mpi.byte, to, batch, flight.comm, &request), "Isend"));
  return add(request, {&flight, to, batch, MpiFlight::sending});
}

Status MpiExchange::receive(MpiFlight &flight, int from, char *data, int64_t bytes, int batch) {
  MpiLibrary::Request request;
  TP_TRY(mpi.check(mpi.Irecv(data, (int)bytes, mpi.byte, from, batch, flight.comm, &request),
                   "Irecv"));
  return add(request, {&flight, from, batch, MpiFlight::receiving});
}

Status MpiExchange::poll(int &ended) {
  ended = 0;
  if (requests.empty())
    return {};
  finished.resize(requests.size());
  int code = mpi.Testsome((int)requests.size(), requests.data(), &ended, finished.data(),
                          /*MPI_STATUSES_IGNORE*/ nullptr);
  if (Status status = mpi.check(code, "Testsome"); !status.ok()) {
    char text[1024];
    describe(text, sizeof text);
    return errorf("%s; %s", status.message().c_str(), text);
  }
  if (ended == MpiLibrary::undefined)
    ended = 0;
  // From the last on, so that the places still to be freed do not move.
  std::sort(finished.begin(), finished.begin() + ended);
  for (int i = ended - 1; i >= 0; --i) {
    InFlight done = inFlight[finished[i]];
    MpiFlight::Pending &pending = done.of->pending[done.batch][done.side];
    --pending.all;
    --pending.of[done.member];
    requests[finished[i]] = requests.back();
    inFlight[finished[i]] = inFlight.back();
    requests.pop_back();
    inFlight.pop_back();
  }
  if (ended)
    ++moved;
  return {};
}

Status MpiExchange::rest(Patience &patience) {
  if (++patience.idle < spins) {
    _mm_pause();
    return {};
  }
  double limit = attended.load()->what.call ? hangLimit : 10 * hangLimit;
  {
    std::lock_guard guard(entry);
    if (notices)
      TP_TRY(hear());
    double now = monotonicSeconds();
    if (patience.idle == spins)
      patience.since = now;
    if (now - patience.since > limit)
      return late(limit);
    if (now - looked > lookSeconds) {
      if (now - looked > answerSeconds)
        unheard = now - looked, back = now;
      looked = now;
      TP_TRY(notes.look(/*waits=*/false));
      TP_TRY(hearRoll());
    }
  }
  patience.idle < spins + yields ? sched_yield() : usleep(sleepMicroseconds);
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
  const MpiFlight &flight = *attended;
  const MpiFlight::Pending *missing = flight.waitingFor;
  for (int member = 0; missing && member < flight.what.group->size(); ++member) {
    int other = flight.what.group->members()[member];
    if (!missing->of[member] || answer.count == listed)
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

double MpiExchange::secondsSinceCall() const {
  return called > 0 ? monotonicSeconds() - called : 0;
}

/// One rank is at fault as a rule, so where several are silent, some may be slow.
bool MpiExchange::isAnswered() const {
  double waited = secondsSinceCall();
  return waited > answerSeconds && (countSilent() <= 1 || waited > rollSeconds);
}

int MpiExchange::countSilent() const {
  int count = 0;
  for (int other = 0; other < ranks; ++other)
    count += isSilent(other);
  return count;
}

bool MpiExchange::misses(bool silent) const {
  const MpiFlight *flight = attended;
  const MpiFlight::Pending *missing = flight ? flight->waitingFor.load() : nullptr;
  for (int member = 0; missing && member < flight->what.group->size(); ++member)
    if (missing->of[member] && isSilent(flight->what.group->members()[member]) == silent)
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
  return errorf("rank %d leaves the %s: %s", rank, nameOfKind(attended.load()->what.kind), notice);
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
    if (inFlight[i].side == MpiFlight::receiving)
      mpi.Cancel(&requests[i]);
    mpi.Request_free(&requests[i]);
  }
  requests.clear();
  inFlight.clear();
  attend(nullptr);
}

void MpiExchange::describe(char *to, size_t size) const {
  BoundedText text(to, size);
  auto name = [&](const NamedCollective &it) {
    text << "the " << nameOfKind(it.kind) << " over '" << it.group->name().c_str() << "'";
    if (const tp_call *call = it.call)
      text << " of " << call->file << ":" << (int64_t)call->line;
    // Without memory of its own, because this may be in a signal handler.
    if (it.task.stage >= 0)
      text << " (stage " << it.task.stage << ", microbatch " << it.task.microbatch << ")";
  };
  std::lock_guard guard(lock);
  text << "rank " << (int64_t)rank;
  const MpiFlight *flight = attended;
  if (notes.waiting()) {
    text << " waits for the others to say which step is the last";
  } else if (!flight) {
    text << " is in no collective";
  } else {
    text << " waits in ";
    name(flight->what);
    const MpiFlight::Pending *waitingFor = flight->waitingFor;
    const std::vector<int> &members = flight->what.group->members();
    int missing = 0;
    for (size_t member = 0; waitingFor && member < members.size(); ++member)
      if (waitingFor->of[member] && ++missing <= listed)
        text << (missing > 1 ? ", " : " for rank ") << (int64_t)members[member];
    if (missing > listed)
      text << " and " << (int64_t)(missing - listed) << " more";
    if (missing && flight->waitingSide == MpiFlight::sending)
      text << " to receive";
    // A rank that others wait for may itself wait for another one.
    int silent = 0;
    bool isUnclear = secondsSinceCall() > answerSeconds && misses(/*silent=*/false);
    for (int other = 0; isUnclear && other < ranks; ++other)
      if (isSilent(other) && ++silent <= listed)
        text << (silent > 1 ? ", rank " : "; nothing is heard of rank ") << (int64_t)other;
    if (double seconds = silentFor; seconds > 0)
      text << "; the others heard nothing of it for " << int64_t(seconds * 1000) << " ms";
    if (flight->what.call)
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
