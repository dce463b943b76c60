//===- ZeroBubble.cpp - W fills what 1F1B leaves idle ------------------------===//
//
// Source: Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, and "Pipeline Parallelism with
// Controllable Memory", NeurIPS 2024. Their B is I here, their BW is B.
//
//===----------------------------------------------------------------------===//
#include "lib/Pipeline/Interleave.h"
#include <algorithm>

using namespace tplan;
using namespace tplan::pipeline;

/// As 1F1B, with as many W left over as ranks come before, so that no rank keeps more than the
/// first.
static Orders h1(const Request &request) {
  VirtualOrder order(request);
  return eachRank(request, [&](RankWriter &writer, int32_t rank) {
    int32_t all = order.size();
    int32_t ahead =
        std::min(request.ranks() - 1 - rank + (request.chunks() - 1) * request.group, all);
    for (int32_t k = 0; k < ahead; ++k)
      writer.F(order.forwards[k]);
    for (int32_t k = 0; k < all; ++k) {
      if (k + ahead < all)
        writer.F(order.forwards[k + ahead]);
      writer.I(order.backwards[k]);
      if (k >= rank)
        writer.W();
    }
    while (writer.hasW())
      writer.W();
  });
}

/// Twice the memory of 1F1B, and no rank waits once it has begun.
static Orders h2(const Request &request) {
  return eachRank(request, [&](RankWriter &writer, int32_t rank) {
    int32_t all = request.microbatches();
    for (int32_t k = 0; k < std::min(2 * (request.ranks() - 1 - rank) + 1, all); ++k)
      writer.F();
    for (int32_t k = 0; k < all; ++k) {
      writer.I();
      if (k >= 2 * rank)
        writer.W();
      if (writer.forwards(0) < all)
        writer.F();
    }
    while (writer.hasW())
      writer.W();
  });
}

/// Chunk 0 goes down the ranks, chunk 1 back up. Made for 2p - 1 microbatches at least; of a step
/// with fewer, tasks of the others are left out.
static Orders v(const Request &request) {
  return eachRank(request, [&](RankWriter &writer, int32_t rank) {
    int32_t p = request.ranks(), n = std::max(request.microbatches(), 2 * p - 1);
    auto backward = [&](int32_t chunk) {
      writer.I(chunk);
      writer.W(chunk);
    };
    for (int32_t k = 0; k < 2 * (p - rank) - 1; ++k)
      writer.F(0);
    for (int32_t k = 0; k < rank; ++k) {
      writer.F(1);
      writer.F(0);
    }
    for (int32_t k = 0; k < p - rank; ++k) {
      writer.F(1);
      backward(1);
    }
    while (writer.forwards(1) < writer.forwards(0) || writer.forwards(0) < n) {
      if (writer.forwards(0) < n)
        writer.F(0);
      backward(0);
      writer.F(1);
      backward(1);
    }
    for (int32_t k = 0; k < rank; ++k) {
      writer.I(0);
      writer.I(1);
    }
    for (int32_t k = 0; k < p - rank; ++k)
      backward(0);
    for (int32_t chunk : {1, 0})
      for (int32_t k = 0; k < rank; ++k)
        writer.W(chunk);
  });
}

namespace tplan::pipeline::policies {
extern const SchedulePolicy zbH1 = {.name = "zb_h1",
                                    .summary =
                                        "1f1b with I and W, where W of a few microbatches wait",
                                    .order = h1};

extern const SchedulePolicy zbH2 = {
    .name = "zb_h2",
    .summary = "twice as many F ahead as 1f1b, then I, W and F in turn: no rank waits for another",
    .order = h2};

extern const SchedulePolicy interleavedZb = {.name = "interleaved_zb",
                                             .summary = "zb_h1 over several chunks on each rank",
                                             .takesChunks = true,
                                             .takesGroup = true,
                                             .refuses = refuseGroup,
                                             .order = h1};

extern const SchedulePolicy zbV = {.name = "zb_v",
                                   .summary =
                                       "two chunks in a V: no rank waits, in the memory of 1f1b",
                                   .placement = Placement::V,
                                   .order = v};
} // namespace tplan::pipeline::policies
