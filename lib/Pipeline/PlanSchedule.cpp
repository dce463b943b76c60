//===- PlanSchedule.cpp - the schedule that a plan names --------------------------===//
#include "lib/Pipeline/PlanSchedule.h"
#include "llvm/ADT/STLExtras.h"

using namespace tplan;
using namespace tplan::pipeline;

/// A plan numbers stages in forward order, those of a copy after all others, and gives each chain
/// as many microbatches.
static std::optional<Fault> checkChains(const Pipeline &pipeline) {
  int32_t stage = 0, microbatch = 0;
  size_t chains = pipeline.getChains().size();
  for (const Chain &chain : pipeline.getChains()) {
    bool inOrder = llvm::all_of(chain.stages, [&](int32_t each) { return each == stage++; });
    if (!inOrder || chains > 2 ||
        chain.stages.size() * chains != static_cast<size_t>(pipeline.stages()) ||
        chain.begin != microbatch ||
        (chain.end - chain.begin) * static_cast<int32_t>(chains) != pipeline.microbatches())
      return Fault{"chains", "orders of a plan have one chain, or two of as many stages and "
                             "microbatches, and number both in their order; the chain that differs "
                             "begins with stage " +
                                 std::to_string(chain.stages.empty() ? 0 : chain.stages.front())};
    microbatch = chain.end;
  }
  return std::nullopt;
}

static PlanSchedule findPolicyOf(llvm::StringRef name) {
  PlanSchedule schedule;
  schedule.policy = findPolicy(name);
  if (schedule.policy)
    return schedule;
  std::string list;
  for (const SchedulePolicy *policy : getPolicies())
    list += (list.empty() ? "" : ", ") + policy->name.str();
  schedule.fault = {"name", "there is no pipeline schedule: " + name.str()};
  schedule.fault.notes = {"schedules are " + list};
  return schedule;
}

PlanSchedule tplan::pipeline::findSchedule(llvm::StringRef name, llvm::StringRef orders) {
  if (orders.empty())
    return findPolicyOf(name);
  PlanSchedule schedule;
  ReadOrders read = readOrders(orders);
  std::optional<Fault> fault = read.file ? checkChains(read.file->pipeline) : read.fault;
  if (!fault) {
    schedule.file = std::move(read.file);
    return schedule;
  }
  schedule.fault = std::move(*fault);
  if (std::string where = schedule.fault.where(); !where.empty())
    schedule.fault.notes.push_back("in the orders at " + where);
  return schedule;
}

mlir::InFlightDiagnostic tplan::pipeline::emitFault(mlir::Location loc, const Fault &fault) {
  mlir::InFlightDiagnostic diag = mlir::emitError(loc) << fault.message;
  for (const std::string &note : fault.notes)
    diag.attachNote() << note;
  return diag;
}

bool PlanSchedule::isDual() const {
  return file ? file->pipeline.getChains().size() == 2 : policy && policy->isDual();
}

int32_t PlanSchedule::stagesOn(int32_t ranks, Options options) const {
  if (file)
    return file->pipeline.getChains().front().stages.size();
  return ranks * (!policy || policy->isDual() ? 1 : chunksOf(*policy, options));
}

Choice PlanSchedule::choose(int32_t stages, int32_t microbatches, Options options,
                            const Costs *costs) const {
  auto refuse = [](std::string rule) -> Choice { return {std::nullopt, {"numbers", rule}}; };
  if (!file) {
    int32_t chunks = chunksOf(*policy, options);
    if (stages % chunks)
      return refuse(policy->name.str() + " has " + std::to_string(chunks) +
                    " stages on each rank, found stages: " + std::to_string(stages));
    return pipeline::choose(*policy, stages / chunks, microbatches, options, costs);
  }
  const Pipeline &pipeline = file->pipeline;
  if (pipeline.stages() != stages || pipeline.microbatches() != microbatches)
    return refuse("the orders are for " + std::to_string(pipeline.stages()) + " stages and " +
                  std::to_string(pipeline.microbatches()) + " microbatches, found a plan with " +
                  std::to_string(stages) + " and " + std::to_string(microbatches));
  return checked({pipeline, file->orders});
}
