//===- Policies.cpp - the orders of tasks that a plan can name ------------===//
// In one file with the registry: a linker takes both or neither.
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

namespace {
/// Each stage does `phases` in order; a phase is all microbatches of its kinds.
using Phase = std::vector<TaskKind>;

std::vector<StageOrder> inPhases(const std::vector<Phase> &phases, int64_t stages,
                                 int64_t microbatches) {
  std::vector<StageOrder> order(stages);
  for (int32_t s = 0; s < stages; ++s)
    for (const Phase &phase : phases)
      for (int32_t m = 0; m < microbatches; ++m)
        for (TaskKind kind : phase)
          order[s].push_back({kind, s, m});
  return order;
}

/// Gradient accumulation: a microbatch is finished before the next begins, so
/// residuals of one are kept.
const RegisterPolicy accumulate({"accumulate", "F and B of each microbatch in turn",
                                 [](int64_t stages, int64_t microbatches) {
                                   return inPhases({{TaskKind::F, TaskKind::B}}, stages,
                                                   microbatches);
                                 }});

/// Source: Huang et al., "GPipe", NeurIPS 2019.
const RegisterPolicy gpipe({"gpipe", "F of all microbatches, then B of all",
                            [](int64_t stages, int64_t microbatches) {
                              return inPhases({{TaskKind::F}, {TaskKind::B}}, stages, microbatches);
                            }});

/// GPipe with the backward cut as in Qi et al., "Zero Bubble Pipeline
/// Parallelism", ICLR 2024.
const RegisterPolicy gpipeSplit({"gpipe_split", "F of all microbatches, then I of all, then W",
                                 [](int64_t stages, int64_t microbatches) {
                                   return inPhases({{TaskKind::F}, {TaskKind::I}, {TaskKind::W}},
                                                   stages, microbatches);
                                 }});

/// Stage s does as many F as stages follow it, then F and B in turn, and at last the B that remain:
/// at most stages - s microbatches are kept.
/// Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
/// Megatron-LM", SC 2021.
const RegisterPolicy
    oneForwardOneBackward({"1f1b", "F and B in turn, after as many F as stages follow",
                           [](int64_t stages, int64_t microbatches) {
                             std::vector<StageOrder> order(stages);
                             for (int32_t s = 0; s < stages; ++s) {
                               int32_t ahead = std::min(stages - 1 - s, microbatches);
                               for (int32_t m = 0; m < microbatches + ahead; ++m) {
                                 if (m < microbatches)
                                   order[s].push_back({TaskKind::F, s, m});
                                 if (m >= ahead)
                                   order[s].push_back({TaskKind::B, s, m - ahead});
                               }
                             }
                             return order;
                           }});
} // namespace
