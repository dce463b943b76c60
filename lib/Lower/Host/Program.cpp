//===- Host/Program.cpp - entry points of the binary ----------------------===//
//
// A step walks the constant table of tasks: one function for each kind and
// stage, called with the microbatch. So code grows with runs and stages, never
// with microbatches or layers.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Host/Program.h"
#include "dialects/tplan/Settings.h"
#include "lib/Lower/Host/Functions.h"
#include "lib/Lower/Host/Runs.h"
#include "lib/Lower/Host/StepKernels.h"
#include "lib/Schedule/Keys.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;
using namespace tplan::schedule;
using nn::Role;
using sched::TaskKind;

namespace {

std::string taskName(TaskKind kind, int64_t stage) {
  return "tplan.task." + sched::stringifyTaskKind(kind).str() + "." + std::to_string(stage);
}

class ProgramEmitter {
public:
  ProgramEmitter(HostBuilder &host, HostGroups &groups, HostPlaces &places,
                 sched::ProgramOp program, const Chain &train, const Chain *counts)
      : host(host), groups(groups), places(places), program(program), train(train), counts(counts) {
  }

  EntryPoints emitAll();

private:
  HostBuilder &host;
  HostGroups &groups;
  HostPlaces &places;
  sched::ProgramOp program;
  const Chain &train;
  const Chain *counts;

  void emitTask(TaskKind kind, int64_t stage);
  void emitStep();
  void emitTasks(Value rank, Value arena);
  void emitCotangentsOfLosses(Value rank, Value arena);
  void emitNorm(Value rank, Value arena, HostRuns &runs);
  Value emitSum(Value rank, Value arena, const Chain &chain, StringRef name, Value place);
  void launch(Value rank, StringRef kernel, ArrayRef<Value> args);
  void clear(Value rank, Value place);
  void emitPass(StringRef name, bool withCounts);
  void emitPrepare();
  void emitCounts(Value rank, Value arena, Value microbatchNumber);
};

} // namespace

