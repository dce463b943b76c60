//===- Policies.cpp - the orders of tasks that a plan can name ------------===//
// In one file with the registry: a linker takes both or neither.
#include "lib/Schedule/Messages.h"
#include "lib/Schedule/Policy.h"
#include "llvm/ADT/STLExtras.h"

using namespace tplan::schedule;

/// Filled by constructors of static objects, read-only afterwards.
static std::vector<SchedulePolicy> &registry() {
  static std::vector<SchedulePolicy> policies;
  return policies;
}

RegisterPolicy::RegisterPolicy(SchedulePolicy policy) { registry().push_back(std::move(policy)); }

std::vector<const SchedulePolicy *> tplan::schedule::getPolicies() {
  std::vector<const SchedulePolicy *> policies;
  for (const SchedulePolicy &policy : registry())
    policies.push_back(&policy);
  llvm::sort(policies, [](auto *a, auto *b) { return a->name < b->name; });
  return policies;
}

const SchedulePolicy *tplan::schedule::findPolicy(llvm::StringRef name) {
  for (const SchedulePolicy &policy : registry())
    if (policy.name == name)
      return &policy;
  return nullptr;
}

int32_t Pipeline::ranks() const { return rankOf.empty() ? 0 : 1 + *llvm::max_element(rankOf); }

std::vector<int32_t> Pipeline::chunksOf(int32_t rank) const {
  std::vector<int32_t> chunks;
  for (int32_t stage = 0; stage < stages(); ++stage)
    if (rankOf[stage] == rank)
      chunks.push_back(stage);
  return chunks;
}

Pipeline tplan::schedule::pipelineOf(int32_t stages, int64_t microbatches) {
  Pipeline pipeline = {microbatches, {}, {}};
  for (int32_t stage = 0; stage < stages; ++stage)
    pipeline.rankOf.push_back(static_cast<int32_t>(rankOfStage(stage)));
  return pipeline;
}

namespace {
/// The stages of a rank as a kind of task goes through them: what is forward ascends.
std::vector<int32_t> chunksOf(const Pipeline &pipeline, int32_t rank, TaskKind kind) {
  std::vector<int32_t> chunks = pipeline.chunksOf(rank);
  if (kind != TaskKind::F)
    std::reverse(chunks.begin(), chunks.end());
  return chunks;
}

/// Each rank does all microbatches of one kind, and then of the next.
std::vector<RankOrder> inPhases(const Pipeline &pipeline, const std::vector<TaskKind> &kinds) {
  std::vector<RankOrder> order(pipeline.ranks());
  for (int32_t r = 0; r < pipeline.ranks(); ++r)
    for (TaskKind kind : kinds)
      for (int32_t stage : chunksOf(pipeline, r, kind))
        for (int32_t m = 0; m < pipeline.microbatches; ++m)
          order[r].push_back({kind, stage, m});
  return order;
}

/// Gradient accumulation: a microbatch is finished before the next begins, so
/// residuals of one are kept.
const RegisterPolicy accumulate({"accumulate", "F and B of each microbatch in turn",
                                 [](const Pipeline &pipeline) {
                                   std::vector<RankOrder> order(pipeline.ranks());
                                   for (int32_t r = 0; r < pipeline.ranks(); ++r)
                                     for (int32_t m = 0; m < pipeline.microbatches; ++m)
                                       for (TaskKind kind : {TaskKind::F, TaskKind::B})
                                         for (int32_t stage : chunksOf(pipeline, r, kind))
                                           order[r].push_back({kind, stage, m});
                                   return order;
                                 }});

/// Source: Huang et al., "GPipe", NeurIPS 2019.
const RegisterPolicy gpipe({"gpipe", "F of all microbatches, then B of all",
                            [](const Pipeline &pipeline) {
                              return inPhases(pipeline, {TaskKind::F, TaskKind::B});
                            }});

/// GPipe with the backward cut as in Qi et al., "Zero Bubble Pipeline
/// Parallelism", ICLR 2024.
const RegisterPolicy gpipeSplit({"gpipe_split", "F of all microbatches, then I of all, then W",
                                 [](const Pipeline &pipeline) {
                                   return inPhases(pipeline,
                                                   {TaskKind::F, TaskKind::I, TaskKind::W});
                                 }});

/// A rank does as many F as ranks follow it, then F and B in turn, and at last the B that remain:
/// at most ranks - r microbatches are kept. For one chunk on each rank.
/// Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
/// Megatron-LM", SC 2021.
const RegisterPolicy oneForwardOneBackward(
    {"1f1b", "F and B in turn, after as many F as ranks follow", [](const Pipeline &pipeline) {
       std::vector<RankOrder> order(pipeline.ranks());
       for (int32_t s = 0; s < pipeline.stages(); ++s) {
         RankOrder &ofRank = order[pipeline.rankOf[s]];
         int32_t microbatches = pipeline.microbatches;
         int32_t ahead = std::min(pipeline.stages() - 1 - s, microbatches);
         for (int32_t m = 0; m < microbatches + ahead; ++m) {
           if (m < microbatches)
             ofRank.push_back({TaskKind::F, s, m});
           if (m >= ahead)
             ofRank.push_back({TaskKind::B, s, m - ahead});
         }
       }
       return order;
     }});
} // namespace
