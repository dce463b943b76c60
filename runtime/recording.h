//===- recording.h - what every rank issued, in which order ------------------===//
//
// Wraps another transport and writes down each operation before it runs, by communicator.
//
// One decision: each rank has a log of its own, so that ranks which are threads need no
// lock; logs are compared when the ranks have ended.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_RECORDING_H
#define TPLAN_RUNTIME_RECORDING_H

#include "runtime/transport.h"

namespace tplan::runtime {

/// One operation, without its memory.
struct Recorded {
  tp_collective what; // `source` is null: it stands in `sources`
  std::vector<int32_t> sources;
  const tp_call *call;
  int bucket; // operations that were issued together share it; they count from 0
};

/// What one rank issued over one communicator.
struct RecordedGroup {
  Members members;
  std::vector<Recorded> operations;
};

/// Of one rank: the world, then the groups of the program in their order.
struct Recording {
  std::vector<RecordedGroup> groups;
  int64_t bytesSent = 0; // counted where they were moved, until the transport was gone
};

/// `inner`, with a log that must outlive it.
std::unique_ptr<Transport> recordTransport(std::unique_ptr<Transport> inner, Recording &log);

/// Logs of all ranks, rank r's at r: members of each communicator issued the same operations
/// in the same order and the same buckets, of the same lines. The error names the first difference.
Status checkSameOrder(std::span<const Recording> logs);

/// Bytes that one rank was counted to send are those that its operations say. The error names both.
Status checkBytesSent(const Recording &log);

/// "all-reduce f32 [2, 3] of x.tplan:12"
std::string describe(const Recorded &operation);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RECORDING_H
