//===- wish.cpp - the wish that a training ends, and where all ranks end alike ---===//

#include "runtime/ranks/wish.h"

#include "runtime/support/profile.h"

#include <algorithm>
#include <utility>

using namespace tplan::runtime;

void Wish::ask(int by) {
  int none = 0;
  signal.compare_exchange_strong(none, by);
  word.fetch_or(closed);
}

bool Wish::pass(int64_t point) {
  uint64_t seen = word, wanted = (uint64_t)point * one;
  while (wanted > (seen & ~closed)) {
    if (seen & closed)
      return false;
    if (word.compare_exchange_weak(seen, wanted))
      break;
  }
  return true;
}

void Points::start(Wish &of, Notes *between, int self, int all) {
  wish = &of, notes = between, rank = self, ranks = all;
  if (!notes)
    return;
  missing = std::clamp(ranks - (2 * rank + 1), 0, 2);
  notes->heard = [this](const Note &note) { return hear(note); };
}

Status Points::next(bool &ends) {
  ends = false;
  if (!wish)
    return {};
  if (notes) {
    if (last < 0)
      TP_TRY(notes->look(/*waits=*/false));
    if (!asking && wish->asked())
      TP_TRY(ask(wish->asked()));
    if (asking)
      TP_TRY(waitForLast());
    ends = last >= 0 && passed >= last;
    // Only marks that this process has something to lose.
    wish->pass(1);
  } else {
    ends = !wish->pass(passed + 1);
    signal = wish->asked();
  }
  if (ends)
    wish->end();
  else
    ++passed;
  return {};
}

Status Points::finish() {
  if (!wish || !notes || last >= 0)
    return {};
  TP_TRY(ask(0));
  return waitForLast();
}

Status Points::toNeighbours(const Note &note, bool above) {
  if (above && rank)
    TP_TRY(notes->send((rank - 1) / 2, note));
  for (int below = 2 * rank + 1; below < std::min(2 * rank + 3, ranks); ++below)
    TP_TRY(notes->send(below, note));
  return {};
}

Status Points::ask(int with) {
  if (!signal)
    signal = with;
  if (std::exchange(asking, true))
    return {};
  most = std::max(most, passed);
  TP_TRY(toNeighbours({Note::asked, signal, 0}, /*above=*/true));
  return settleBelow();
}

Status Points::hear(const Note &note) {
  switch (note.kind) {
  case Note::asked:
    return ask(note.signal);
  case Note::passed:
    if (!signal)
      signal = note.signal;
    most = std::max(most, note.point);
    --missing;
    return settleBelow();
  case Note::last:
    signal = note.signal;
    return decide(note.point);
  }
  return {};
}

/// A rank asks those below it, and answers only when they have said how far they are.
Status Points::settleBelow() {
  if (!asking || missing)
    return {};
  return rank ? notes->send((rank - 1) / 2, {Note::passed, signal, most}) : decide(most);
}

Status Points::decide(int64_t point) {
  last = point;
  return toNeighbours({Note::last, signal, last}, /*above=*/false);
}

Status Points::waitForLast() {
  for (double begin = monotonicSeconds(); last < 0;) {
    TP_TRY(notes->look(/*waits=*/true));
    if (last < 0 && monotonicSeconds() - begin > notes->limit())
      return errorf("rank %d has waited %g s for the others to end the training with it", rank,
                    notes->limit());
  }
  return {};
}
