//===- host_streams.cpp - what a rank on a CPU does beside its computing -----===//

#include "runtime/ranks/host_streams.h"

#include "runtime/ranks/collectives.h"
#include "runtime/support/profile.h"

#include <cstring>
#include <ctime>

using namespace tplan::runtime;

namespace {

/// Between two looks of the thread, where nobody rings (what that costs: docs/overlap.md).
constexpr double lookSeconds = 1e-3;
/// Between two looks of a rank that computes, at least.
constexpr double glanceSeconds = 3e-4;
/// A rank that has ended waits so often, and so long, for others to leave.
constexpr int mostIdle = 20;
constexpr double idleSeconds = 0.1;

Team &oneThread() {
  static thread_local Team alone;
  return alone;
}

} // namespace

Status HostStreams::start(Transport &of, Team &by, int64_t numStreams, int64_t numEvents) {
  transport = &of;
  team = &by;
  streams = std::vector<Stream>(numStreams);
  events = std::vector<Event>(numEvents);
  if (Bell *its = transport->bell())
    bell = its;
  if (numStreams > 1 && transport->takesThreads())
    return startThread();
  return {};
}

Status HostStreams::startThread() {
  auto body = [](void *streams) -> void * {
    static_cast<HostStreams *>(streams)->beTheThread();
    return nullptr;
  };
  if (int code = pthread_create(&thread, nullptr, body, this))
    return errorf("cannot start the communication thread of a rank: %s", strerror(code));
  hasThread = true;
  return {};
}

HostStreams::~HostStreams() {
  stops = true;
  wakeThread();
  if (hasThread)
    pthread_join(thread, nullptr);
  finishBegun();
}

/// After a failure: members that have come read each other's memory still, and wait for this rank's
/// part. The others leave when the rank that failed says so.
void HostStreams::finishBegun() {
  if (!transport || !transport->sharesMemory())
    return;
  for (int idle = 0; idle < mostIdle;) {
    uint32_t heard = bell->heard();
    bool isLeft = false;
    {
      std::lock_guard guard(lock);
      for (Stream &stream : streams) {
        Advance how = Advance::done;
        if (stream.hasBegun)
          stream.hasBegun =
              stream.first().group->advance(oneThread(), how).ok() && how != Advance::done;
        isLeft |= stream.hasBegun;
      }
    }
    if (!isLeft)
      return;
    bell->sleep(heard, idleSeconds);
    idle += stops; // nobody says anything any more
  }
}

//===----------------------------------------------------------------------===//
// The rank
//===----------------------------------------------------------------------===//

void HostStreams::wakeThread() {
  own.ring();
  if (bell != &own)
    bell->ring();
}

Status HostStreams::add(Stream &stream, const Command &command) {
  auto isFull = [&] { return stream.added - stream.done == Stream::mostCommands; };
  if (isFull())
    TP_TRY(work([&] { return !isFull(); }, [&] { return &stream; }));
  stream.commands[stream.added % Stream::mostCommands] = command;
  ++stream.added;
  ++numLeft;
  if (std::unique_lock guard(lock, std::try_to_lock); guard.owns_lock() && !failed)
    TP_TRY(noted(beginFirst(stream)));
  if (hasThread)
    wakeThread();
  return {};
}

/// What is sent at once need not wait until the thread is awake.
Status HostStreams::beginFirst(Stream &stream) {
  if (stream.hasBegun || stream.isEmpty() || stream.first().kind != Command::operations)
    return {};
  const Command &first = stream.first();
  TP_TRY(first.group->begin({&stream.operations[first.first], first.count}));
  stream.hasBegun = true;
  return {};
}

/// After a failure nothing goes on.
Status HostStreams::noted(Status status) {
  if (!status.ok() && !failed.exchange(true))
    failure = errorf("%s", status.message().c_str());
  return status;
}

Status HostStreams::issue(int64_t number, Communicator &group,
                          std::span<const Operation> operations) {
  Stream &stream = streams[number];
  uint32_t count = (uint32_t)operations.size();
  if (count == 0)
    return {};
  // They lie one after the other, so what is left of the list before its end may stay empty.
  uint32_t &next = stream.nextOperation;
  if (uint32_t place = next % Stream::mostOperations; place + count > Stream::mostOperations)
    next += Stream::mostOperations - place;
  auto isFull = [&] { return next + count - stream.operationsDone > Stream::mostOperations; };
  if (isFull())
    TP_TRY(work([&] { return !isFull(); }, [&] { return &stream; }));
  uint32_t first = next % Stream::mostOperations;
  std::copy(operations.begin(), operations.end(), stream.operations.begin() + first);
  next += count;
  TP_TRY(add(stream, {Command::operations, &group, first, count, next}));
  if (number > 0)
    return {};
  return work([&] { return stream.isEmpty(); }, [&] { return &stream; });
}

Status HostStreams::record(int64_t stream, int64_t event) {
  Event &it = events[event];
  ++it.recorded;
  it.stream = stream;
  if (stream > 0)
    return add(streams[stream], {.kind = Command::record, .event = event, .turn = it.recorded});
  it.reached = it.recorded;
  return {};
}

