//===- OrderTasks.cpp - the chains become a program of tasks --------------===//
//
// Asks the plan's policy for the order of each rank, checks it, and makes programs of it: one for
// a rank that holds all stages, or one for each rank that holds some, with messages between them.
// The chains move into the programs, because form-program reads there what a task runs. Functions
// that no task runs are erased.
//
//===----------------------------------------------------------------------===//
#include "dialects/tplan/Settings.h"
#include "lib/Cost/OverlapChoice.h"
#include "lib/Cost/Prices.h"
#include "lib/Pipeline/Check.h"
#include "lib/Pipeline/PlanSchedule.h"
#include "lib/Pipeline/Simulate.h"
#include "lib/Schedule/ChainValues.h"
#include "lib/Schedule/Schedule.h"

namespace tplan::schedule {
#define GEN_PASS_DEF_ORDERTASKSPASS
#include "lib/Schedule/Passes.h.inc"
} // namespace tplan::schedule

using namespace mlir;
using namespace tplan;
using namespace tplan::schedule;
using pipeline::RankOrder;
using sched::Task;
using sched::TaskKind;

namespace {

/// Every layer must have the parts that the tasks run; a layer without any
/// backward part needs none.
LogicalResult checkParts(const Chain &chain, const llvm::SmallDenseSet<int64_t> &splitStages) {
  for (const Run &run : chain.runs) {
    bool split = splitStages.contains(run.stage);
    for (const Callee &callee : run.callees) {
      if (!callee.part(Part::Forward))
        return run.op.emitOpError("has no part forward of layer ") << callee.name;
      bool whole = callee.part(Part::Backward) != nullptr;
      bool parts = callee.part(Part::BackwardInputs) || callee.part(Part::BackwardWeights);
      if (split ? whole && !parts : parts && !whole)
        return run.op.emitOpError("needs ")
               << (split ? "parts backward_inputs and backward_weights" : "part backward")
               << " of layer " << callee.name;
    }
  }
  return success();
}

/// A run writes the cotangent of what it carries in, so nobody else may. Model
/// forks values that several runs are trained through.
LogicalResult checkCotangents(const Chain &chain) {
  for (const Run &run : chain.runs)
    for (Value value : run.op.getCarried()) {
      SmallVector<Reader> writers = cotangentWriters(chain, value);
      if (writers.size() < 2)
        continue;
      InFlightDiagnostic diag =
          run.op.emitOpError("carries a value whose cotangent is given twice");
      for (Reader writer : writers)
        diag.attachNote(chain.runs[writer.run].op.getLoc())
            << "given here, as " << (writer.carried ? "carried" : "invariant");
      return diag;
    }
  return success();
}

/// Seconds of one task of a stage: all layers of its runs. For a message all is in its own price.
double secondsOf(const Chain &chain, cost::Prices &prices, TaskKind kind, int64_t stage) {
  double seconds = 0;
  if (!sched::factsOf(kind).part)
    return 0;
  for (const Run &run : chain.runs)
    for (const Callee &callee : run.callees)
      if (rt::FuncOp func = callee.part(*sched::factsOf(kind).part); func && run.stage == stage)
        seconds += static_cast<double>(run.times()) * prices.of(func).seconds();
  return seconds;
}

/// Seconds of a message between neighbours, with what cuts and gathers it.
double secondsOfMessage(const Chain &chain, cost::Prices &prices, dist::MeshAttr mesh, int64_t from,
                        int64_t to) {
  double seconds = 0;
  for (Value value : from < to ? chain.valuesAfter(from) : cotangentsBefore(chain, to)) {
    MessageParts parts = chain.sentInParts.lookup(value);
    int64_t bytes = nn::bytesOf(value);
    if (parts.cut) {
      bytes = cast<nn::Tensor>(parts.cut.getResultTypes().front()).getBytes();
      seconds += prices.of(parts.cut).seconds() + prices.of(parts.gather).seconds();
    }
    seconds += prices.getLinks().secondsOfMessage(mesh.getStages(), bytes);
  }
  return seconds;
}

/// What tasks and messages cost, at the prices of the cluster.
struct ChainCosts {
  dist::MeshAttr mesh;
  cost::Prices prices;
  pipeline::Costs costs;

