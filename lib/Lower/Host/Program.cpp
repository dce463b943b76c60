//===- Host/Program.cpp - entry points of the binary ----------------------===//
//
// A step walks the constant table of tasks: one function for each kind and
// stage, called with the microbatch. So code grows with runs and stages, never
// with microbatches or layers.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Host/Program.h"
#include "dialects/tplan/LossScale.h"
#include "lib/Lower/Host/Functions.h"
#include "lib/Lower/Host/Runs.h"
#include "lib/Lower/Host/StepKernels.h"
#include "lib/Schedule/Keys.h"
#include "llvm/ADT/StringSet.h"
#include <numeric>

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
  ProgramEmitter(HostBuilder &host, HostGroups &groups, HostCalls &calls, HostPlaces &places,
                 sched::ProgramOp program, const Chain &train, const Chain *counts)
      : host(host), groups(groups), calls(calls), places(places), program(program), train(train),
        counts(counts) {}

  EntryPoints emitAll();

private:
  HostBuilder &host;
  HostGroups &groups;
  HostCalls &calls;
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
  int64_t bytesAt(StringRef key);
  void launch(Value rank, Value arena, StringRef kernel, ArrayRef<Value> inputs,
              ArrayRef<std::string> outputs);
  SmallVector<Value> scaleStates(Value arena);
  void clear(Value rank, Value arena, StringRef key);
  void emitPass(StringRef name, bool withCounts);
  void emitPrepare();
  void emitCounts(Value rank, Value arena, Value microbatchNumber);
};

} // namespace

