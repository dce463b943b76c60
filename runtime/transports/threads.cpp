//===- threads.cpp - ranks that are threads of one process -----------------===//
//
// Members meet, each computes its share straight from and into the memory of the others,
// and they meet again: nothing is staged.
//
// On devices the members meet all the same, on the host, and show each other where they are in
// their streams: each stream waits for what the others bring and, before it goes on, until they
// have taken what it brought. So several ranks may share a device, or each has its own.
//
// Decision: only the first meeting can fail. A member that is past it finishes without waiting for
// anything but the copies of others, so no member leaves, and releases its memory, while another
// one reads it.
//
//===----------------------------------------------------------------------===//

#include "runtime/transports/threads.h"

#include "runtime/ranks/collectives.h"
#include "runtime/ranks/device_blocks.h"
#include "runtime/ranks/reduce.h"
#include "runtime/support/profile.h"
#include "runtime/support/types.h"
#include "runtime/transports/room.h"

#include <map>
#include <mutex>

#include <immintrin.h>

using namespace tplan::runtime;

namespace {

/// Pieces are large enough to pay for a thread of the team, and fixed by size alone.
constexpr int64_t pieceBytes = int64_t(1) << 18;

/// Whether a rank waits for others, and the last collective of a line of the plan that it came to:
/// written by it, read by others.
struct alignas(64) Last {
  std::atomic<bool> waits{false};
  std::mutex lock;
  int32_t kind;
  const tp_call *call = nullptr;
  const Communicator *group;
  TaskPlace task;
};

/// What the ranks of a process share.
struct Hub {
  explicit Hub(int ranks, double hangLimit)
      : ranks(ranks), hangLimit(hangLimit), sent(ranks), last(ranks), left(ranks), bells(ranks) {}
  std::shared_ptr<Room> room(int64_t connection, int64_t group, const Members &members);
  void fail(std::string why);
  std::string lastOf(int rank);
  std::string busy() const;

  const int ranks;
  const double hangLimit;
  /// Bytes that left each rank, by kind of collective.
  std::vector<std::array<std::atomic<int64_t>, TP_COLLECTIVE_KINDS>> sent;
  std::vector<Last> last;        // of each rank
  std::vector<std::string> left; // the collective that each rank left; written by it
  std::vector<Bell> bells;       // of each rank
  std::mutex lock;
  std::map<std::tuple<int64_t, int64_t, int>, std::shared_ptr<Room>> rooms;
  std::string reason; // of the first failure
};

std::shared_ptr<Room> Hub::room(int64_t connection, int64_t group, const Members &members) {
  std::lock_guard guard(lock);
  std::shared_ptr<Room> &room = rooms[{connection, group, members.ranks[0]}];
  if (!room)
    room = std::make_shared<Room>((int)members.ranks.size(), ranks <= availableCpus(),
                                  [this, of = members.ranks] {
                                    for (int rank : of)
                                      bells[rank].ring();
                                  });
  if (!reason.empty())
    room->close();
  return room;
}

void Hub::fail(std::string why) {
  std::lock_guard guard(lock);
  if (!reason.empty())
    return;
  reason = std::move(why);
  for (auto &[key, room] : rooms)
    room->close();
}

std::string Hub::lastOf(int rank) {
  Last &it = last[rank];
  std::lock_guard guard(it.lock);
  if (!it.call)
    return {};
  tp_collective what = {};
  what.kind = it.kind;
  return describe({&what, nullptr, nullptr, it.call, it.task}, it.group->name());
}

/// Names the ranks that wait for nobody.
std::string Hub::busy() const {
  std::string text;
  for (int rank = 0; rank < ranks; ++rank)
    if (!last[rank].waits)
      text += format("%s%d", text.empty() ? "; nothing is heard of rank " : ", rank ", rank);
  return text;
}

class ThreadCommunicator : public Communicator {
public:
  ThreadCommunicator(std::shared_ptr<Hub> hub, std::shared_ptr<Room> room, Members members)
      : Communicator(std::move(members)), hub(std::move(hub)), room(std::move(room)),
        others(size()) {}

