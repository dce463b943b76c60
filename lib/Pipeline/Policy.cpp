//===- Policy.cpp - the registry of schedules, and what policies share -------===//
#include "lib/Pipeline/Policy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace tplan;
using namespace tplan::pipeline;

namespace tplan::pipeline::policies {
#define POLICY(constant) extern const SchedulePolicy constant;
#include "lib/Pipeline/Policies.def"
} // namespace tplan::pipeline::policies

/// The compiler has its own, and static objects of an executable add others.
static std::vector<const SchedulePolicy *> &registry() {
  static std::vector<const SchedulePolicy *> policies = {
#define POLICY(constant) &policies::constant,
#include "lib/Pipeline/Policies.def"
  };
  return policies;
}

RegisterPolicy::RegisterPolicy(SchedulePolicy made) : policy(std::move(made)) {
  registry().push_back(&policy);
}

std::vector<const SchedulePolicy *> tplan::pipeline::getPolicies() {
  std::vector<const SchedulePolicy *> policies = registry();
  llvm::sort(policies, [](auto *a, auto *b) { return a->name < b->name; });
  return policies;
}

const SchedulePolicy *tplan::pipeline::findPolicy(llvm::StringRef name) {
  for (const SchedulePolicy *policy : registry())
    if (policy->name == name)
      return policy;
  return nullptr;
}

/// The rule that numbers break, or "".
static std::string ruleOf(const SchedulePolicy &policy, int32_t ranks, int32_t microbatches,
                          Options options) {
  std::string name = policy.name.str();
  if (microbatches < 1)
    return "a step has at least one microbatch, found " + std::to_string(microbatches);
  if (int32_t chunks = policy.standardChunks();
      !policy.takesChunks && options.chunks && options.chunks != chunks)
    return name + " has " + std::to_string(chunks) + (chunks == 1 ? " stage" : " stages") +
           " on each rank, found chunks = " + std::to_string(options.chunks);
  if (policy.placement == Placement::V && options.chunks > 2)
    return name +
           " has at most 2 stages on each rank, found chunks = " + std::to_string(options.chunks);
  if (options.memory && !policy.takesMemory)
    return name + " takes no memory, found memory = " + std::to_string(options.memory);
  if (int32_t least = chunksOf(policy, options); options.memory && options.memory < least)
    return name + " keeps an activation for each stage of a rank: give it at least " +
           std::to_string(least) + ", found memory = " + std::to_string(options.memory);
  if (options.group && !policy.takesGroup)
    return name + " has no groups of microbatches, found group = " + std::to_string(options.group);
  if (options.ahead && !policy.takesAhead)
    return name + " does no forwards ahead, found ahead = " + std::to_string(options.ahead);
  return policy.refuses ? policy.refuses(ranks, microbatches, options.group) : "";
}

Choice tplan::pipeline::checked(Scheduled made) {
  if (std::optional<Fault> fault = checkOrders(made.orders, made.pipeline))
    return {std::nullopt, *fault};
  return {std::move(made), {}};
}

Choice tplan::pipeline::choose(const SchedulePolicy &policy, int32_t ranks, int32_t microbatches,
                               Options options, const Costs *costs) {
  if (std::string rule = ruleOf(policy, ranks, microbatches, options); !rule.empty())
    return {std::nullopt, {"numbers", rule}};
  Pipeline pipeline(policy.placement, ranks, chunksOf(policy, options), microbatches);
  int32_t group = options.group ? options.group : policy.takesGroup ? ranks : 0;
  Request request{pipeline, group, costs, options.memory, options.ahead};
  return checked(policy.place ? policy.place(request) : Scheduled{pipeline, policy.order(request)});
}

//===----------------------------------------------------------------------===//
// Writing an order
//===----------------------------------------------------------------------===//

void RankWriter::add(TaskKind kind, int32_t chunk, bool together) {
  int32_t &counter = kind == TaskKind::F ? next[chunk].forwards : next[chunk].backwards;
  int32_t stage = stages[chunk], microbatch = pipeline.chainOf(stage).begin + counter++;
  if (!pipeline.has(stage, microbatch)) // of an order for more microbatches
    return;
  order.push_back({kind, stage, microbatch, together});
  if (kind == TaskKind::I)
    weights.push_back({TaskKind::W, stage, microbatch});
}

void RankWriter::W() {
  if (weights.empty())
    return;
  order.push_back(weights.front());
  weights.pop_front();
}

void RankWriter::W(int32_t chunk) {
  auto oldest = llvm::find_if(weights, [&](Task task) { return task.stage == stages[chunk]; });
  if (oldest == weights.end())
    return;
  order.push_back(*oldest);
  weights.erase(oldest);
}

void RankWriter::pair(int32_t forward, int32_t backward) {
  F(forward);
  add(TaskKind::B, backward, /*together=*/true);
}

Orders tplan::pipeline::eachRank(const Request &request,
                                 llvm::function_ref<void(RankWriter &, int32_t)> write) {
  Orders orders;
  for (int32_t rank = 0; rank < request.ranks(); ++rank) {
    llvm::ArrayRef<int32_t> stages = request.pipeline.chunksOf(rank);
    RankWriter writer(request.pipeline, {stages.begin(), stages.end()});
    write(writer, rank);
    orders.push_back(writer.take());
  }
  return orders;
}
