//===- CheckMessages.cpp - check-messages: programs of a pipeline meet ---------===//
//
// Plays the programs of all ranks together, op by op: a send must meet the receive of the other
// rank, with values of the same types in the same order, and a sum over stages must meet that of
// all other ranks. So a step, an evaluation and a preparation all end, whoever has made the
// programs.
//
// One decision: here a send waits for its receive; one that is started does so where it is awaited.
// Programs that end under this rule end on every transport, also where messages are buffered and a
// send does not wait.
//
//===----------------------------------------------------------------------===//
#include "lib/Pipeline/Check.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Schedule/Walk.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"
#include <map>

namespace tplan::schedule {
#define GEN_PASS_DEF_CHECKMESSAGESPASS
#include "lib/Schedule/Passes.h.inc"
} // namespace tplan::schedule

using namespace mlir;
using namespace tplan;
using namespace tplan::schedule;

namespace {
/// An op that needs other ranks, as it is executed.
struct Meeting {
  Operation *op;
  std::optional<int64_t> microbatch; // of a task
  Operation *message = nullptr;      // itself, or one that is complete here
  Operation *end = nullptr;          // where the message is complete: itself, or an await
};

/// The messages from one rank to another, in the order in which each end has posted them.
struct Channel {
  std::vector<Meeting> sends, receives;
  size_t met = 0; // those of which both ends have been posted
};

class ProgramPlayer {
public:
  ProgramPlayer(ModuleOp module, sched::EntryKind entry, StringAttr axis)
      : programs(module.getOps<sched::ProgramOp>()), entry(entry), axis(axis) {
    for (sched::ProgramOp program : programs)
      meetings.push_back(meetingsOf(program));
    next.assign(programs.size(), 0);
  }

  LogicalResult play() {
    for (moved = true; moved;) {
      moved = false;
      for (size_t rank = 0; rank < programs.size(); ++rank)
        while (const Meeting *meeting = at(rank)) {
          FailureOr<bool> met = meet(rank, *meeting);
          if (failed(met))
            return failure();
          if (!*met)
            break;
          moved = true;
        }
    }
    return checkEnd();
  }

private:
  SmallVector<sched::ProgramOp> programs; // by coordinate
  const sched::EntryKind entry;
  const StringAttr axis;
  std::vector<std::vector<Meeting>> meetings;
  std::vector<size_t> next;
  bool moved = false; // since all ranks were asked

  std::map<std::pair<size_t, size_t>, Channel> channels; // by sender and receiver
  struct Posted {
    Channel *channel;
    size_t number;
  };
  std::map<std::pair<Operation *, int64_t>, Posted> posted; // by `end` and microbatch

  const Meeting *at(size_t rank) const {
    return next[rank] < meetings[rank].size() ? &meetings[rank][next[rank]] : nullptr;
  }

  std::vector<Meeting> meetingsOf(sched::ProgramOp program);
  FailureOr<bool> meet(size_t rank, const Meeting &meeting);
  LogicalResult post(size_t rank, const Meeting &meeting);
  FailureOr<bool> meetAll(size_t rank, const Meeting &meeting);
  LogicalResult checkAlike(const Meeting &sent, const Meeting &received);
  size_t awaitedBy(size_t rank) const;
  LogicalResult checkEnd();
  std::string describe(const Meeting &meeting) const;
};
} // namespace

static bool isMessage(Operation *op) { return isa<sched::SendOp, sched::ReceiveOp>(op); }
static size_t peerOf(Operation *message) {
  auto send = dyn_cast<sched::SendOp>(message);
  return send ? send.getPeer() : cast<sched::ReceiveOp>(message).getPeer();
}