  Status issue(std::span<const Operation> operations, Team &team, Stream *stream) override;
  Status start(std::span<const Operation> operations, Team &team, Stream stream,
               int64_t event) override;
  Status settle(Stream stream, int64_t event) override;
  Status begin(std::span<const Operation> operations) override;
  Status advance(Team &team, Advance &how) override;
  void attend(bool is) override { hub->last[group.ranks[group.self]].waits = is; }
  Status rest(Patience &patience) override;
  Traffic traffic() const override { return room->trafficOf(group.self); }

private:
  Status check(std::span<const Operation> operations);
  void remember(const Operation &first);
  Status meet(const Operation &first);
  void noteLate(const Operation &first, double limit);
  Status leftBy(const Operation &first);
  double limitOf(const Operation &first) const {
    return first.call ? hub->hangLimit : 10 * hub->hangLimit;
  }
  Status checkSame(std::span<const Operation> operations) const;
  Status checkSame(std::span<const Operation> mine, std::span<const Operation> theirs,
                   int other) const;
  void reduce(size_t index, Team &team) const;
  void move(size_t index, Team &team) const;

  Status reduceOnDevice(size_t index, Stream stream) const;
  Status moveOnDevice(size_t index, Stream stream) const;
  Status followOthers(Stream stream, SharedMark mark) const;
  Status moveMessage(const Mailbox::Post &mine, const Mailbox::Post &theirs) const;

  const Operation &of(int member, size_t index) const { return room->offer(member)[index]; }
  /// Counts what a piece of an operation moved from a member to others.
  void count(size_t index, int from, int64_t bytes) const {
    int32_t kind = of(group.self, index).what->kind;
    hub->sent[group.ranks[from]][kind].fetch_add(bytes, std::memory_order_relaxed);
    room->count(from, kind, bytes);
  }