/// The stream whose work an event waits for in the end.
HostStreams::Stream *HostStreams::blockerOf(int64_t event) {
  for (size_t turns = 0; turns < streams.size(); ++turns) {
    Stream &stream = streams[events[event].stream];
    if (stream.isEmpty())
      return nullptr;
    const Command &first = stream.first();
    if (first.kind != Command::wait)
      return &stream;
    event = first.event;
  }
  return nullptr;
}

Status HostStreams::wait(int64_t stream, int64_t event) {
  Event &it = events[event];
  uint64_t turn = it.recorded;
  if (it.reached >= turn)
    return {};
  if (stream > 0)
    return add(streams[stream], {.kind = Command::wait, .event = event, .turn = turn});
  return work([&] { return it.reached >= turn; }, [&] { return blockerOf(event); });
}

Status HostStreams::finish() {
  return work([&] { return isAllDone(); },
              [&]() -> Stream * {
                for (Stream &stream : streams)
                  if (!stream.isEmpty())
                    return &stream;
                return nullptr;
              });
}

bool HostStreams::isAllDone() const { return numLeft == 0; }

void HostStreams::lookIfItIsTime() {
  std::unique_lock guard(lock, std::try_to_lock);
  if (!guard.owns_lock() || failed || monotonicSeconds() - looked < glanceSeconds)
    return;
  bool moved = false;
  do {
    moved = false;
    (void)noted(look(*team, moved));
  } while (moved && !failed);
}

template <typename Condition, typename Attended>
Status HostStreams::work(Condition &&condition, Attended &&attended) {
  rankWorks = true;
  Communicator *group = nullptr; // that the rank waits for, in messages
  Patience patience;
  auto attend = [&](Stream *stream) {
    Communicator *now = stream && stream->hasBegun ? stream->first().group : nullptr;
    if (group && group != now)
      group->attend(false);
    if (now) // again for each list of operations
      now->attend(true);
    group = now;
  };
  std::unique_lock guard(lock);
  Status status;
  while (!condition() && status.ok()) {
    patience.heard = bell->heard();
    bool moved = false;
    if (failed) {
      status = errorf("%s", failure.message().c_str());
    } else if (status = look(*team, moved); moved) {
      patience = {};
    } else if (status.ok() && !condition()) {
      attend(attended());
      if (group)
        status = group->rest(patience);
    }
  }
  attend(nullptr);
  status = noted(std::move(status));
  guard.unlock();
  rankWorks = false;
  if (hasThread && !isAllDone())
    wakeThread();
  return status;
}

//===----------------------------------------------------------------------===//
// Whoever works
//===----------------------------------------------------------------------===//

/// What the last blocks lack is set to zero here, so that padding stays zero.
static void clearRests(const Communicator &group, std::span<const Operation> operations) {
  for (const Operation &each : operations)
    if (each.what->kind == TP_REDUCE_SCATTER)
      clearRest(*each.what, group.size(), group.member(), each.out);
}

Status HostStreams::goOn(Stream &stream, Team &by, bool &moved) {
  while (!stream.isEmpty()) {
    const Command &first = stream.first();
    if (first.kind == Command::wait && events[first.event].reached < first.turn)
      return {};
    if (first.kind == Command::record)
      events[first.event].reached = first.turn;
    if (first.kind == Command::operations) {
      TP_TRY(beginFirst(stream));
      Advance how;
      TP_TRY(first.group->advance(by, how));
      moved |= how != Advance::nothing;
      if (how != Advance::done)
        return {};
      clearRests(*first.group, {&stream.operations[first.first], first.count});
      stream.hasBegun = false;
      stream.operationsDone = first.end;
    }
    moved = true;
    ++stream.done;
    --numLeft;
  }
  return {};
}

Status HostStreams::look(Team &by, bool &moved) {
  looked = monotonicSeconds();
  for (Stream &stream : streams)
    TP_TRY(goOn(stream, by, moved));
  return {};
}

void HostStreams::beTheThread() {
  pthread_setname_np(pthread_self(), "communication");
  while (!stops) {
    uint32_t heardOwn = own.heard(), heard = bell->heard();
    if (stops)
      return;
    bool moved = false;
    if (!rankWorks && !failed && !isAllDone()) {
      std::unique_lock guard(lock, std::try_to_lock);
      if (guard.owns_lock() && !failed)
        (void)noted(look(oneThread(), moved));
    }
    if (moved)
      continue;
    if (failed)
      finishBegun();
    if (rankWorks || failed || isAllDone())
      own.sleep(heardOwn);
    else if (bell == &own)
      own.sleep(heardOwn, lookSeconds);
    else
      bell->sleep(heard);
  }
}

double HostStreams::threadSeconds() const {
  clockid_t clock;
  timespec time;
  if (!hasThread || pthread_getcpuclockid(thread, &clock) || clock_gettime(clock, &time))
    return 0;
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}