std::vector<Meeting> ProgramPlayer::meetingsOf(sched::ProgramOp program) {
  llvm::DenseMap<Operation *, Operation *> messageOf; // by the await at which it is complete
  program.walk([&](sched::Step step) {
    if (isMessage(step) && step.getSignal())
      messageOf[step.getCompletion()] = step;
  });
  llvm::DenseMap<Operation *, SmallVector<Meeting>> ofSections;
  for (auto section : program.getBody().getOps<sched::SectionOp>())
    section.walk([&](Operation *op) {
      auto sum = dyn_cast<sched::AllReduceOp>(op);
      Operation *message = isMessage(op) ? op : messageOf.lookup(op);
      if (message || (sum && llvm::is_contained(sum.getAxes(), axis)))
        ofSections[section].push_back(
            {op, std::nullopt, message,
             message ? cast<sched::Step>(message).getCompletion() : nullptr});
    });
  std::vector<Meeting> all;
  for (auto each : program.getBody().getOps<sched::EntryOp>())
    if (each.getKind() == entry)
      forEachExecution(each, [&](sched::SectionOp section, int64_t microbatch) {
        for (Meeting meeting : ofSections.lookup(section)) {
          if (section.isOfTask())
            meeting.microbatch = microbatch;
          all.push_back(meeting);
        }
      });
  return all;
}

/// "send F of stage 0, microbatch 3"; where that is awaited "await of send F of ..".
std::string ProgramPlayer::describe(const Meeting &meeting) const {
  std::string text = cast<sched::Step>(meeting.message ? meeting.message : meeting.op).getTitle();
  if (meeting.message && meeting.message != meeting.op)
    text = "await of " + text;
  return meeting.microbatch ? text + ", microbatch " + std::to_string(*meeting.microbatch) : text;
}

/// Whether the rank has met those whom it needs, and goes on.
FailureOr<bool> ProgramPlayer::meet(size_t rank, const Meeting &meeting) {
  if (!meeting.message)
    return meetAll(rank, meeting);
  std::pair name(meeting.end, meeting.microbatch.value_or(-1));
  auto known = posted.find(name);
  bool isHere = meeting.message == meeting.op; // where it is posted
  if (known == posted.end()) {
    if (!isHere)
      return meeting.op->emitOpError("awaits what has not been posted: ") << describe(meeting);
    if (failed(post(rank, meeting)))
      return failure();
    moved = true;
    known = posted.find(name);
  }
  if (meeting.op == meeting.end) {
    if (known->second.number >= known->second.channel->met)
      return false;
    posted.erase(known);
  }
  ++next[rank];
  return true;
}

/// Adds a message to its channel, in which it meets its other end if that has been posted.
LogicalResult ProgramPlayer::post(size_t rank, const Meeting &meeting) {
  size_t peer = peerOf(meeting.op);
  if (peer >= programs.size())
    return meeting.op->emitOpError("there is no such rank at the other end: ") << peer;
  bool sends = isa<sched::SendOp>(meeting.op);
  Channel &channel = channels[sends ? std::pair(rank, peer) : std::pair(peer, rank)];
  std::vector<Meeting> &mine = sends ? channel.sends : channel.receives;
  posted[{meeting.end, meeting.microbatch.value_or(-1)}] = {&channel, mine.size()};
  mine.push_back(meeting);
  if (channel.met >= std::min(channel.sends.size(), channel.receives.size()))
    return success();
  size_t pair = channel.met++;
  return checkAlike(channel.sends[pair], channel.receives[pair]);
}

FailureOr<bool> ProgramPlayer::meetAll(size_t rank, const Meeting &meeting) {
  auto mine = cast<sched::AllReduceOp>(meeting.op);
  for (size_t other = 0; other < programs.size(); ++other) {
    auto sum = at(other) ? dyn_cast<sched::AllReduceOp>(at(other)->op) : sched::AllReduceOp();
    if (!sum)
      return false;
    if (sum.getAxes() != mine.getAxes() || sum.getReads() != mine.getReads() ||
        sum.getOf() != mine.getOf()) {
      auto diag = mine.emitOpError("ranks add up other numbers at one time: ")
                  << mine.getReads() << " of " << mine.getOf() << ", found " << sum.getReads()
                  << " of " << sum.getOf();
      diag.attachNote(sum.getLoc()) << "on rank " << other;
      return diag;
    }
  }
  for (size_t &each : next)
    ++each;
  return true;
}

