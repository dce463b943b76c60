//===- OneForwardOneBackward.cpp - 1F1B, interleaved or not ------------------===//
//
// A rank does some F ahead, then F and B in turn, and at last the B that remain. Interleaved, it
// goes through its chunks in turn, a group of microbatches each, forwards from the first chunk and
// backwards from the last.
//
// What a rank does ahead beyond what the next rank does is the time that a message has: from B of
// the next rank to B here, to an F here and to the same F there, which must come after as many F
// and B of the next rank. With one F more for each rank that follows, both messages may take F + B
// together and nobody waits; with none, each adds to every microbatch.
//
//===----------------------------------------------------------------------===//
#include "lib/Pipeline/Interleave.h"
#include <algorithm>

using namespace tplan;
using namespace tplan::pipeline;

VirtualOrder::VirtualOrder(const Request &request) {
  int32_t group = std::max(request.group, 1);
  for (int32_t first = 0; first < request.microbatches(); first += group)
    for (int32_t chunk = 0; chunk < request.chunks(); ++chunk)
      forwards.insert(forwards.end(), std::min(group, request.microbatches() - first), chunk);
  for (int32_t chunk : forwards)
    backwards.push_back(request.chunks() - 1 - chunk);
}

static bool megatronTakes(int32_t ranks, int32_t microbatches, int32_t group) {
  int32_t rest = microbatches % group;
  return ranks <= group && group <= microbatches && (rest == 0 || rest >= ranks);
}

static bool torchTakes(int32_t ranks, int32_t microbatches, int32_t group) {
  int32_t rounds = std::max(1, microbatches / ranks);
  return microbatches % rounds == 0 && group == microbatches / rounds;
}

/// The rules of Megatron-LM and of PyTorch's ScheduleInterleaved1F1B, and one microbatch alone.
static bool takes(int32_t ranks, int32_t microbatches, int32_t group) {
  return megatronTakes(ranks, microbatches, group) || torchTakes(ranks, microbatches, group) ||
         (microbatches == 1 && group == ranks);
}

std::string tplan::pipeline::refuseGroup(int32_t ranks, int32_t microbatches, int32_t group) {
  int32_t asked = group ? group : ranks;
  if (asked > 0 && takes(ranks, microbatches, asked))
    return "";
  std::string legal;
  for (int32_t each = 1, listed = 0; each <= microbatches && listed < 8; ++each)
    if (takes(ranks, microbatches, each)) {
      legal += (legal.empty() ? "" : ", ") + std::to_string(each);
      ++listed;
    }
  return "of " + std::to_string(microbatches) + " microbatches, groups of at least " +
         std::to_string(ranks) + " leave none over, or at least " + std::to_string(ranks) +
         (legal.empty() ? "; there is no such group" : "; group may be " + legal) +
         ", found group = " + std::to_string(asked);
}

/// At most ranks - r microbatches are kept, and as many more for each `ahead` as ranks follow.
static Orders inTurnAhead(const Request &request) {
  VirtualOrder order(request);
  return eachRank(request, [&](RankWriter &writer, int32_t rank) {
    int32_t p = request.ranks(), all = order.size();
    int32_t ahead = request.group ? 2 * (p - 1 - rank) + (request.chunks() - 1) * request.group
                                  : (p - 1 - rank) * (1 + request.ahead);
    ahead = std::min(ahead, all);
    for (int32_t k = 0; k < all + ahead; ++k) {
      if (k < all)
        writer.F(order.forwards[k]);
      if (k >= ahead)
        writer.B(order.backwards[k - ahead]);
    }
  });
}

/// With two F more for each rank that follows, and one: then F and B are of unlike microbatches on
/// the last rank, too, and what the F of a pair leaves and what its B needs have a whole pair's
/// time on their way.
static Orders inPairs(const Request &request) {
  return eachRank(request, [&](RankWriter &writer, int32_t rank) {
    int32_t all = request.microbatches();
    int32_t ahead = std::min(2 * (request.ranks() - 1 - rank) + 1, all);
    for (int32_t k = 0; k < all + ahead; ++k) {
      if (k < ahead)
        writer.F();
      else if (k < all)
        writer.pair(0, 0);
      else
        writer.B();
    }
  });
}

namespace tplan::pipeline::policies {
/// Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
/// Megatron-LM", SC 2021.
extern const SchedulePolicy oneForwardOneBackward = {
    .name = "1f1b",
    .summary = "F and B in turn, after as many F as ranks follow, or more",
    .takesAhead = true,
    .order = inTurnAhead};

/// Source: that of Megatron-LM's core/models/common/model_chunk_schedule_plan.py, which runs F and
/// B of neighbours together.
extern const SchedulePolicy inPairs1F1B = {
    .name = "1f1b_pairs",
    .summary = "F of one microbatch with B of an earlier one, after twice as many F as ranks "
               "follow, and one",
    .order = inPairs};

/// Source: the same as of 1f1b; groups are those of Megatron-LM's
/// core/pipeline_parallel/schedules.py.
extern const SchedulePolicy interleaved = {
    .name = "interleaved",
    .summary =
        "1f1b over several chunks on each rank, a group of microbatches through each in turn",
    .takesChunks = true,
    .takesGroup = true,
    .refuses = refuseGroup,
    .order = inTurnAhead};
} // namespace tplan::pipeline::policies