void ProgramEmitter::emitTask(TaskKind kind, int64_t stage) {
  host.loc = program.getLoc();
  host.begin(taskName(kind, stage), {host.ptr, host.ptr, host.i64});
  TaskContext context{host.argument(0), host.argument(1), host.argument(2), true};
  HostRuns runs(host, calls, places, train);
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
  using Function = int(tp_rank *, char *, int64_t);
  std::vector<Cell<Function *>> addresses;
  for (const std::string &function : functions)
    addresses.emplace_back(Address<Function>{function});
  Table<Function *> functionTable = host.array<Function *>("functions", addresses);
  Table<int32_t> whichTable = host.numbers("tasks", which);
  Table<int32_t> microbatchTable = host.numbers("microbatches", microbatches);
  auto entry = [&](const Table<int32_t> &table, Value i) -> Value {
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

int64_t ProgramEmitter::bytesAt(StringRef key) { return places.find(key).getTensor().getBytes(); }

/// Launches a kernel of step-kernels, from so many f64 to the values of these keys.
void ProgramEmitter::launch(Value rank, Value arena, StringRef kernel, ArrayRef<Value> inputs,
                            ArrayRef<std::string> outputs) {
  SmallVector<Value> args(inputs);
  SmallVector<int64_t> bytes(inputs.size(), 8);
  for (const std::string &key : outputs) {
    args.push_back(places.at(arena, key));
    bytes.push_back(bytesAt(key));
  }
  CallFacts call{kernel, program.getLoc(), TP_KERNEL};
  call.bytes = std::accumulate(bytes.begin(), bytes.end(), int64_t(0));
  calls.launch(rank, call, kernel, args, bytes, inputs.size(), host.number(1));
}

void ProgramEmitter::clear(Value rank, Value arena, StringRef key) {
  CallFacts call{"zero", program.getLoc(), TP_COPY};
  call.bytes = bytesAt(key);
  calls.zero(rank, call, places.at(arena, key), call.bytes);
}

void ProgramEmitter::emitCotangentsOfLosses(Value rank, Value arena) {
  forEachLoss(train.op, [&](StringRef loss, double) {
    std::string to = cotLossKey(loss), count = nn::countOf(loss);
    if (!places.has(to))
      return;
    SmallVector<Value> inputs;
    if (places.has(lossKey(count)))
      inputs.push_back(
          emitSum(rank, arena, counts ? *counts : train, count, places.at(arena, lossKey(count))));
    llvm::append_range(inputs, ArrayRef(scaleStates(arena)).take_front(1));
    launch(rank, arena, cotangentKernel(loss), inputs, to);
  });
}

/// Where the scale of the losses and its good steps are, if steps move it.
SmallVector<Value> ProgramEmitter::scaleStates(Value arena) {
  SmallVector<Value> states;
  for (StringRef state : {lang::kLossScale, lang::kGoodSteps})
    if (places.has(paramKey(state)))
      states.push_back(places.at(arena, paramKey(state)));
  return states;
}

/// Where the sum of what all ranks have at `place`, an f64, is: there, or in a place of its own.
Value ProgramEmitter::emitSum(Value rank, Value arena, const Chain &chain, StringRef name,
                              Value place) {
  dist::Axes axes = chain.pendingAxes(name);
  if (axes.empty())
    return place;
  rt::BlockShape one;
  one.whole = 1;
  Value sum = places.at(arena, sumKey(name));
  Record<tp_collective> what =
      collectiveOf(host, groups.numberOf(axes), TP_ALL_REDUCE, TP_SUM, host.f64, one);
  std::string title = "sum of " + name.str();
  CallFacts call{title, program.getLoc(), TP_COLLECTIVE};
  call.bytes = rt::bytesSent(dist::CollectiveKind::AllReduce, one, 8, groups.mesh.sizeOf(axes));
  calls.collectiveInTurn(rank, call, axes, {what, place, sum});
  return sum;
}

void ProgramEmitter::emitNorm(Value rank, Value arena, HostRuns &runs) {
  if (!places.has(normKey()))
    return;
  clear(rank, arena, normKey());
  TaskContext context{rank, arena, host.number(0), true};
  for (const Run &run : train.runs)
    runs.emit(run, Part::Norm, context);
  host.loc = program.getLoc();
  Value cell = places.at(arena, normKey(), host.number(runs.normCell()));
  SmallVector<Value> inputs = {emitSum(rank, arena, train, dist::kNormSum, cell)};
  llvm::append_range(inputs, scaleStates(arena));
  SmallVector<std::string> outputs = {scalarKey("norm"), gradNormKey()};
  if (places.has(kLossScaleMetric))
    outputs.append({scalarKey(lang::kUnscale), kLossScaleMetric.str(), kSkippedMetric.str()});
  if (inputs.size() > 1)
    outputs.append({paramKey(lang::kLossScale), paramKey(lang::kGoodSteps)});
  launch(rank, arena, kNormKernel, inputs, outputs);
}

void ProgramEmitter::emitCounts(Value rank, Value arena, Value number) {
  if (!counts)
    return;
  HostRuns runs(host, calls, places, *counts);
  TaskContext context{rank, arena, number, false};
  for (const Run &run : counts->runs)
    runs.emit(run, Part::Evaluate, context);
  host.loc = program.getLoc();
}

void ProgramEmitter::emitStep() {
  host.loc = program.getLoc();
  host.begin("tplan.step", {host.ptr, host.ptr});
  Value rank = host.argument(0), arena = host.argument(1);
  auto begin = [&](StringRef name) {
    for (std::string key : {lossKey(name), lossKey(nn::countOf(name))})
      if (places.has(key))
        clear(rank, arena, key);
  };
  forEachLoss(train.op, [&](StringRef name, double) { begin(name); });
  forEachMetric(train, begin);
  HostRuns runs(host, calls, places, train);
  TaskContext context{rank, arena, host.number(0), true};
  for (const Run &run : train.runs)
    runs.zeroContributions(run, context);
  host.loc = program.getLoc();
  if (counts)
    host.loop(program.getMicrobatches(), [&](Value m) { emitCounts(rank, arena, m); });
  emitCotangentsOfLosses(rank, arena);
  emitTasks(rank, arena);
  for (const Run &run : train.runs)
    runs.emit(run, Part::Reduce, context);
  host.loc = program.getLoc();
  host.call("tp_gradients_ready", {rank});
  emitNorm(rank, arena, runs);
  for (Part part : {Part::Update, Part::States})
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
  HostRuns runs(host, calls, places, train);
  for (const Run &run : train.runs)
    runs.emit(run, Part::Evaluate, {rank, arena, zero, false});
  host.end();
}

void ProgramEmitter::emitPrepare() {
  host.loc = program.getLoc();
  host.begin("tplan.prepare", {host.ptr, host.ptr});
  HostRuns runs(host, calls, places, train);
  for (const Run &run : train.runs)
    runs.emit(run, Part::Prepare, {host.argument(0), host.argument(1), host.number(0), true});
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
      rt::FuncOp func = callee.part(Part::States);
      for (unsigned i = 0, e = func ? func.getNumResults() : 0; i < e; ++i)
        if (StringRef name = func.getResultName(i);
            func.getResultRole(i) == Role::Metric && !nn::isCount(name) && seen.insert(name).second)
          body(name);
    }
}

std::optional<nn::Tensor> lower::logitsType(const Chain &train) {
  for (const Run &run : train.runs)
    for (const Callee &callee : run.callees)
      if (rt::FuncOp func = callee.part(Part::Evaluate))
        if (auto i = func.findResult(Role::Output, "logits"))
          return cast<nn::Tensor>(func.getResultTypes()[*i]);
  return std::nullopt;
}

EntryPoints lower::emitEntryPoints(HostBuilder &host, HostGroups &groups, HostCalls &calls,
                                   HostPlaces &places, sched::ProgramOp program, const Chain &train,
                                   const Chain *counts) {
  return ProgramEmitter(host, groups, calls, places, program, train, counts).emitAll();
}