/// Values of a message go as they lie in memory, so both ends have them alike.
LogicalResult ProgramPlayer::checkAlike(const Meeting &sent, const Meeting &received) {
  if (sent.microbatch != received.microbatch)
    return sent.op->emitOpError("sends one microbatch where another one is received: ")
           << describe(sent) << ", found " << describe(received);
  StringRef mine = cast<sched::SendOp>(sent.op).getOf(),
            theirs = cast<sched::ReceiveOp>(received.op).getOf();
  if (mine != theirs)
    return sent.op->emitOpError("sends ")
           << mine << " where another message is received: " << theirs;
  SmallVector<sched::Use> from = sched::partsOf(cast<sched::Step>(sent.op)),
                          to = sched::partsOf(cast<sched::Step>(received.op));
  if (from.size() != to.size())
    return sent.op->emitOpError("sends ")
           << from.size() << " values to a rank that takes " << to.size();
  for (auto [i, pair] : llvm::enumerate(llvm::zip(from, to))) {
    sched::ValueOp mine = sched::valueOf(std::get<0>(pair).value),
                   theirs = sched::valueOf(std::get<1>(pair).value);
    if (mine.getType() == theirs.getType() && mine.getBytes() == theirs.getBytes())
      continue;
    auto diag = sent.op->emitOpError("sends ")
                << mine.getBytes() << " bytes of " << mine.getName() << " as value " << i
                << " to a rank that takes " << theirs.getBytes();
    diag.attachNote(theirs.getLoc()) << "it takes " << theirs.getName() << " here";
    return diag;
  }
  return success();
}

/// For whom a rank waits: the other end of its message, or the first rank that is at no sum.
size_t ProgramPlayer::awaitedBy(size_t rank) const {
  if (Operation *message = at(rank)->message)
    return peerOf(message);
  size_t other = 0;
  while (other < programs.size() && at(other) && isa<sched::AllReduceOp>(at(other)->op))
    ++other;
  return other;
}

LogicalResult ProgramPlayer::checkEnd() {
  std::vector<int32_t> awaited;
  for (size_t rank = 0; rank < programs.size(); ++rank)
    awaited.push_back(at(rank) ? static_cast<int32_t>(awaitedBy(rank)) : -1);
  pipeline::Ring ring = pipeline::findRing(awaited);
  if (ring.ranks.empty())
    return success();
  const Meeting &first = *at(ring.ranks.front());
  auto diag = first.op->emitOpError();
  diag << (ring.isClosed ? "deadlock: ranks wait for each other in the entry "
                         : "a rank waits for one that has come to its end, in the entry ")
       << sched::stringifyEntryKind(entry) << ", at " << describe(first);
  for (int32_t rank : ring.ranks)
    diag.attachNote(at(rank)->op->getLoc())
        << "rank " << rank << " waits in " << describe(*at(rank)) << ", for rank " << awaited[rank];
  return diag;
}

namespace {
struct CheckMessagesPass : tplan::schedule::impl::CheckMessagesPassBase<CheckMessagesPass> {
  void runOnOperation() final {
    markAllAnalysesPreserved();
    StringAttr axis = dist::meshOf(getOperation()).getStages();
    if (!axis)
      return;
    llvm::SmallSetVector<sched::EntryKind, 4> entries;
    for (auto program : getOperation().getOps<sched::ProgramOp>())
      for (auto entry : program.getBody().getOps<sched::EntryOp>())
        entries.insert(entry.getKind());
    for (sched::EntryKind entry : entries)
      if (failed(ProgramPlayer(getOperation(), entry, axis).play()))
        return signalPassFailure();
  }
};
} // namespace
