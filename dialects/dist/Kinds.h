//===- Kinds.h - facts about each kind of collective ----------------------===//
//
// One table for all phases. Whoever wants to know what a kind does to blocks asks
// it, instead of listing the kinds that it means, so that a new kind is a line
// here and a case in DistEnums.td.
//
// One decision: a kind is described by up to two things that it does, one after
// the other. An all-to-all gathers one dimension and cuts another.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DIALECTS_DIST_KINDS_H
#define TPLAN_DIALECTS_DIST_KINDS_H

#include "dialects/dist/Dist.h"
#include "include/tplan/collectives.h"
#include <array>

namespace tplan::dist {

struct KindFacts {
  CollectiveKind kind;
  tp_collective_kind runtime; // what the runtime calls it
  bool sums = false;          // first: a sum or a maximum that is pending is made
  bool gathers = false;       // first: blocks become the whole
  bool cuts = false;          // then: each rank keeps its block
  bool reorders = false;      // blocks go to other ranks of the same axes, as `sources` says

  /// Whether there are blocks at all: of a dimension, or of the rows.
  bool hasBlocks() const { return gathers || cuts || reorders; }
  /// The operand has the blocks of one dimension, the result those of another one.
  bool exchanges() const { return gathers && cuts; }
  /// The operand is a block of the result: it may lie there.
  bool completes() const { return gathers && !cuts; }
  /// The result is a block of the operand: it may lie there.
  bool scatters() const { return sums && cuts; }
  /// The result has the shape and maybe the memory of the operand.
  bool sumsInPlace() const { return sums && !cuts; }
};

inline constexpr std::array kKindFacts = {
    KindFacts{.kind = CollectiveKind::AllReduce, .runtime = TP_ALL_REDUCE, .sums = true},
    KindFacts{.kind = CollectiveKind::ReduceScatter,
              .runtime = TP_REDUCE_SCATTER,
              .sums = true,
              .cuts = true},
    KindFacts{.kind = CollectiveKind::AllGather, .runtime = TP_ALL_GATHER, .gathers = true},
    KindFacts{
        .kind = CollectiveKind::AllToAll, .runtime = TP_ALL_TO_ALL, .gathers = true, .cuts = true},
    KindFacts{.kind = CollectiveKind::Permute, .runtime = TP_PERMUTE, .reorders = true}};

namespace detail {
constexpr bool isKindTable() {
  for (size_t i = 0; i < kKindFacts.size(); ++i)
    if (static_cast<size_t>(kKindFacts[i].kind) != i)
      return false;
  return kKindFacts.size() == getMaxEnumValForCollectiveKind() + 1;
}
} // namespace detail
static_assert(detail::isKindTable(), "one row for each kind, in their order");

constexpr const KindFacts &factsOf(CollectiveKind kind) {
  return kKindFacts[static_cast<size_t>(kind)];
}

} // namespace tplan::dist

#endif // TPLAN_DIALECTS_DIST_KINDS_H
