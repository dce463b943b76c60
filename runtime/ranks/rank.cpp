//===- rank.cpp - a rank, its memory and its device ------------------------===//

#include "runtime/ranks/rank.h"

#include <cstring>
#include <utility>

using namespace tplan::runtime;

Status tplan::runtime::give(tp_rank &rank) {
  if (!rank.device)
    return {};
  TP_TRY(rank.device->send());
  return rank.device->take();
}

Status tplan::runtime::readArena(tp_rank &rank, int64_t offset, void *to, int64_t bytes) {
  if (rank.device)
    return rank.device->read(to, rank.arena.data() + offset, bytes);
  memcpy(to, rank.arena.data() + offset, bytes);
  return {};
}

Status tplan::runtime::writeArena(tp_rank &rank, int64_t offset, const void *from, int64_t bytes) {
  if (rank.device)
    return rank.device->write(rank.arena.data() + offset, from, bytes);
  memcpy(rank.arena.data() + offset, from, bytes);
  return {};
}

/// The error that generated code has kept says more than that it failed.
static Status causeOf(tp_rank &rank, Status status) {
  return status.ok() || rank.error.ok() ? std::move(status) : std::move(rank.error);
}

Status tplan::runtime::runEntry(tp_rank &rank, int (*entry)(tp_rank *, char *), const char *what,
                                bool repeated) {
  rank.graphs.use = repeated && !rank.graphs.made.empty() ? Graphs::replayed : Graphs::issued;
  if (rank.graphs.use == Graphs::issued && std::exchange(rank.graphs.turn, 0))
    TP_TRY(rank.device->noteSection(0)); // what is issued knows its task
  int code = entry(&rank, rank.arena.data());
  rank.graphs.use = Graphs::issued;
  return causeOf(rank, code ? errorf("%s failed without a message", what) : Status());
}

Status tplan::runtime::prepareCopies(tp_rank &rank) {
  if (!std::exchange(rank.copiesAreStale, false) || !rank.program->prepare)
    return {};
  return runEntry(rank, rank.program->prepare, "preparation");
}

/// What is captured is counted when it is replayed.
Status tplan::runtime::captureEntry(tp_rank &rank, int (*entry)(tp_rank *, char *), Capture &made) {
  Profile::Totals before = rank.profile.totalsNow();
  rank.profile.restore({}); // what a graph counts is then a difference of small numbers
  rank.graphs.use = Graphs::captured, rank.graphs.capture = &made;
  int code = entry(&rank, rank.arena.data());
  rank.graphs.use = Graphs::issued, rank.graphs.capture = nullptr;
  rank.profile.restore(before);
  return causeOf(rank, code ? errorf("a call failed") : Status());
}

void tplan::runtime::forgetGraphs(tp_rank &rank) {
  rank.device->forget();
  rank.graphs.made.clear();
}
