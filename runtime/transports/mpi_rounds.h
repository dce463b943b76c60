//===- mpi_rounds.h - operations of a group, cut into rounds ------------------===//
//
// A round is what fits into the staging of one peer: a chunk of a large operation, or many
// small operations, whose latencies are then one.
//
// One decision: rounds are cut by the largest block of any member, so that all members cut alike; a
// member with a shorter one sends less of it, or nothing.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_TRANSPORTS_MPI_ROUNDS_H
#define TPLAN_RUNTIME_TRANSPORTS_MPI_ROUNDS_H

#include "runtime/ranks/collectives.h"
#include "runtime/ranks/transport.h"

namespace tplan::runtime {

/// Elements [begin, end) of the list of each block of an operation.
struct Piece {
  const Operation *operation;
  int64_t begin, end;
  int64_t staging; // bytes from the start of a chunk; -1: goes straight
};

class Rounds {
public:
  Rounds(std::span<const Operation> operations, int members, int64_t chunk)
      : operations(operations), members(members), chunk(chunk) {}

  /// Pieces of a round, at most, so that messages in flight do not grow with pieces and members.
  static constexpr int mostPieces(int members) { return std::clamp(4096 / members, 1, 64); }
  /// Bytes that go straight to one peer in one message: progress is seen at least so often.
  static constexpr int64_t straightBytes = int64_t(16) << 20;

  /// The pieces of the next round; false: there is none.
  bool next(std::vector<Piece> &pieces);

private:
  std::span<const Operation> operations;
  int members;
  int64_t chunk;
  size_t index = 0;
  int64_t begin = 0; // in the operation of `index`
};

/// Whether no block of it needs staging.
bool goesStraight(const tp_collective &what);
/// The largest block that a member has for another.
int64_t largestBlock(const tp_collective &what, int members);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRANSPORTS_MPI_ROUNDS_H
