//===- recording.h - what every rank issued, in which order ------------------===//
//
// Wraps another transport and writes down each operation before it runs, by communicator,
// and what the transport below has counted when it is done.
//
// Decisions: each rank has a log of its own, so that ranks which are threads need no lock.
// What is issued together again and again is kept once, so that a log of many steps is small.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_RANKS_RECORDING_H
#define TPLAN_RUNTIME_RANKS_RECORDING_H

#include "runtime/ranks/transport.h"

namespace tplan::runtime {

/// One operation, without its memory.
struct Recorded {
  tp_collective what; // `source` is null: it stands in `sources`
  std::vector<int32_t> sources;
};

/// Operations that are issued together.
struct Bucket {
  const char *activity;
  const tp_call *call; // the call of the first operation; or null
  std::vector<Recorded> operations;
  int64_t times = 0; // how often it was done
  Traffic traffic = {};
};

/// What one rank issued over one communicator.
struct RecordedGroup {
  Members members;
  std::vector<Bucket> buckets; // each once
  std::vector<uint32_t> order; // indices of buckets
};

/// The log of one rank: the world, then the groups of the program in their order. For a group that
/// the rank is no member of nothing is recorded.
struct Recording {
  std::vector<RecordedGroup> groups;
  bool stages = false; // whether the transport below stages messages
  bool closed = false; // from now on nothing is recorded
  /// Bytes of the log itself.
  int64_t bytes() const;
};

/// `inner`, with a log that must outlive it.
std::unique_ptr<Transport> recordTransport(std::unique_ptr<Transport> inner, Recording &log);

/// What was issued over a communicator as text, for other ranks.
std::string textOf(const RecordedGroup &group);

/// Checks that the texts of two members of the communicator `name` have the same operations of the
/// same lines in the same order, with the same ones together. The error names the first difference.
Status checkSameOrder(const std::string &name, const std::string &a, int rankA,
                      const std::string &b, int rankB);

/// Checks that the bytes that the transport counted for each bucket are those that its operations
/// should send.
Status checkBytes(const Recording &log);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RANKS_RECORDING_H
