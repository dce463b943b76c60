//===- Schedules.cpp - schedules by numbers alone, and those of a program ------===//
#include "lib/Driver/Schedules.h"
#include "lib/Driver/StepTime.h"
#include "lib/Parse/Pipelines.h"
#include "lib/Pipeline/PlanSchedule.h"
#include "lib/Pipeline/Timeline.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::pipeline;

/// `microseconds` of a unit of time.
static void draw(llvm::StringRef name, const Pipeline &pipeline, const Simulation &simulation,
                 double microseconds, ScheduleForm form, llvm::raw_ostream &os) {
  std::string title = (name + ", " + llvm::Twine(pipeline.ranks()) + " ranks, " +
                       llvm::Twine(pipeline.microbatches()) + " microbatches")
                          .str();
  if (form == ScheduleForm::picture)
    printPicture(title, pipeline, simulation, os);
  else
    printTrace(title, pipeline, simulation, microseconds, os);
}

static void print(llvm::StringRef name, const Pipeline &pipeline, const Orders &orders,
                  const Costs &costs, ScheduleForm form, llvm::raw_ostream &os) {
  if (form == ScheduleForm::json)
    printOrders(name, pipeline, orders, costs, os);
  else
    draw(name, pipeline, simulate(orders, pipeline, costs), /*microseconds=*/1, form, os);
}

Outcome tplan::printSchedule(llvm::StringRef schedule, int32_t ranks, int32_t microbatches,
                             const Costs &costs, ScheduleForm form, llvm::raw_ostream &os,
                             llvm::raw_ostream &errors) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(schedule, "--schedule"), SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context, errors);
  std::optional<parse::Schedule> asked = parse::parseSchedule(context, sources);
  if (!asked)
    return Outcome::sourceError;
  PlanSchedule found = findSchedule(asked->name);
  Choice choice = {std::nullopt, found.fault};
  if (found.policy)
    choice = choose(*found.policy, ranks, microbatches,
                    pipeline::Options::of(asked->chunks, asked->group, asked->memory), &costs);
  if (!choice.scheduled) {
    emitFault(FileLineColLoc::get(&context, "--schedule", 1, 1), choice.fault);
    return Outcome::sourceError;
  }
  print(asked->name, choice.scheduled->pipeline, choice.scheduled->orders, costs, form, os);
  return Outcome::ok;
}

Scheduled tplan::ordersOf(ModuleOp module) {
  Orders orders;
  std::vector<int32_t> rankOf;
  sched::ProgramOp last;
  for (auto program : module.getOps<sched::ProgramOp>()) {
    RankOrder &order = orders.emplace_back();
    for (Task task : program.getTaskList())
      if (!sched::isMessage(task.kind))
        order.push_back(task);
    rankOf.resize(program.getStages());
    for (int32_t stage = 0; stage < static_cast<int32_t>(rankOf.size()); ++stage)
      if (program.holds(stage))
        rankOf[stage] = orders.size() - 1;
    last = program;
  }
  std::vector<Chain> chains(last.getChains());
  for (int32_t stage = 0; stage < static_cast<int32_t>(rankOf.size()); ++stage) {
    Chain &chain = chains[stage / last.getChainLength()];
    chain.stages.push_back(stage);
    std::tie(chain.begin, chain.end) = last.getMicrobatchesOf(stage);
  }
  Pipeline pipeline(std::move(rankOf), std::move(chains), last.getMicrobatches());
  return {std::move(pipeline), std::move(orders)};
}

void tplan::printScheduleOf(ModuleOp module, std::optional<UnitCosts> costs, ScheduleForm form,
                            llvm::raw_ostream &os) {
  Scheduled scheduled = ordersOf(module);
  auto program = *module.getOps<sched::ProgramOp>().begin();
  if (!costs && form != ScheduleForm::json)
    if (std::optional<Simulation> simulation = predictTasks(module, scheduled))
      return draw(program.getPolicy(), scheduled.pipeline, *simulation, /*microseconds=*/1e6, form,
                  os);
  print(program.getPolicy(), scheduled.pipeline, scheduled.orders, costs.value_or(UnitCosts()),
        form, os);
}
