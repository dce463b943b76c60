//===- collectives.cpp - what each collective means, in blocks -------------===//

#include "runtime/ranks/collectives.h"

#include "runtime/ranks/reduce.h"
#include "runtime/support/types.h"

#include <cstring>
#include <iterator>

using namespace tplan::runtime;

namespace {

constexpr const char *kindNames[] = {"all-reduce", "reduce-scatter", "all-gather",
                                     "all-to-all", "permute",        "message"};
static_assert(std::size(kindNames) == TP_COLLECTIVE_KINDS);

/// Rows that follow each other are one.
Block block(int64_t offset, int64_t rows, int64_t row, int64_t stride) {
  if (rows == 1 || row == stride)
    return {offset, 1, rows * row, rows * row};
  return {offset, rows, row, stride};
}

bool known(int32_t value, int32_t end) { return value >= 0 && value < end; }

/// Elements of block m in each of the `outer` lines of all blocks, whose last may be shorter.
int64_t rowOf(const tp_collective &c, int members, int m) {
  return c.outer ? tp_block(&c, members, m, 1) / c.outer : 0;
}

/// Block m of the array of all blocks: [outer, whole / outer].
Block blockOfWhole(const tp_collective &c, int members, int m) {
  int64_t line = c.outer ? c.whole / c.outer : 0;
  return block(m * c.inner, c.outer, rowOf(c, members, m), line);
}

/// The same where its member has it: [outer, inner].
Block blockAlone(const tp_collective &c, int members, int m) {
  return block(0, c.outer, rowOf(c, members, m), c.inner);
}

/// Block m where the split dimension comes first: [outer, n, middle * inner * last].
Block blockFirst(const tp_collective &c, int members, int m) {
  int64_t row = c.middle * c.inner * c.last;
  return block(m * row, c.outer, row, members * row);
}

/// Block m where it comes last: [outer * middle, n, inner * last].
Block blockLast(const tp_collective &c, int members, int m) {
  int64_t row = c.inner * c.last;
  return block(m * row, c.outer * c.middle, row, members * row);
}

Block part(const tp_collective &c, int members, int m) {
  int64_t bytes = bytesOf(c.type);
  return block(m * tp_part(c.outer * c.inner, members, bytes), 1, tp_block(&c, members, m, bytes),
               0);
}

/// The product of the extents; false where it is too large to count in bytes.
bool product(const tp_collective &c, int members, int64_t &elements) {
  elements = members;
  int64_t bytes;
  for (int64_t extent : {c.outer, c.inner, c.middle, c.last})
    if (__builtin_mul_overflow(elements, extent, &elements))
      return false;
  return !__builtin_mul_overflow(elements, 8, &bytes);
}

} // namespace

void tplan::runtime::clearRest(const tp_collective &what, int members, int member, void *out) {
  int64_t bytes = bytesOf(what.type), row = 0;
  if (what.outer)
    row = tp_block(&what, members, member, 1) / what.outer;
  for (int64_t line = 0; row < what.inner && line < what.outer; ++line)
    memset((char *)out + (line * what.inner + row) * bytes, 0, (what.inner - row) * bytes);
}

const char *tplan::runtime::nameOfKind(int32_t kind) {
  return known(kind, TP_COLLECTIVE_KINDS) ? kindNames[kind] : "unknown collective";
}

Status tplan::runtime::checkCollective(const tp_collective &c, int members, const char *group) {
  const char *kind = nameOfKind(c.kind);
  if (!known(c.kind, TP_COLLECTIVE_KINDS))
    return errorf("a collective over '%s' has an unknown kind: %d", group, c.kind);
  if (!known(c.type, TP_NUM_TYPES))
    return errorf("the %s over '%s' has an unknown type: %d", kind, group, c.type);
  if (reduces(c) && !findReducer(c.type, c.reduction))
    return errorf("the %s over '%s' cannot combine %s by reduction %d", kind, group, nameOf(c.type),
                  c.reduction);
  int64_t elements;
  for (int64_t extent : {c.outer, c.inner, c.middle, c.last})
    if (extent < 0)
      return errorf("the %s over '%s' has a negative extent: %lld", kind, group, (long long)extent);
  if (!product(c, members, elements))
    return errorf("the %s over '%s' has more elements than can be counted: %lld x %lld x %lld x "
                  "%lld on each of %d members",
                  kind, group, (long long)c.outer, (long long)c.inner, (long long)c.middle,
                  (long long)c.last, members);
  if (c.kind != TP_ALL_TO_ALL && (c.middle != 1 || c.last != 1))
    return errorf("the %s over '%s' has extents of an all-to-all: %lld and %lld", kind, group,
                  (long long)c.middle, (long long)c.last);
  if (c.kind == TP_REDUCE_SCATTER || c.kind == TP_ALL_GATHER) {
    bool legal = c.whole >= 0 && c.whole <= elements && (!c.outer || c.whole % c.outer == 0);
    if (!legal)
      return errorf("the %s over '%s' has %lld elements in its %d blocks; `whole` cannot be %lld",
                    kind, group, (long long)elements, members, (long long)c.whole);
  }
  if (c.kind == TP_MESSAGE && members != 2)
    return errorf("the message over '%s' goes from one member to another, and this group has %d",
                  group, members);
  if (c.kind == TP_PERMUTE)
    for (int m = 0; m < members; ++m)
      if (!c.source || !known(c.source[m], members))
        return errorf("the permute over '%s' of %d members has no such source: %d", group, members,
                      c.source ? c.source[m] : -1);
  return {};
}

Block tplan::runtime::inputBlock(const tp_collective &c, int members, int from, int to) {
  switch (c.kind) {
  case TP_ALL_REDUCE:
    return part(c, members, to);
  case TP_REDUCE_SCATTER:
    return blockOfWhole(c, members, to);
  case TP_ALL_GATHER:
    return blockAlone(c, members, from);
  case TP_ALL_TO_ALL:
    return c.split_last ? blockLast(c, members, to) : blockFirst(c, members, to);
  case TP_MESSAGE:
    return lineOf(from == 0 && to == 1 ? c.outer * c.inner : 0);
  default:
    return lineOf(c.source[to] == from ? c.outer * c.inner : 0);
  }
}

Block tplan::runtime::outputBlock(const tp_collective &c, int members, int from, int to) {
  switch (c.kind) {
  case TP_ALL_REDUCE:
    return part(c, members, from);
  case TP_REDUCE_SCATTER:
    return blockAlone(c, members, to);
  case TP_ALL_GATHER:
    return blockOfWhole(c, members, from);
  case TP_ALL_TO_ALL:
    return c.split_last ? blockFirst(c, members, from) : blockLast(c, members, from);
  case TP_MESSAGE:
    return lineOf(from == 0 && to == 1 ? c.outer * c.inner : 0);
  default:
    return lineOf(c.source[to] == from ? c.outer * c.inner : 0);
  }
}
