//===- GPipe.cpp - schedules without a steady part ---------------------------===//
#include "lib/Pipeline/Policy.h"
#include <algorithm>

using namespace tplan;
using namespace tplan::pipeline;

/// The stages of a rank as a kind of task goes through them: what is forward ascends.
static std::vector<int32_t> chunksOf(const Pipeline &pipeline, int32_t rank, TaskKind kind) {
  std::vector<int32_t> chunks(pipeline.chunksOf(rank));
  if (kind != TaskKind::F)
    std::reverse(chunks.begin(), chunks.end());
  return chunks;
}

/// Each rank does all microbatches of one kind, and then of the next; those of a backward may
/// descend.
static Orders inPhases(const Request &request, std::initializer_list<TaskKind> kinds,
                       bool descends = false) {
  const Pipeline &pipeline = request.pipeline;
  Orders orders(request.ranks());
  for (int32_t rank = 0; rank < request.ranks(); ++rank)
    for (TaskKind kind : kinds)
      for (int32_t stage : chunksOf(pipeline, rank, kind))
        for (int32_t m = 0, count = request.microbatches(); m < count; ++m)
          orders[rank].push_back(
              {kind, stage, descends && kind != TaskKind::F ? count - 1 - m : m});
  return orders;
}

static Orders inTurn(const Request &request) {
  Orders orders(request.ranks());
  for (int32_t rank = 0; rank < request.ranks(); ++rank)
    for (int32_t m = 0; m < request.microbatches(); ++m)
      for (TaskKind kind : {TaskKind::F, TaskKind::B})
        for (int32_t stage : chunksOf(request.pipeline, rank, kind))
          orders[rank].push_back({kind, stage, m});
  return orders;
}

namespace tplan::pipeline::policies {
/// Gradient accumulation: a microbatch is finished before the next begins, so residuals of one are
/// kept.
extern const SchedulePolicy accumulate = {
    .name = "accumulate", .summary = "F and B of each microbatch in turn", .order = inTurn};

/// Source: Huang et al., "GPipe", NeurIPS 2019.
extern const SchedulePolicy gpipe = {
    .name = "gpipe",
    .summary = "F of all microbatches, then B of all",
    .order = [](const Request &r) { return inPhases(r, {TaskKind::F, TaskKind::B}); }};

/// GPipe with the backward cut as in Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024.
extern const SchedulePolicy gpipeSplit = {
    .name = "gpipe_split",
    .summary = "F of all microbatches, then I of all, then W",
    .order = [](const Request &r) { return inPhases(r, {TaskKind::F, TaskKind::I, TaskKind::W}); }};

/// Source: Lamy-Poirier, "Breadth-First Pipeline Parallelism", MLSys 2023.
extern const SchedulePolicy loopedBfs = {
    .name = "looped_bfs",
    .summary = "F of all microbatches through each chunk, then B, from the last of both",
    .takesChunks = true,
    .order = [](const Request &r) {
      return inPhases(r, {TaskKind::F, TaskKind::B}, /*descends=*/true);
    }};
} // namespace tplan::pipeline::policies
