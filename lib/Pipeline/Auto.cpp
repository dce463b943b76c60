//===- Auto.cpp - the schedule that a search finds ---------------------------===//
#include "lib/Pipeline/Policy.h"
#include "lib/Pipeline/Search.h"

using namespace tplan;
using namespace tplan::pipeline;

/// Without a limit, the memory of 1f1b.
static Scheduled found(const Request &request) {
  int32_t ranks = request.ranks(), chunks = request.chunks(), m = request.microbatches();
  std::vector<Pipeline> pipelines = {request.pipeline};
  if (chunks > 1)
    pipelines.emplace_back(Placement::Loop, ranks, chunks, m);
  return search(pipelines, request.costs ? *request.costs : Costs(UnitCosts()),
                request.memory ? request.memory : ranks * chunks);
}

namespace tplan::pipeline::policies {
extern const SchedulePolicy automatic = {
    .name = "auto",
    .summary = "what a search finds for the costs of the stages, in a V or a loop",
    .placement = Placement::V,
    .takesChunks = true,
    .takesMemory = true,
    .place = found};
} // namespace tplan::pipeline::policies
