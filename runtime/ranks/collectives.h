//===- collectives.h - what each collective means, in blocks --------------===//
//
// A block is what one member has for another: rows of equal length at one stride. Both
// sides list its elements in the same order, whatever their rows are; a transport may
// cut that list where it likes.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_RANKS_COLLECTIVES_H
#define TPLAN_RUNTIME_RANKS_COLLECTIVES_H

#include "runtime/support/status.h"
#include "tplan/collectives.h"
#include "tplan/runtime.h"

#include <algorithm>
#include <cstdint>

namespace tplan::runtime {

/// Elements offset + r * stride + [0, row), of rows r.
struct Block {
  int64_t offset = 0, rows = 1, row = 0, stride = 0;
  int64_t count() const { return rows * row; }
  bool contiguous() const { return rows == 1; }
};

/// Checks that the collective makes sense for so many members; `group` is for the message.
Status checkCollective(const tp_collective &what, int members, const char *group);

/// "all-reduce", ...
const char *nameOfKind(int32_t kind);

inline bool reduces(const tp_collective &what) {
  return what.kind == TP_ALL_REDUCE || what.kind == TP_REDUCE_SCATTER;
}

/// The part of `in` that member `from` has for member `to`. In an all-reduce: the part that `to`
/// sums.
Block inputBlock(const tp_collective &what, int members, int from, int to);
/// Where in `out` of member `to` that part stands, or its sum; in an all-reduce: the part that
/// `from` sums.
Block outputBlock(const tp_collective &what, int members, int from, int to);

/// Calls body(offset in a, offset in b, count) for elements [begin, end) of two lists, in
/// pieces that are contiguous in both.
template <typename Body>
void forRuns(const Block &a, const Block &b, int64_t begin, int64_t end, Body &&body) {
  while (begin < end) {
    int64_t inA = begin % a.row, inB = begin % b.row;
    int64_t run = std::min({end - begin, a.row - inA, b.row - inB});
    body(a.offset + begin / a.row * a.stride + inA, b.offset + begin / b.row * b.stride + inB, run);
    begin += run;
  }
}

/// After a reduce-scatter, in the memory of the host: what the last blocks lack is set to zero, so
/// that padding stays zero.
void clearRest(const tp_collective &what, int members, int member, void *out);

/// The list itself, as it stands in a buffer.
inline Block lineOf(int64_t count) { return {0, 1, count, count}; }

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RANKS_COLLECTIVES_H
