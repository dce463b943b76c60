//===- wish.h - the wish that a training ends, and where all ranks end alike ---===//
//
// All ranks pass the same points in one order: before each step, each microbatch of an evaluation,
// each token of a sample. Once the end is asked for, they all end before the same point: the first
// that no rank had passed.
//
// Decisions. No rank waits for another before the end is asked for, and no collective carries the
// wish, because those of a plan may connect only some ranks. Threads share one word: the highest
// point that any has passed, and whether it may still rise. Processes find that point by notes: a
// rank that knows of the wish says how far it is, and passes no point until it hears which is the
// last.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_RANKS_WISH_H
#define TPLAN_RUNTIME_RANKS_WISH_H

#include "runtime/ranks/notes.h"

#include <atomic>

namespace tplan::runtime {

/// The wish as the ranks of one process share it.
class Wish {
public:
  /// May be called by any thread.
  void ask(int signal);
  /// The signal that asked, or 0.
  int asked() const { return signal; }
  /// Called when a rank reaches a point, from 1 on; false: the training ends there.
  bool pass(int64_t point);
  /// Whether a rank has passed a point: then there may be something to lose.
  bool begun() const { return word >= one; }

  /// A rank has ended before all was done.
  void end() { early = true; }
  bool ended() const { return early; }
  /// Called when everything that is to be kept is on the disk.
  void settle() { safe = true; }
  bool settled() const { return safe; }

private:
  static constexpr uint64_t closed = 1, one = 2;
  std::atomic<int> signal{0};
  std::atomic<uint64_t> word{0}; // twice the highest point, plus 1 when it may not rise
  std::atomic<bool> early{false}, safe{false};
};

/// The points that one rank passes. Without a wish there is no end.
class Points {
public:
  /// `notes` go to the other processes; null where all ranks are in this one.
  void start(Wish &wish, Notes *notes, int rank, int ranks);
  /// Passes the next point; `ends` says whether the training ends here, which it does on all ranks.
  Status next(bool &ends);
  /// Called when nothing is left to do. Processes wait here until all have come, so that each can
  /// answer the others as long as they may ask.
  Status finish();

  /// The signal that asked for the end, on this rank or another.
  int asked() const { return signal; }
  void settle() {
    if (wish)
      wish->settle();
  }

private:
  Status ask(int with);
  Status hear(const Note &note);
  Status settleBelow();
  Status decide(int64_t point);
  Status toNeighbours(const Note &note, bool above);
  Status waitForLast();

  Wish *wish = nullptr;
  Notes *notes = nullptr;
  int rank = 0, ranks = 1;
  int64_t passed = 0;
  int signal = 0;
  // Between processes, once the end is asked for.
  bool asking = false;
  int missing = 0;   // neighbours below that have not said how far they are
  int64_t most = 0;  // the highest point of this rank and those below it
  int64_t last = -1; // the point after which all end; -1: not known
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RANKS_WISH_H
