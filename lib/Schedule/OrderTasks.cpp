//===- OrderTasks.cpp - the chains become a program of tasks --------------===//
//
// Asks the plan's policy for the order of each rank, checks it, and makes programs of it: one for
// a rank that holds all stages, or one for each rank that holds some, with messages between them.
// The chains move into the programs, because form-program reads there what a task runs. Functions
// that no task runs are erased.
//
//===----------------------------------------------------------------------===//
#include "dialects/tplan/Settings.h"
#include "lib/Schedule/ChainValues.h"
#include "lib/Schedule/Messages.h"
#include "lib/Schedule/Policy.h"
#include "lib/Schedule/Schedule.h"

namespace tplan::schedule {
#define GEN_PASS_DEF_ORDERTASKSPASS
#include "lib/Schedule/Passes.h.inc"
} // namespace tplan::schedule

using namespace mlir;
using namespace tplan;
using namespace tplan::schedule;

namespace {

FailureOr<const SchedulePolicy *> choosePolicy(const lang::Settings &settings) {
  StringRef name = settings.plan.pipeline;
  if (const SchedulePolicy *policy = findPolicy(name))
    return policy;
  InFlightDiagnostic diag = emitError(settings.planLine("pipeline"))
                            << "there is no pipeline schedule: " << name;
  std::string list;
  for (const SchedulePolicy *policy : getPolicies())
    list += (list.empty() ? "" : ", ") + policy->name.str();
  diag.attachNote() << "schedules are " << list;
  return diag;
}

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

/// FLOPs of one task of a stage.
double flopsOf(const Chain &chain, TaskKind kind, int64_t stage) {
  double flops = 0;
  for (const Run &run : chain.runs)
    for (const Callee &callee : run.callees)
      if (rt::FuncOp func = callee.part(partOf(kind)); func && run.stage == stage)
        func.walk([&](rt::Call call) {
          flops += static_cast<double>(run.times()) * static_cast<double>(call.getFlops());
        });
  return flops;
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
  StringRef policy;
  int64_t stages, microbatches;

  void make(StringRef name, ArrayRef<Task> order, std::optional<int64_t> rank = {},
            ArrayRef<int64_t> holds = {}) {
    SmallVector<int32_t> tasks;
    for (Task task : order)
      sched::addTriple(tasks, task);
    OpBuilder b(train);
    auto op = sched::ProgramOp::create(b, train.getLoc(), name, policy, stages, microbatches,
                                       rank ? b.getI64IntegerAttr(*rank) : IntegerAttr(),
                                       rank ? b.getDenseI64ArrayAttr(holds) : DenseI64ArrayAttr(),
                                       b.getDenseI32ArrayAttr(tasks), DictionaryAttr(),
                                       IntegerAttr(), IntegerAttr());
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
    FailureOr<const SchedulePolicy *> policy = choosePolicy(settings);
    FailureOr<int64_t> microbatches = lang::countMicrobatches(settings);
    FailureOr<Chain> chain = readChain(train);
    if (failed(policy) || failed(microbatches) || failed(chain))
      return failure();
    int64_t stages = 1;
    for (const Run &run : chain->runs)
      stages = std::max(stages, run.stage + 1);
    // Orders are lists, and slots are counted task by task.
    constexpr int64_t kMostTasks = 1 << 14;
    if (*microbatches > kMostTasks / stages)
      return emitError(settings.planLine("microbatch"))
             << "a step has at most " << kMostTasks
             << " forward tasks, stages times microbatches; use larger microbatches, found "
             << stages << " x " << *microbatches;
    int64_t ranks = dist::meshOf(module).getNumStageRanks();
    // A rank's values and its part of files are one range of the instances of a weight (`heldOf`),
    // so it would hold, and write, the layers between two stages of its own.
    if (ranks > 1 && ranks != stages)
      return emitError(settings.planLine("stages"))
             << "each rank along the axis of the stages holds one of them: there are " << ranks
             << " ranks, found stages: " << stages;
    Pipeline pipeline = pipelineOf(stages, *microbatches);
    pipeline.flopsOf = [&](TaskKind kind, int32_t stage) { return flopsOf(*chain, kind, stage); };
    std::vector<RankOrder> orders = (*policy)->order(pipeline);
    auto report = [&] {
      InFlightDiagnostic diag = emitError(settings.planLine("pipeline"));
      diag.attachNote() << "in the order of schedule " << (*policy)->name;
      return diag;
    };
    if (failed(checkOrder(orders, pipeline, report)))
      return failure();

    llvm::SmallDenseSet<int64_t> splitStages;
    for (const RankOrder &order : orders)
      for (Task task : order)
        if (task.kind == TaskKind::I)
          splitStages.insert(task.stage);
    if (failed(checkParts(*chain, splitStages)) || failed(checkCotangents(*chain)))
      return failure();
    ProgramMaker programs{module, train, (*policy)->name, stages, *microbatches};
    if (ranks == 1)
      programs.make("step", mergeOrders(orders, stages));
    else
      for (auto [rank, tasks] : llvm::enumerate(placeMessages(orders, pipeline)))
        programs.make("step." + std::to_string(rank), tasks, rank,
                      llvm::to_vector_of<int64_t>(pipeline.chunksOf(rank)));
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