  ChainCosts(const lang::Settings &settings, const Chain &chain)
      : mesh(dist::meshOf(chain.op->getParentOfType<ModuleOp>())), prices(settings, mesh),
        costs{[&](TaskKind kind, int32_t stage) { return secondsOf(chain, prices, kind, stage); },
              [&](int32_t from, int32_t to) {
                return mesh && mesh.getStages() ? secondsOfMessage(chain, prices, mesh, from, to)
                                                : 0;
              }} {}
};

FailureOr<pipeline::Scheduled> makeOrders(const lang::Settings &settings,
                                          const pipeline::PlanSchedule &schedule, int64_t stages,
                                          int64_t microbatches, const pipeline::Costs &costs) {
  const lang::Plan &plan = settings.plan;
  pipeline::Choice choice = schedule.choose(
      stages, microbatches, pipeline::Options::of(plan.chunks, plan.group, plan.kept, plan.ahead),
      &costs);
  if (choice.scheduled)
    return std::move(*choice.scheduled);
  InFlightDiagnostic diag = emitFault(settings.planLine("pipeline"), choice.fault);
  if (choice.fault.rule != "numbers")
    diag.attachNote() << "in the order of schedule " << plan.pipeline;
  return diag;
}

/// The orders with messages, which are started where the plan says so, or where it says nothing and
/// the step then takes less time.
pipeline::Orders withMessages(ModuleOp module, const lang::Settings &settings,
                              const pipeline::Orders &orders, const pipeline::Pipeline &pipeline,
                              const ChainCosts &costs) {
  pipeline::Orders complete = pipeline::placeMessages(orders, pipeline);
  cost::OverlapChoice choice(module, settings, costs.prices);
  if (choice.keepsMemory() || !choice.starts(lang::Overlap::Pp))
    return complete;
  pipeline::Orders started = pipeline::placeMessages(orders, pipeline, pipeline::Messages::Started);
  if (!choice.isByCost() || !costs.prices.areKnown())
    return started;
  auto secondsOf = [&](const pipeline::Orders &each) {
    return pipeline::simulate(each, pipeline, costs.costs).makespan;
  };
  return secondsOf(started) < secondsOf(complete) ? started : complete;
}

/// What a layer adds to a state or a metric is kept for all microbatches of a step, in one place.
LogicalResult checkCopies(const lang::Settings &settings, const Chain &chain) {
  for (const Run &run : chain.runs)
    for (const Callee &callee : run.callees)
      if (callee.part(Part::States)) {
        InFlightDiagnostic diag =
            emitError(settings.planLine("pipeline"))
            << settings.plan.pipeline
            << " has two copies of each layer, and states, delayed scales "
               "among them, and metrics are of one; choose a schedule with one copy, such as "
               "dualpipe_v; found a layer with them: "
            << callee.name;
        diag.attachNote(run.op.getLoc()) << "the layer is called here";
        return diag;
      }
  return success();
}

llvm::SmallDenseSet<int64_t> findSplitStages(const pipeline::Orders &orders) {
  llvm::SmallDenseSet<int64_t> stages;
  for (const RankOrder &order : orders)
    for (Task task : order)
      if (task.kind == TaskKind::I)
        stages.insert(task.stage);
  return stages;
}

/// What F leaves to the backward is the same for all microbatches of a stage. So a stage that does
/// some backwards in parts does all in parts: B becomes I, and W right after it.
void splitBackwards(RankOrder &order, const llvm::SmallDenseSet<int64_t> &splitStages) {
  RankOrder split;
  for (size_t i = 0; i < order.size();) {
    ArrayRef<Task> tasks = sched::tasksAt(order, i);
    i += tasks.size();
    RankOrder weights;
    for (Task task : tasks) {
      if (task.kind == TaskKind::B && splitStages.contains(task.stage)) {
        task.kind = TaskKind::I;
        weights.push_back({TaskKind::W, task.stage, task.microbatch});
      }
      split.push_back(task);
    }
    llvm::append_range(split, weights);
  }
  order = std::move(split);
}

/// What a stage's backwards leave is summed over ranks as soon as all of them are done, and what
/// they leave to other ranks is sent: so ranks that train two stages reduce the one while the other
/// still works.
void addReductions(RankOrder &order, const Chain &chain, const pipeline::Pipeline &pipeline) {
  llvm::SmallDenseSet<int64_t> reduced;
  for (const Run &run : chain.runs)
    if (run.isReducedByTask())
      reduced.insert(run.stage);
  RankOrder with;
  for (size_t end = order.size(); end > 0;) {
    size_t begin = end - 1;
    while (order[begin].together)
      --begin;
    for (Task task : llvm::reverse(ArrayRef(order).slice(begin, end - begin)))
      if (!sched::awaitedBy(task.kind) && reduced.erase(task.stage))
        with.push_back({TaskKind::R, task.stage, pipeline.chainOf(task.stage).begin});
    for (Task task : llvm::reverse(ArrayRef(order).slice(begin, end - begin)))
      with.push_back(task);
    end = begin;
  }
  std::reverse(with.begin(), with.end());
  order = std::move(with);
}

/// Erases parts of the backward that no task runs: the whole one where no stage with the layer does
/// it in one, its halves where none does it in two.
void eraseUnused(ModuleOp module, const Chain &chain,
                 const llvm::SmallDenseSet<int64_t> &splitStages) {
  SetVector<Operation *> all, used;
  for (const Run &run : chain.runs)
    for (const Callee &callee : run.callees)
      for (auto [part, func] : callee.existing()) {
        all.insert(func);
        if (nn::isRunBy(part, splitStages.contains(run.stage)))
          used.insert(func);
      }
  for (Operation *func : all)
    if (!used.contains(func))
      func->erase();
  rt::eraseUnusedKernels(module);
}

/// Makes programs, each with the chains.
struct ProgramMaker {
  ModuleOp module;
  nn::ChainOp train;
  const Chain &chain;
  const pipeline::Pipeline &pipeline;
  StringRef policy;

