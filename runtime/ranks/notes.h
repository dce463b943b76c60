//===- notes.h - what processes tell their neighbours beside collectives -===//
//
// The ranks of a job are a binary tree, rank r above 2 r + 1 and 2 r + 2. A note goes from a rank
// to a neighbour, independently of collectives, and is sent only when a training is to end.
//
// One decision: notes are read wherever a rank waits for others, so that a rank that waits in a
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
  /// asked: the end is asked for, by a signal or, if that is 0, because the training is done;
  /// passed: the ranks below have passed this point and no later one; last: this is the last point.
  enum Kind : int32_t { asked, passed, last };
  Kind kind;
  int32_t signal;
  int64_t point;
};

class Notes {
public:
  virtual ~Notes() = default;
  /// Sends a note to a neighbour; does not wait for it.
  virtual Status send(int to, const Note &note) = 0;
  /// Reads what has come. `waits`: for a moment if nothing has.
  virtual Status look(bool waits) = 0;
  /// Ranks that need an answer of each other wait at most so many seconds.
  virtual double limit() const = 0;

  /// Called for each note that comes, also while the rank waits in a collective.
  std::function<Status(const Note &)> heard;
};

/// What a process waits for, readable by its other threads at any time.
class Waiting {
public:
  virtual ~Waiting() = default;
  /// "rank 1 waits in the ... for rank 2", or what its last collective was, as a C string.
  virtual void describe(char *text, size_t size) const = 0;
  virtual bool waits() const = 0;
  /// Changes whenever a message comes or goes.
  virtual uint32_t progress() const = 0;
  /// Asks the rank to find out, while it waits, who is at fault; describe() then says it.
  virtual void wonder() const {}
  /// Whether the others have had time to answer what it asked.
  virtual bool isAnswered() const { return true; }
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RANKS_NOTES_H
