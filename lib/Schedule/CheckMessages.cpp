//===- CheckMessages.cpp - check-messages: programs of a pipeline meet ---------===//
//
// Plays the programs of all ranks together, op by op: a send must meet the receive of the other
// rank, with values of the same types in the same order, and a sum over stages must meet that of
// all other ranks. So a step, an evaluation and a preparation all end, whoever has made the
// programs.
//
// One decision: here a send waits for its receive. Programs that end under this rule end on every
// transport, also where messages are buffered and a send does not wait.
//
//===----------------------------------------------------------------------===//
#include "lib/Pipeline/Check.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Schedule/Walk.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

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
    for (bool moved = true; moved;) {
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

  const Meeting *at(size_t rank) const {
    return next[rank] < meetings[rank].size() ? &meetings[rank][next[rank]] : nullptr;
  }

  std::vector<Meeting> meetingsOf(sched::ProgramOp program);
  FailureOr<bool> meet(size_t rank, const Meeting &meeting);
  FailureOr<bool> meetAll(size_t rank, const Meeting &meeting);
  LogicalResult checkAlike(const Meeting &sent, const Meeting &received);
  size_t awaitedBy(size_t rank) const;
  LogicalResult checkEnd();
  std::string describe(const Meeting &meeting) const;
};
} // namespace

std::vector<Meeting> ProgramPlayer::meetingsOf(sched::ProgramOp program) {
  llvm::DenseMap<Operation *, SmallVector<Operation *>> ofSections;
  for (auto section : program.getBody().getOps<sched::SectionOp>())
    section.walk([&](Operation *op) {
      auto sum = dyn_cast<sched::AllReduceOp>(op);
      if (isa<sched::SendOp, sched::ReceiveOp>(op) ||
          (sum && llvm::is_contained(sum.getAxes(), axis)))
        ofSections[section].push_back(op);
    });
  std::vector<Meeting> all;
  for (auto each : program.getBody().getOps<sched::EntryOp>())
    if (each.getKind() == entry)
      forEachExecution(each, [&](sched::SectionOp section, int64_t microbatch) {
        for (Operation *op : ofSections.lookup(section))
          all.push_back({op, section.isOfTask() ? std::optional(microbatch) : std::nullopt});
      });
  return all;
}

/// "send F of stage 0, microbatch 3"
std::string ProgramPlayer::describe(const Meeting &meeting) const {
  std::string text = cast<sched::Step>(meeting.op).getTitle();
  return meeting.microbatch ? text + ", microbatch " + std::to_string(*meeting.microbatch) : text;
}

/// Whether the rank has met those whom it needs; then all of them have gone on.
FailureOr<bool> ProgramPlayer::meet(size_t rank, const Meeting &meeting) {
  if (isa<sched::AllReduceOp>(meeting.op))
    return meetAll(rank, meeting);
  auto send = dyn_cast<sched::SendOp>(meeting.op);
  size_t peer = awaitedBy(rank);
  if (peer >= programs.size())
    return meeting.op->emitOpError("there is no such rank at the other end: ") << peer;
  if (!send) // its sender comes to it
    return false;
  const Meeting *other = at(peer);
  auto receive = other ? dyn_cast<sched::ReceiveOp>(other->op) : sched::ReceiveOp();
  if (!receive || receive.getPeer() != rank)
    return false;
  if (failed(checkAlike(meeting, *other)))
    return failure();
  ++next[rank], ++next[peer];
  return true;
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
  auto from = cast<sched::Step>(sent.op).getUses(), to = cast<sched::Step>(received.op).getUses();
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
  Operation *op = at(rank)->op;
  if (auto send = dyn_cast<sched::SendOp>(op))
    return send.getPeer();
  if (auto receive = dyn_cast<sched::ReceiveOp>(op))
    return receive.getPeer();
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
