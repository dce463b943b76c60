//===- Schedules.cpp - schedules by numbers alone, and those of a program ------===//
#include "lib/Driver/Schedules.h"
#include "lib/Driver/StepTime.h"
#include "lib/Parse/Pipelines.h"
#include "lib/Pipeline/PlanSchedule.h"
#include "lib/Pipeline/Timeline.h"
#include "lib/Schedule/Orders.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::pipeline;

/// `microseconds` of a unit of time.
static void draw(llvm::StringRef name, const Pipeline &pipeline, const Simulation &simulation,
                 llvm::ArrayRef<Streams> streams, double microseconds, ScheduleForm form,
                 llvm::raw_ostream &os) {
  std::string title = (name + ", " + llvm::Twine(pipeline.ranks()) + " ranks, " +
                       llvm::Twine(pipeline.microbatches()) + " microbatches")
                          .str();
  if (form == ScheduleForm::picture)
    printPicture(title, pipeline, simulation, streams, os);
  else
    printTrace(title, simulation, streams, microseconds, os);
}

static void print(llvm::StringRef name, const Pipeline &pipeline, const Orders &orders,
                  const Costs &costs, ScheduleForm form, llvm::raw_ostream &os) {
  if (form == ScheduleForm::json)
    printOrders(name, pipeline, orders, costs, os);
  else
    draw(name, pipeline, simulate(orders, pipeline, costs), /*streams=*/{}, /*microseconds=*/1,
         form, os);
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
                    pipeline::Options::of(asked->chunks, asked->group, asked->memory, asked->ahead),
                    &costs);
  if (!choice.scheduled) {
    emitFault(FileLineColLoc::get(&context, "--schedule", 1, 1), choice.fault);
    return Outcome::sourceError;
  }
  print(asked->name, choice.scheduled->pipeline, choice.scheduled->orders, costs, form, os);
  return Outcome::ok;
}

void tplan::printScheduleOf(ModuleOp module, std::optional<UnitCosts> costs, ScheduleForm form,
                            llvm::raw_ostream &os) {
  Scheduled scheduled = schedule::ordersOf(module, schedule::With::Work);
  auto program = *module.getOps<sched::ProgramOp>().begin();
  if (!costs && form != ScheduleForm::json)
    if (std::optional<TaskTimes> times = predictTasks(module))
      return draw(program.getPolicy(), scheduled.pipeline, times->simulation, times->streams,
                  /*microseconds=*/1e6, form, os);
  print(program.getPolicy(), scheduled.pipeline, scheduled.orders, costs.value_or(UnitCosts()),
        form, os);
}
