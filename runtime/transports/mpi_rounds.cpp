//===- mpi_rounds.cpp - operations of a group, cut into rounds ----------------===//

#include "runtime/transports/mpi_rounds.h"

#include "runtime/support/types.h"

using namespace tplan::runtime;

bool tplan::runtime::goesStraight(const tp_collective &what) {
  return !reduces(what) && !tp_mpi_copies(&what);
}

/// Member 0 has the first block or part, and later ones are not longer.
int64_t tplan::runtime::largestBlock(const tp_collective &what, int members) {
  return tp_block(&what, members, 0, bytesOf(what.type));
}

bool Rounds::next(std::vector<Piece> &pieces) {
  constexpr int64_t line = 64;
  pieces.clear();
  int64_t staged = 0, straight = 0;
  while (index < operations.size() && (int)pieces.size() < mostPieces(members)) {
    const tp_collective &what = *operations[index].what;
    bool direct = goesStraight(what);
    int64_t bytes = bytesOf(what.type);
    int64_t left = largestBlock(what, members) - begin;
    int64_t room = (direct ? straightBytes - straight : chunk - staged) / bytes;
    int64_t count = std::min(left, room);
    // A chunk that is cut ends at a cache line of the parts.
    if (count < left)
      count = count / (line / bytes) * (line / bytes);
    if (left > 0 && count <= 0)
      break;
    if (left > 0)
      pieces.push_back({&operations[index], begin, begin + count, direct ? -1 : staged});
    (direct ? straight : staged) += (count * bytes + line - 1) / line * line;
    begin += count;
    if (count == left)
      ++index, begin = 0;
  }
  return !pieces.empty();
}