  std::shared_ptr<Hub> hub;
  std::shared_ptr<Room> room;
  std::vector<Stream> others; // of the members, in this meeting
  uint32_t round = 0;
  /// Operations under way that nobody waits for here.
  enum State { idle, meeting, leaving } state = idle;
  std::span<const Operation> started;
};

bool same(const tp_collective &a, const tp_collective &b, int members) {
  return a.kind == b.kind && a.reduction == b.reduction && a.type == b.type && a.outer == b.outer &&
         a.inner == b.inner && a.middle == b.middle && a.last == b.last && a.whole == b.whole &&
         a.split_last == b.split_last &&
         (a.kind != TP_PERMUTE || std::equal(a.source, a.source + members, b.source));
}

std::string inFull(const Operation &it, const std::string &group) {
  const tp_collective &c = *it.what;
  return format("%s: %s, extents %lld %lld %lld %lld, whole %lld", describe(it, group).c_str(),
                nameOf(c.type), (long long)c.outer, (long long)c.middle, (long long)c.inner,
                (long long)c.last, (long long)c.whole);
}

/// All members hold the same list, so all find a difference, and none touches memory.
Status ThreadCommunicator::checkSame(std::span<const Operation> mine) const {
  for (int other = 0; other < size(); ++other)
    TP_TRY(checkSame(mine, room->offer(other), other));
  return {};
}

Status ThreadCommunicator::checkSame(std::span<const Operation> mine,
                                     std::span<const Operation> theirs, int other) const {
  for (size_t i = 0; i < std::max(mine.size(), theirs.size()); ++i)
    if (i >= mine.size() || i >= theirs.size() || !same(*mine[i].what, *theirs[i].what, size()))
      return errorf("ranks do not issue the same collectives over '%s': rank %d has %s; rank %d "
                    "has %s",
                    group.name.c_str(), group.ranks[group.self],
                    i < mine.size() ? inFull(mine[i], group.name).c_str() : "none",
                    group.ranks[other],
                    i < theirs.size() ? inFull(theirs[i], group.name).c_str() : "none");
  return {};
}

void ThreadCommunicator::remember(const Operation &first) {
  Last &last = hub->last[group.ranks[group.self]];
  std::lock_guard guard(last.lock);
  last.kind = first.what->kind, last.call = first.call, last.group = this;
  last.task = first.task;
}

/// Only now is it certain that a member has not come: the rooms are closed before anybody can come
/// and find this rank gone. Members that came before still count.
void ThreadCommunicator::noteLate(const Operation &first, double limit) {
  std::string missing;
  bool allWait = true; // and the fault is another member's
  for (int m = 0; m < size(); ++m)
    if (!room->hasCome(m, round)) {
      missing += format("%s%d", missing.empty() ? "" : ", ", group.ranks[m]);
      allWait &= hub->last[group.ranks[m]].waits;
    }
  if (allWait)
    missing += hub->busy();
  hub->fail(format("rank %d has waited %g s in the %s for rank %s", group.ranks[group.self], limit,
                   describe(first, group.name).c_str(), missing.c_str()));
}

/// The error of a member that leaves a meeting that will not be complete.
Status ThreadCommunicator::leftBy(const Operation &first) {
  std::string last = first.call ? "" : hub->lastOf(group.ranks[group.self]);
  hub->left[group.ranks[group.self]] =
      describe(first, group.name) + (last.empty() ? "" : "; its last of the plan was the " + last);
  std::lock_guard guard(hub->lock);
  return errorf("rank %d leaves the %s over '%s': %s", group.ranks[group.self],
                nameOfKind(first.what->kind), group.name.c_str(), hub->reason.c_str());
}

Status ThreadCommunicator::meet(const Operation &first) {
  double limit = limitOf(first);
  std::atomic<bool> &waits = hub->last[group.ranks[group.self]].waits;
  waits.store(true, std::memory_order_relaxed);
  Room::Outcome outcome = room->meet(round, limit);
  if (outcome == Room::late) {
    noteLate(first, limit);
    if (room->isComplete(round))
      return {};
  }
  if (outcome != Room::together)
    return leftBy(first);
  waits.store(false, std::memory_order_relaxed);
  return {};
}

/// This member's part or block, read from all and, in an all-reduce, written to all.
void ThreadCommunicator::reduce(size_t index, Team &team) const {
  const tp_collective &what = *of(group.self, index).what;
  int n = size(), self = group.self;
  int64_t bytes = bytesOf(what.type), piece = pieceBytes / bytes;
  Block from = inputBlock(what, n, self, self), to = outputBlock(what, n, self, self);
  bool toAll = what.kind == TP_ALL_REDUCE;
  if (n == 1 && of(0, index).in == of(0, index).out)
    return;
  const Reducer &reducer = reducerOf(what.type, what.reduction);
  team.forEach((from.count() + piece - 1) / piece, [&](int64_t task, int) {
    int64_t begin = task * piece, end = std::min(begin + piece, from.count());
    forRuns(from, to, begin, end, [&](int64_t inAt, int64_t outAt, int64_t run) {
      auto in = [&](int m) { return (const char *)of(m, index).in + inAt * bytes; };
      auto out = [&](int m) { return (char *)of(toAll ? m : self, index).out + outAt * bytes; };
      reduceArrays(reducer, n, in, toAll ? n : 1, out, run);
    });
    for (int m = 0; m < n; ++m)
      count(index, m, (end - begin) * bytes * (m != self ? 1 : toAll ? n - 1 : 0));
  });
}

/// Copies what the others have for this member. Each member begins with another one.
void ThreadCommunicator::move(size_t index, Team &team) const {
  const Operation &mine = of(group.self, index);
  int n = size(), self = group.self;
  int64_t bytes = bytesOf(mine.what->type), piece = pieceBytes / bytes;
  int64_t most = outputBlock(*mine.what, n, 0, self).count();
  for (int m = 1; m < n; ++m)
    most = std::max(most, outputBlock(*mine.what, n, m, self).count());
  int64_t pieces = (most + piece - 1) / piece;
  team.forEach(n * pieces, [&](int64_t task, int) {
    int from = (int)((self + task / pieces) % n);
    Block source = inputBlock(*mine.what, n, from, self);
    Block target = outputBlock(*mine.what, n, from, self);
    int64_t begin = task % pieces * piece, end = std::min(begin + piece, source.count());
    if (begin >= end)
      return;
    forRuns(source, target, begin, end, [&](int64_t inAt, int64_t outAt, int64_t run) {
      const char *in = (const char *)of(from, index).in + inAt * bytes;
      char *out = (char *)mine.out + outAt * bytes;
      if (in != out)
        memcpy(out, in, run * bytes);
    });
    if (from != self)
      count(index, from, (end - begin) * bytes);
  });
}

/// Adds this member's part or block: copies of what each member has lie beside each other, then
/// their sum is made.
Status ThreadCommunicator::reduceOnDevice(size_t index, Stream stream) const {
  const tp_collective &what = *of(group.self, index).what;
  int n = size(), self = group.self;
  if (n == 1 && of(0, index).in == of(0, index).out)
    return {};
  int64_t bytes = bytesOf(what.type), slot = tp_device_slot(&what, n, bytes);
  Block from = inputBlock(what, n, self, self), to = outputBlock(what, n, self, self);
  Block packed = lineOf(from.count());
  if (from.count() == 0)
    return {};
  char *parts = stream.device->scratch(stream.number);
  for (int m = 0; m < n; ++m)
    TP_TRY(copyBlock(stream, bytes, of(m, index).in, from, parts + m * slot, packed));
  // In place: a thread has read all parts of its element when it writes it.
  TP_TRY(stream.device->sum(stream.number, what.type, what.reduction, parts, parts, n, from.count(),
                            slot / bytes));
  bool toAll = what.kind == TP_ALL_REDUCE;
  for (int m = toAll ? 0 : self; m < (toAll ? n : self + 1); ++m)
    TP_TRY(copyBlock(stream, bytes, parts, packed, of(m, index).out, to));
  for (int m = 0; m < n; ++m)
    count(index, m, from.count() * bytes * (m != self ? 1 : toAll ? n - 1 : 0));
  return {};
}

/// Copies what the others have for this member; rows of another length go through memory in
/// between.
Status ThreadCommunicator::moveOnDevice(size_t index, Stream stream) const {
  const Operation &mine = of(group.self, index);
  int n = size(), self = group.self;
  int64_t bytes = bytesOf(mine.what->type);
  for (int i = 0; i < n; ++i) {
    int from = (self + i) % n; // each member begins with another one
    Block source = inputBlock(*mine.what, n, from, self);
    Block target = outputBlock(*mine.what, n, from, self);
    const char *in = (const char *)of(from, index).in;
    if (source.count() == 0 ||
        in + source.offset * bytes == (char *)mine.out + target.offset * bytes)
      continue;
    if (source.row != target.row && !source.contiguous() && !target.contiguous()) {
      Block packed = lineOf(source.count());
      char *between = stream.device->scratch(stream.number);
      TP_TRY(copyBlock(stream, bytes, in, source, between, packed));
      TP_TRY(copyBlock(stream, bytes, between, packed, mine.out, target));
    } else {
      TP_TRY(copyBlock(stream, bytes, in, source, mine.out, target));
    }
    if (from != self)
      count(index, from, source.count() * bytes);
  }
  return {};
}

Status ThreadCommunicator::followOthers(Stream stream, SharedMark mark) const {
  for (int m = 0; m < size(); ++m)
    if (m != group.self)
      TP_TRY(stream.device->follow(stream.number, *others[m].device, others[m].number, mark));
  return {};
}

Status ThreadCommunicator::issue(std::span<const Operation> operations, Team &team,
                                 Stream *stream) {
  if (operations.empty())
    return {};
  TP_TRY(check(operations));
  if (stream)
    TP_TRY(stream->device->mark(stream->number, sharedReady));
  ++round;
  room->offer(group.self, round, operations, stream ? *stream : Stream{});
  TP_TRY(meet(operations[0]));
  Status status = checkSame(operations);
  for (int m = 0; m < size(); ++m) // a member that has left may already bring its next
    others[m] = room->streamOf(m);
  if (stream && status.ok())
    status = followOthers(*stream, sharedReady);
  for (size_t i = 0; status.ok() && i < operations.size(); ++i) {
    bool adds = reduces(*operations[i].what);
    if (stream)
      status = adds ? reduceOnDevice(i, *stream) : moveOnDevice(i, *stream);
    else
      adds ? reduce(i, team) : move(i, team);
  }
  if (stream && status.ok())
    status = stream->device->mark(stream->number, sharedDone);
  room->leave(round);
  if (stream && status.ok())
    status = followOthers(*stream, sharedDone);
  return status;
}

Status ThreadCommunicator::check(std::span<const Operation> operations) {
  TP_TRY(checkStart(operations, state != idle));
  if (operations[0].call)
    remember(operations[0]);
  return {};
}

//===----------------------------------------------------------------------===//
// Messages that are started, on devices
//===----------------------------------------------------------------------===//

/// The end that comes second waits for the memory of the first, and moves the bytes, whether they
/// come or go.
Status ThreadCommunicator::moveMessage(const Mailbox::Post &mine,
                                       const Mailbox::Post &theirs) const {
  Stream stream = mine.stream;
  TP_TRY(checkSame(mine.operations, theirs.operations, 1 - group.self));
  TP_TRY(stream.device->follow(stream.number, *theirs.stream.device, theirs.event));
  for (size_t i = 0; i < mine.operations.size(); ++i) {
    const Operation &own = mine.operations[i], &other = theirs.operations[i];
    int64_t bytes = own.what->outer * own.what->inner * bytesOf(own.what->type);
    const void *from = group.self == 0 ? own.in : other.in;
    void *to = group.self == 0 ? other.out : own.out;
    TP_TRY(stream.device->copy(stream.number, to, from, Rows{1, bytes, 0, 0}));
  }
  return stream.device->record(stream.number, mine.event);
}

Status ThreadCommunicator::start(std::span<const Operation> operations, Team &, Stream stream,
                                 int64_t event) {
  TP_TRY(check(operations));
  for (const Operation &each : operations)
    if (group.self == 0) {
      int64_t bytes = each.what->outer * each.what->inner * bytesOf(each.what->type);
      hub->sent[group.ranks[0]][each.what->kind].fetch_add(bytes, std::memory_order_relaxed);
      room->count(0, each.what->kind, bytes);
    }
  Mailbox::Post mine = {{operations.begin(), operations.end()}, stream, event};
  return room->mailbox.post(
      group.self, mine, [&] { return stream.device->record(stream.number, event); },
      [&](const Mailbox::Post &theirs) { return moveMessage(mine, theirs); });
}

Status ThreadCommunicator::settle(Stream stream, int64_t event) {
  std::atomic<bool> &waits = hub->last[group.ranks[group.self]].waits;
  waits.store(true, std::memory_order_relaxed);
  Mailbox::Post end;
  Mailbox::Outcome outcome = room->mailbox.wait(group.self, event, hub->hangLimit, end);
  waits.store(false, std::memory_order_relaxed);
  if (outcome == Mailbox::posted)
    return stream.device->follow(stream.number, *end.stream.device, end.event);
  const Operation &first = end.operations.front();
  if (outcome == Mailbox::late)
    hub->fail(format("rank %d has waited %g s in the %s for rank %d", group.ranks[group.self],
                     hub->hangLimit, describe(first, group.name).c_str(),
                     group.ranks[1 - group.self]));
  return leftBy(first);
}

//===----------------------------------------------------------------------===//
// Without waiting
//===----------------------------------------------------------------------===//

Status ThreadCommunicator::begin(std::span<const Operation> operations) {
  TP_TRY(check(operations));
  ++round;
  room->offer(group.self, round, operations, Stream{});
  started = operations;
  state = meeting;
  return room->arrive(round) == Room::closed ? leftBy(operations[0]) : Status();
}

/// As in `issue`, a member that has met finishes whatever becomes of the others.
Status ThreadCommunicator::advance(Team &team, Advance &how) {
  how = Advance::nothing;
  if (state == meeting) {
    if (!room->isComplete(round))
      return room->isClosed() ? leftBy(started[0]) : Status();
    Status status = checkSame(started);
    for (size_t i = 0; status.ok() && i < started.size(); ++i)
      reduces(*started[i].what) ? reduce(i, team) : move(i, team);
    room->depart(round);
    state = leaving;
    how = Advance::moved;
    TP_TRY(std::move(status));
  }
  if (state == leaving && room->allHaveLeft(round))
    state = idle;
  if (state == idle)
    how = Advance::done;
  return {};
}

Status ThreadCommunicator::rest(Patience &patience) {
  if (patience.idle++ < room->waitSpins()) {
    _mm_pause();
    return {};
  }
  double now = monotonicSeconds(), limit = limitOf(started[0]);
  if (patience.since == 0)
    patience.since = now;
  if (state == meeting && now - patience.since >= limit) {
    noteLate(started[0], limit);
    return {}; // the next look finds the meeting complete, or closed
  }
  hub->bells[group.ranks[group.self]].sleep(patience.heard,
                                            state == meeting ? patience.since + limit - now : -1);
  return {};
}

class ThreadTransport : public Transport {
public:
  ThreadTransport(std::shared_ptr<Hub> hub, int rank)
      : hub(hub), self(rank),
        all(hub, hub->room(0, 0, everyone(hub->ranks, rank)), everyone(hub->ranks, rank)) {}

