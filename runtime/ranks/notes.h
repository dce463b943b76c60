//===- notes.h - what processes say to their neighbours, apart from all else ---===//
//
// The ranks of a job are a binary tree, rank r above 2 r + 1 and 2 r + 2. A note goes from one to a
// neighbour beside all collectives, and is only sent once a training is to end.
//
// One decision: notes are taken in wherever a rank waits for others, so that one which waits in a
// collective still answers.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_RANKS_NOTES_H
#define TPLAN_RUNTIME_RANKS_NOTES_H

#include "runtime/support/status.h"

#include <cstdint>
#include <functional>

namespace tplan::runtime {

struct Note {
  /// The end is asked for, by a signal or, 0, because the training is done; the ranks below have
  /// passed this point and no later one; this is the last one.
  enum Kind : int32_t { asked, passed, last };
  Kind kind;
  int32_t signal;
  int64_t point;
};

class Notes {
public:
  virtual ~Notes() = default;
  /// To a neighbour; does not wait for it.
  virtual Status send(int to, const Note &note) = 0;
  /// Takes in what has come. `waits`: for a moment where nothing has.
  virtual Status look(bool waits) = 0;
  /// The others need an answer of this rank, and it theirs, no longer than so many seconds.
  virtual double limit() const = 0;

  /// Called for each note that comes, also while the rank waits in a collective.
  std::function<Status(const Note &)> heard;
};

/// Where a process waits for others, as another of its threads may see it at any time.
class Waiting {
public:
  virtual ~Waiting() = default;
  /// "rank 1 waits in the ... for rank 2", or what its last collective was, as a C string.
  virtual void describe(char *text, size_t size) const = 0;
  virtual bool waits() const = 0;
  /// Another number after anything has come or gone.
  virtual uint32_t progress() const = 0;
  /// The rank is to find out who is at fault, while it waits; describe() then says it.
  virtual void wonder() const {}
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RANKS_NOTES_H