void ProgramEmitter::emitTask(TaskKind kind, int64_t stage) {
  host.loc = program.getLoc();
  host.begin(taskName(kind, stage), {host.ptr, host.ptr, host.i64});
  TaskContext context{host.argument(0), host.argument(1), host.argument(2), true};
  HostRuns runs(host, places, train);
  std::vector<const Run *> ofStage;
  for (const Run &run : train.runs)
    if (run.stage == stage)
      ofStage.push_back(&run);
  if (kind != TaskKind::F)
    std::reverse(ofStage.begin(), ofStage.end());
  for (const Run *run : ofStage)
    runs.emit(*run, partOf(kind), context);
  host.end();
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

/// Calls the function of each task in the order of the table.
void ProgramEmitter::emitTasks(Value rank, Value arena) {
  SmallVector<int32_t> which, microbatches;
  int64_t stages = program.getStages();
  std::vector<std::string> functions;
  SmallVector<int32_t> caseOf(4 * stages, -1);
  for (int64_t i = 0, e = program.getNumTasks(); i < e; ++i) {
    sched::Task task = program.getTask(i);
    int32_t &number = caseOf[static_cast<int64_t>(task.kind) * stages + task.stage];
    if (number < 0) {
      number = functions.size();
      functions.push_back(taskName(task.kind, task.stage));
    }
    which.push_back(number);
    microbatches.push_back(task.microbatch);
  }
  SmallVector<Record> addresses;
  for (StringRef function : functions)
    addresses.push_back({Field::address(function)});
  std::string functionTable = host.recordsSymbol("functions", addresses);
  std::string whichTable = host.tableSymbol("tasks", which);
  std::string microbatchTable = host.tableSymbol("microbatches", microbatches);
  auto entry = [&](StringRef table, Value i) -> Value {
    Value place = host.offset(host.address(table), host.multiplyAdd(host.number(0), i, 4));
    return LLVM::SExtOp::create(host.b, host.loc, host.i64, host.load(host.i32, place));
  };
  host.loop(program.getNumTasks(), [&](Value i) {
    Value number = entry(whichTable, i), m = entry(microbatchTable, i);
    Value slot =
        host.offset(host.address(functionTable), host.multiplyAdd(host.number(0), number, 8));
    host.callPointer(host.load(host.ptr, slot), {rank, arena, m});
  });
}

/// Launches a kernel of step-kernels on single numbers.
void ProgramEmitter::launch(Value rank, StringRef kernel, ArrayRef<Value> args) {
  Value table = host.pointers(args.size());
  for (auto [i, arg] : llvm::enumerate(args))
    host.storePointer(arg, table, i);
  std::string call = callRecord(host, kernel, program.getLoc(), TP_KERNEL, 0, 8 * args.size());
  host.call("tp_launch", {rank, host.address(call), host.address(kernel), table, host.number(1)});
}

void ProgramEmitter::clear(Value rank, Value place) {
  std::string call = callRecord(host, "zero", program.getLoc(), TP_COPY, 0, 8);
  host.call("tp_zero", {rank, host.address(call), place, host.number(8)});
}

void ProgramEmitter::emitCotangentsOfLosses(Value rank, Value arena) {
  forEachLoss(train.op, [&](StringRef loss, double) {
    std::string to = cotLossKey(loss), count = "count." + loss.str();
    if (!places.has(to))
      return;
    SmallVector<Value> args;
    if (places.has(lossKey(count)))
      args.push_back(
          emitSum(rank, arena, counts ? *counts : train, count, places.at(arena, lossKey(count))));
    args.push_back(places.at(arena, to));
    launch(rank, cotangentKernel(loss), args);
  });
}

/// Where the sum of what all ranks have at `place`, an f64, is: there, or in a place of its own.
Value ProgramEmitter::emitSum(Value rank, Value arena, const Chain &chain, StringRef name,
                              Value place) {
  dist::Axes axes = chain.pendingAxes(name);
  if (axes.empty())
    return place;
  rt::BlockShape one;
  one.whole = 1;
  std::string what =
      host.recordsSymbol("collective", collectiveFields(host, groups.numberOf(axes), TP_ALL_REDUCE,
                                                        TP_SUM, host.f64, one));
  int64_t sent = rt::bytesSent(dist::CollectiveKind::AllReduce, one, 8, groups.mesh.sizeOf(axes));
  Value pointers = host.pointers(2), sum = places.at(arena, sumKey(name));
  host.storePointer(place, pointers, 0);
  host.storePointer(sum, pointers, 1);
  std::string call =
      callRecord(host, ("sum of " + name).str(), program.getLoc(), TP_COLLECTIVE, 0, sent);
  host.call("tp_collectives",
            {rank, host.address(call), host.address(what), host.number(1), pointers});
  return sum;
}

void ProgramEmitter::emitNorm(Value rank, Value arena, HostRuns &runs) {
  if (!places.has(normKey()))
    return;
  clear(rank, places.at(arena, normKey()));
  TaskContext context{rank, arena, host.number(0), true};
  for (const Run &run : train.runs)
    runs.emit(run, Part::N, context);
  host.loc = program.getLoc();
  Value cell = places.at(arena, normKey(), host.number(runs.normCell()));
  Value sum = emitSum(rank, arena, train, dist::kNormSum, cell);
  launch(rank, kNormKernel,
         {sum, places.at(arena, scalarKey("norm")), places.at(arena, gradNormKey())});
}

void ProgramEmitter::emitCounts(Value rank, Value arena, Value number) {
  if (!counts)
    return;
  HostRuns runs(host, places, *counts);
  TaskContext context{rank, arena, number, false};
  for (const Run &run : counts->runs)
    runs.emit(run, Part::E, context);
  host.loc = program.getLoc();
}

void ProgramEmitter::emitStep() {
  host.loc = program.getLoc();
  host.begin("tplan.step", {host.ptr, host.ptr});
  Value rank = host.argument(0), arena = host.argument(1);
  auto begin = [&](StringRef name) {
    for (std::string key : {lossKey(name), lossKey(("count." + name).str())})
      if (places.has(key))
        clear(rank, places.at(arena, key));
  };
  forEachLoss(train.op, [&](StringRef name, double) { begin(name); });
  forEachMetric(train, begin);
  HostRuns runs(host, places, train);
  TaskContext context{rank, arena, host.number(0), true};
  for (const Run &run : train.runs)
    runs.zeroContributions(run, context);
  host.loc = program.getLoc();
  if (counts)
    host.loop(program.getMicrobatches(), [&](Value m) { emitCounts(rank, arena, m); });
  emitCotangentsOfLosses(rank, arena);
  emitTasks(rank, arena);
  for (const Run &run : train.runs)
    runs.emit(run, Part::R, context);
  host.loc = program.getLoc();
  host.call("tp_gradients_ready", {rank});
  emitNorm(rank, arena, runs);
  for (Part part : {Part::U, Part::S})
    for (const Run &run : train.runs)
      runs.emit(run, part, context);
  host.end();
}

//===----------------------------------------------------------------------===//
// The other entry points
//===----------------------------------------------------------------------===//

/// Parts E of one microbatch, whose rows stand at the start of the inputs.
void ProgramEmitter::emitPass(StringRef name, bool withCounts) {
  host.loc = program.getLoc();
  host.begin(name, {host.ptr, host.ptr});
  Value rank = host.argument(0), arena = host.argument(1), zero = host.number(0);
  if (withCounts)
    emitCounts(rank, arena, zero);
  HostRuns runs(host, places, train);
  for (const Run &run : train.runs)
    runs.emit(run, Part::E, {rank, arena, zero, false});
  host.end();
}

void ProgramEmitter::emitPrepare() {
  host.loc = program.getLoc();
  host.begin("tplan.prepare", {host.ptr, host.ptr});
  HostRuns runs(host, places, train);
  for (const Run &run : train.runs)
    runs.emit(run, Part::P, {host.argument(0), host.argument(1), host.number(0), true});
  host.end();
}

EntryPoints ProgramEmitter::emitAll() {
  host.declare("tp_gradients_ready", {host.ptr});
  llvm::SmallDenseSet<std::pair<int, int64_t>> seen;
  for (int64_t i = 0, e = program.getNumTasks(); i < e; ++i) {
    sched::Task task = program.getTask(i);
    if (seen.insert({static_cast<int>(task.kind), task.stage}).second)
      emitTask(task.kind, task.stage);
  }
  emitStep();
  emitPrepare();
  emitPass("tplan.evaluate", true);
  EntryPoints entries{"tplan.prepare", "tplan.step", "tplan.evaluate", ""};
  if (logitsType(train)) {
    emitPass("tplan.predict", false);
    entries.predict = "tplan.predict";
  }
  return entries;
}

void lower::forEachMetric(const Chain &train, llvm::function_ref<void(StringRef)> body) {
  llvm::StringSet<> seen;
  for (const Run &run : train.runs)
    for (const Callee &callee : run.callees) {
      rt::FuncOp func = callee.part(Part::S);
      for (unsigned i = 0, e = func ? func.getNumResults() : 0; i < e; ++i)
        if (StringRef name = func.getResultName(i); func.getResultRole(i) == Role::Metric &&
                                                    !name.starts_with("count.") &&
                                                    seen.insert(name).second)
          body(name);
    }
}

std::optional<nn::Tensor> lower::logitsType(const Chain &train) {
  for (const Run &run : train.runs)
    for (const Callee &callee : run.callees)
      if (rt::FuncOp func = callee.part(Part::E))
        if (auto i = findResult(func, Role::Output, "logits"))
          return cast<nn::Tensor>(func.getResultTypes()[*i]);
  return std::nullopt;
}

EntryPoints lower::emitEntryPoints(HostBuilder &host, HostGroups &groups, HostPlaces &places,
                                   sched::ProgramOp program, const Chain &train,
                                   const Chain *counts) {
  return ProgramEmitter(host, groups, places, program, train, counts).emitAll();
}