  int rank() const override { return self; }
  int size() const override { return hub->ranks; }
  Communicator &world() override { return all; }
  Traffic traffic() const override {
    Traffic all;
    std::copy(hub->sent[self].begin(), hub->sent[self].end(), all.sent.begin());
    return all;
  }
  std::string left() const override { return hub->left[self]; }
  Bell *bell() override { return &hub->bells[self]; }
  bool sharesMemory() const override { return true; }
  std::string lastOf(int rank) const override { return hub->lastOf(rank); }

  Status connect(const tp_program &program,
                 std::vector<std::unique_ptr<Communicator>> &groups) override {
    TP_TRY(checkMesh(program));
    if (ranksOf(program) != hub->ranks)
      return errorf("the plan '%s' is for %lld ranks; this process has %d", program.plan,
                    (long long)ranksOf(program), hub->ranks);
    ++connections;
    for (int64_t group = 0; group < program.num_groups; ++group) {
      Members members = membersOf(program, group, self);
      if (members.self < 0) {
        groups.emplace_back();
        continue;
      }
      std::shared_ptr<Room> room = hub->room(connections, group, members);
      groups.push_back(std::make_unique<ThreadCommunicator>(hub, room, std::move(members)));
    }
    return {};
  }

  void abort(const Status &why) override {
    hub->fail(format("rank %d failed: %s", self, why.message().c_str()));
  }

private:
  std::shared_ptr<Hub> hub;
  const int self;
  ThreadCommunicator all;
  int64_t connections = 0; // all ranks connect equally often, so this numbers them
};

} // namespace

std::vector<std::unique_ptr<Transport>> tplan::runtime::threadTransports(int ranks,
                                                                         double hangLimit) {
  auto hub = std::make_shared<Hub>(ranks, hangLimit);
  std::vector<std::unique_ptr<Transport>> transports;
  for (int rank = 0; rank < ranks; ++rank)
    transports.push_back(std::make_unique<ThreadTransport>(hub, rank));
  return transports;
}