  void make(StringRef name, RankOrder order, std::optional<int64_t> rank = {},
            ArrayRef<int64_t> holds = {}) {
    addReductions(order, chain, pipeline);
    SmallVector<int32_t> tasks;
    for (Task task : order)
      sched::addTriple(tasks, task);
    OpBuilder b(train);
    auto op = sched::ProgramOp::create(
        b, train.getLoc(), name, policy, pipeline.stages(), pipeline.getChains().size(),
        pipeline.microbatches(), rank ? b.getI64IntegerAttr(*rank) : IntegerAttr(),
        rank ? b.getDenseI64ArrayAttr(holds) : DenseI64ArrayAttr(), b.getDenseI32ArrayAttr(tasks),
        DictionaryAttr(), IntegerAttr(), IntegerAttr());
    b.createBlock(&op.getBody());
    for (StringRef chain : {nn::kTrainChain, nn::kCountsChain})
      if (auto found = module.lookupSymbol<nn::ChainOp>(chain))
        b.clone(*found);
  }
};

struct OrderTasksPass : tplan::schedule::impl::OrderTasksPassBase<OrderTasksPass> {
  LogicalResult run() {
    ModuleOp module = getOperation();
    lang::Settings settings(module);
    auto train = module.lookupSymbol<nn::ChainOp>(nn::kTrainChain);
    if (!train)
      return module.emitError("there is no chain @train to order");
    pipeline::PlanSchedule schedule =
        pipeline::findSchedule(settings.plan.pipeline, settings.plan.orders);
    if (!schedule.policy && !schedule.file)
      return emitFault(settings.planLine("pipeline"), schedule.fault);
    FailureOr<int64_t> microbatches = lang::countMicrobatches(settings);
    int64_t stages = 1;
    for (auto run : train.getOps<nn::RunOp>())
      stages = std::max<int64_t>(stages, run.getStage().value_or(0) + 1);
    FailureOr<Chain> chain = readChain(train, schedule.isDual() ? stages / 2 : stages);
    if (failed(microbatches) || failed(chain))
      return failure();
    int64_t ranks = dist::meshOf(module).getNumStageRanks();
    ChainCosts costs(settings, *chain);
    FailureOr<pipeline::Scheduled> made =
        makeOrders(settings, schedule, stages, *microbatches, costs.costs);
    if (failed(made))
      return failure();
    if (ranks > 1 && ranks != made->pipeline.ranks())
      return emitError(settings.planLine("stages"))
             << "with " << settings.plan.pipeline << " these stages lie on "
             << made->pipeline.ranks() << " ranks, found ranks along their axis: " << ranks;
    if (schedule.isDual() && failed(checkCopies(settings, *chain)))
      return failure();
    llvm::SmallDenseSet<int64_t> splitStages = findSplitStages(made->orders);
    for (RankOrder &order : made->orders)
      splitBackwards(order, splitStages);
    const pipeline::Orders &orders = made->orders;
    if (failed(checkParts(*chain, splitStages)) || failed(checkCotangents(*chain)))
      return failure();
    ProgramMaker programs{module, train, *chain, made->pipeline, settings.plan.pipeline};
    if (ranks == 1)
      programs.make("step", pipeline::mergeOrders(orders, made->pipeline));
    else
      for (auto [rank, tasks] :
           llvm::enumerate(withMessages(module, settings, orders, made->pipeline, costs)))
        programs.make("step." + std::to_string(rank), tasks, rank,
                      llvm::to_vector_of<int64_t>(made->pipeline.chunksOf(rank)));
    eraseUnused(module, *chain, splitStages);
    for (StringRef name : {nn::kTrainChain, nn::kCountsChain})
      if (auto op = module.lookupSymbol<nn::ChainOp>(name))
        op.erase();
    return success();
  }

  void runOnOperation() final {
    if (failed(run()))
      signalPassFailure();
  }
};

} // namespace
