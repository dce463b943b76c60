//===- OrderTasks.cpp - the chains become a program of tasks --------------===//
//
// Asks the plan's policy for the order of each stage, checks it, and merges the
// orders for this rank, which holds all stages. The chains move into the
// program, for form-program: they say what a task runs. What no task runs goes.
//
//===----------------------------------------------------------------------===//
#include "dialects/tplan/Settings.h"
#include "lib/Schedule/Between.h"
#include "lib/Schedule/Policy.h"
#include "lib/Schedule/Schedule.h"

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
LogicalResult checkParts(const Chain &chain, bool split) {
  for (const Run &run : chain.runs)
    for (const Callee &callee : run.callees) {
      if (!callee.part(Part::Forward))
        return nn::RunOp(run.op).emitOpError("has no part forward of layer ") << callee.name;
      bool whole = callee.part(Part::Backward) != nullptr;
      bool parts = callee.part(Part::BackwardInputs) || callee.part(Part::BackwardWeights);
      if (split ? whole && !parts : parts && !whole)
        return nn::RunOp(run.op).emitOpError("needs ")
               << (split ? "parts backward_inputs and backward_weights" : "part backward")
               << " of layer " << callee.name;
    }
  return success();
}

/// A run writes the cotangent of what it carries in, so nobody else may. Model
/// forks values that several runs are trained through.
LogicalResult checkCotangents(const Chain &chain) {
  for (const Run &run : chain.runs)
    for (Value value : nn::RunOp(run.op).getCarried()) {
      SmallVector<Reader> writers = cotangentWriters(chain, value);
      if (writers.size() < 2)
        continue;
      InFlightDiagnostic diag =
          nn::RunOp(run.op).emitOpError("carries a value whose cotangent is given twice");
      for (Reader writer : writers)
        diag.attachNote(nn::RunOp(chain.runs[writer.run].op).getLoc())
            << "given here, as " << (writer.carried ? "carried" : "invariant");
      return diag;
    }
  return success();
}

/// Parts of the backward that no task runs: the whole one where it is cut, else the cut ones.
void eraseUnused(ModuleOp module, const Chain &chain, bool split) {
  SetVector<Operation *> functions;
  for (const Run &run : chain.runs)
    for (const Callee &callee : run.callees)
      for (auto [part, func] : callee.existing())
        if (!nn::isRunBy(part, split))
          functions.insert(func);
  for (Operation *func : functions)
    func->erase();
  rt::eraseUnusedKernels(module);
}

struct OrderTasks : PassWrapper<OrderTasks, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OrderTasks)
  StringRef getArgument() const final { return "order-tasks"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<sched::SchedDialect>();
  }

  LogicalResult run() {
    ModuleOp module = getOperation();
    lang::Settings settings(module);
    auto train = module.lookupSymbol<nn::ChainOp>("train");
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
    std::vector<StageOrder> orders = (*policy)->order(stages, *microbatches);
    auto report = [&] {
      InFlightDiagnostic diag = emitError(settings.planLine("pipeline"));
      diag.attachNote() << "in the order of schedule " << (*policy)->name;
      return diag;
    };
    if (failed(checkOrder(orders, stages, *microbatches, report)))
      return failure();

    SmallVector<int32_t> tasks;
    for (Task task : mergeOrders(orders, stages, *microbatches))
      tasks.append({static_cast<int32_t>(task.kind), task.stage, task.microbatch});
    OpBuilder b(train);
    auto program =
        sched::ProgramOp::create(b, train.getLoc(), "step", (*policy)->name, stages, *microbatches,
                                 tasks, DictionaryAttr(), IntegerAttr(), IntegerAttr());
    Block *body = b.createBlock(&program.getBody());
    if (failed(checkParts(*chain, program.isSplit())) || failed(checkCotangents(*chain)))
      return failure();
    auto counts = module.lookupSymbol<nn::ChainOp>("counts");
    train->moveBefore(body, body->end());
    if (counts)
      counts->moveBefore(body, body->end());
    eraseUnused(module, *chain, program.isSplit());
    return success();
  }

  void runOnOperation() final {
    if (failed(run()))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> tplan::schedule::createOrderTasksPass() {
  return std::make_unique<OrderTasks>();
}
