//===- DeferGathers.cpp - defer-gathers: new weights come when they are first read ----===//
//
// With ZeRO 1 and 2 in a lower precision, an update gathers the rows that its ranks have computed,
// at the end of the step, where nothing is left to do meanwhile. Each copy is made of the masters
// again when the next step begins: the first forward starts the gathers of all layers, and awaits
// each where the layer is first read. So they run beside the layers before it.
//
// One decision: what crosses the border of a step is nothing but the masters. Copies are stale from
// the update to the first forward, so whoever else reads them (an evaluation) prepares them first,
// which the runtime does, as before the first step. In a pipeline all gathers of a rank begin
// before its first task, also where that is a message: a later stage has them while it waits for
// it.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/Parts.h"
#include "lib/Cost/OverlapChoice.h"
#include "lib/Overlap/Functions.h"
#include "lib/Overlap/Overlap.h"
#include "lib/Schedule/Values.h"
#include "lib/Schedule/Walk.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

namespace tplan::overlap {
#define GEN_PASS_DEF_DEFERGATHERSPASS
#include "lib/Overlap/Passes.h.inc"
} // namespace tplan::overlap

using namespace mlir;
using namespace tplan;
using sched::CallOp;
using sched::ProgramOp;
using sched::RunOp;
using sched::SectionOp;
using sched::Use;

namespace {

/// A function that prepares the copies of a layer, and those of its results that are gathered.
struct Prepared {
  rt::FuncOp func;
  llvm::BitVector gathered;
  rt::FuncOp shards, gather; // what it becomes: what each rank makes of its rows, and the gathers
};

/// A loop that prepares layers, and the section of a task that first reads what it makes.
struct Loop {
  CallOp call;
  SectionOp reader;
  size_t place = 0;                   // of the first op of the section that reads it
  llvm::SetVector<Value> copies;      // that are gathered
  AffineMap instance;                 // of all of them, in a period
  llvm::SetVector<int64_t> instances; // in all periods
  RunOp run() const { return cast<RunOp>(call->getParentOp()); }
};

} // namespace

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// What is gathered to make a value, through collectives alone; null where nothing is.
static Value sourceOf(Value value) {
  bool any = false;
  for (; auto op = value.getDefiningOp<rt::CollectiveOp>(); any = true) {
    if (op.getKind() != dist::CollectiveKind::AllGather || op->hasAttr(dist::kActivation))
      return {};
    value = op.getX();
  }
  return any ? value : Value();
}

/// Which results of a function are copies of weights that it gathers.
static llvm::BitVector gatheredBy(rt::FuncOp func) {
  llvm::BitVector gathered(func.getNumResults());
  for (auto [i, value] : llvm::enumerate(func.getReturn().getOperands()))
    if (func.getResultRole(i) == nn::Role::Param && !func.findUpdatedArg(i) && sourceOf(value))
      gathered.set(i);
  return gathered;
}

/// Makes the two functions: `shards` gives for each copy what `gather` reads.
static void cut(Prepared &prepared) {
  rt::FuncOp func = prepared.func;
  MLIRContext *context = func.getContext();
  auto label = [&](unsigned result) {
    return nn::attributesOf(context, {nn::Role::InFlight, func.getResultName(result)});
  };
  rt::FuncOp shards = prepared.shards = overlap::cloneApart(func, ".shards");
  for (unsigned i : prepared.gathered.set_bits()) {
    Value source = sourceOf(shards.getReturn().getOperand(i));
    (void)shards.insertResult(shards.getNumResults(), source.getType(), label(i));
    shards.getReturn()->insertOperands(shards.getReturn()->getNumOperands(), source);
  }
  llvm::BitVector all(shards.getNumResults());
  all.set(0, func.getNumResults());
  overlap::eraseResults(shards, all);

  rt::FuncOp gather = prepared.gather = overlap::cloneApart(func, ".gather");
  unsigned numArgs = gather.getNumArguments();
  for (unsigned i : prepared.gathered.set_bits()) {
    Value source = sourceOf(gather.getReturn().getOperand(i));
    (void)gather.insertArgument(gather.getNumArguments(), source.getType(), label(i),
                                source.getLoc());
    Operation *first = gather.getReturn().getOperand(i).getDefiningOp();
    while (first->getOperand(0) != source)
      first = first->getOperand(0).getDefiningOp();
    first->setOperand(0, gather.getArguments().back());
  }
  llvm::BitVector others = prepared.gathered, args(gather.getNumArguments());
  others.flip();
  overlap::eraseResults(gather, others);
  args.set(0, numArgs);
  (void)gather.eraseArguments(args);
}

//===----------------------------------------------------------------------===//
// What can be deferred
//===----------------------------------------------------------------------===//

/// Whether a step touches what a loop prepares in any of its periods, the last of which is given.
static bool touches(sched::Step step, int64_t last, const Loop &loop) {
  for (const Use &each : step.getUses())
    for (int64_t period = 0; period <= last; ++period) {
      auto used = sched::evaluate(each, {period, last}, /*microbatch=*/0);
      if (loop.copies.contains(used.value) && loop.instances.contains(used.instance))
        return true;
    }
  return false;
}

/// The number of the first op of a section that touches what a loop prepares. A rank may hold
/// layers of several stages in one value.
static std::optional<size_t> firstTouch(SectionOp section, const Loop &loop) {
  for (auto [i, op] : llvm::enumerate(section.getBody().front())) {
    auto run = dyn_cast<RunOp>(op);
    int64_t last = run ? static_cast<int64_t>(run.getTimes()) - 1 : 0;
    WalkResult found = op.walk([&](sched::Step step) {
      return touches(step, last, loop) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (found.wasInterrupted())
      return i;
  }
  return std::nullopt;
}

/// The first section of these that a step executes, or null.
static SectionOp firstExecuted(ProgramOp program, llvm::function_ref<bool(SectionOp)> isOne) {
  SectionOp first;
  for (auto entry : program.getBody().getOps<sched::EntryOp>())
    if (entry.getKind() == sched::EntryKind::Step)
      schedule::forEachExecution(entry, [&](SectionOp section, int64_t) {
        if (!first && isOne(section))
          first = section;
      });
  return first;
}

/// Finds where a step first reads what a loop prepares, if that is a forward; whether it is.
static bool findReader(ProgramOp program, Loop &loop) {
  loop.reader = firstExecuted(program, [&](SectionOp section) {
    std::optional<size_t> place = firstTouch(section, loop);
    loop.place = place.value_or(0);
    return place.has_value();
  });
  return loop.reader && loop.reader.getKind() == sched::TaskKind::F;
}

namespace {

/// What of a module is deferred, in all of its programs alike.
class Deferral {
public:
  explicit Deferral(ModuleOp module) : module(module) {}
  bool find();
  void apply();

private:
  ModuleOp module;
  llvm::MapVector<rt::FuncOp, Prepared> prepared;
  llvm::MapVector<ProgramOp, std::vector<Loop>> loops;
  llvm::MapVector<rt::FuncOp, llvm::BitVector> updates; // and which results they need not make
  llvm::DenseMap<RunOp, RunOp> starts; // of loops of all kinds of layers in a run, as they are read

  bool find(ProgramOp program);
  bool findUpdates(ProgramOp program, ArrayRef<Loop> loops);
  void start(Loop &loop, Operation *before);
  void shorten(CallOp update, const llvm::BitVector &results);
};

} // namespace

/// Whether all that the loops prepare is written by updates, and by nothing else at the end of the
/// step, nor read there.
bool Deferral::findUpdates(ProgramOp program, ArrayRef<Loop> loops) {
  auto isDeferred = [&](Value value) {
    return llvm::any_of(loops, [&](const Loop &loop) { return loop.copies.contains(value); });
  };
  llvm::DenseSet<Value> written;
  WalkResult others = program.lookupSymbol<SectionOp>("end").walk([&](sched::Step step) {
    auto call = dyn_cast<CallOp>(step.getOperation());
    rt::FuncOp func = call ? call.getFunction() : rt::FuncOp();
    bool isUpdate = func && func.getPart() == nn::Part::Update;
    for (const Use &each : step.getUses())
      for (Value value : each.values())
        if (isDeferred(value) && (!isUpdate || each.reads))
          return WalkResult::interrupt();
    if (!isUpdate)
      return WalkResult::advance();
    llvm::BitVector gathered = gatheredBy(func);
    for (auto [i, each] : overlap::resultsOf(call))
      if (isDeferred(each.value)) {
        auto &known = updates.try_emplace(func, func.getNumResults()).first->second;
        if (!gathered.test(i))
          return WalkResult::interrupt();
        known.set(i);
        written.insert(each.value);
      }
    return WalkResult::advance();
  });
  return !others.wasInterrupted() && llvm::all_of(loops, [&](const Loop &loop) {
    return llvm::all_of(loop.copies, [&](Value each) { return written.contains(each); });
  });
}

bool Deferral::find(ProgramOp program) {
  auto prepare = program.lookupSymbol<SectionOp>("prepare");
  if (!prepare)
    return false;
  for (auto run : prepare.getBody().getOps<RunOp>())
    for (auto call : run.getBody().getOps<CallOp>()) {
      rt::FuncOp func = call.getFunction();
      llvm::BitVector gathered = gatheredBy(func);
      if (gathered.none())
        continue;
      Loop loop;
      loop.call = call;
      for (auto [i, each] : overlap::resultsOf(call))
        if (gathered.test(i)) {
          if (each.outer || (loop.instance && loop.instance != each.instance))
            return false;
          loop.instance = each.instance;
          loop.copies.insert(each.value);
        }
      for (int64_t period = 0, e = run.getTimes(); period < e; ++period)
        loop.instances.insert(
            sched::evaluate(loop.instance.getResult(0), period, /*microbatch=*/0));
      if (!findReader(program, loop))
        return false;
      prepared.try_emplace(func, Prepared{func, gathered, {}, {}});
      loops[program].push_back(std::move(loop));
    }
  if (!loops.contains(program))
    return true;
  std::vector<Loop> &its = loops[program]; // in the order in which a stage reads them
  llvm::stable_sort(its, [](auto &one, auto &other) { return one.place < other.place; });
  return findUpdates(program, its);
}

bool Deferral::find() {
  for (auto program : module.getOps<ProgramOp>())
    if (!find(program))
      return false;
  return !loops.empty();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {

/// Awaits, in the section of a first forward, each gather before the first step that reads what it
/// makes.
class Awaits {
public:
  Awaits(Loop &loop, Value events)
      : loop(loop), events(events), b(events.getContext()), pending(loop.instances) {}
  /// Among the ops of a section, from one on.
  void add(SectionOp section, Operation *from) {
    for (Operation *op = from; op; op = op->getNextNode())
      if (auto run = dyn_cast<RunOp>(op); reads(*op) && !(run && addIn(run)))
        awaitAll(op);
    awaitAll(nullptr, &section.getBody().front());
  }

private:
  Loop &loop;
  Value events;
  OpBuilder b;
  llvm::SetVector<int64_t> pending; // instances

  bool isOfLoop(const Use &use) const { return loop.copies.contains(use.value); }
  bool reads(Operation &op) const {
    WalkResult found = op.walk([&](sched::Step step) {
      return llvm::any_of(step.getUses(), [&](const Use &each) { return isOfLoop(each); })
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    return found.wasInterrupted();
  }
  bool addIn(RunOp run);
  void awaitAll(Operation *before, Block *end = nullptr);
};

} // namespace

/// Before the first step of a loop that reads a layer, where it reads another one in each period
/// and no gather of these is awaited yet, or all are; whether that is so.
bool Awaits::addIn(RunOp run) {
  sched::Step first;
  AffineMap instance;
  for (auto step : run.getBody().getOps<sched::Step>())
    for (const Use &each : step.getUses()) {
      if (!isOfLoop(each))
        continue;
      if (instance && instance != each.instance)
        return false;
      first = first ? first : step, instance = each.instance;
    }
  int64_t times = run.getTimes();
  llvm::SmallSetVector<int64_t, 8> touched;
  for (int64_t period = 0; period < times; ++period)
    touched.insert(sched::evaluate(instance.getResult(0), period, /*microbatch=*/0));
  auto isPending = [&](int64_t each) { return pending.contains(each); };
  if (llvm::none_of(touched, isPending))
    return true;
  if (static_cast<int64_t>(touched.size()) != times || !llvm::all_of(touched, isPending))
    return false;
  b.setInsertionPoint(first);
  sched::createStep<sched::AwaitOp>(b, first.getLoc(), {sched::use(events, instance.getResult(0))},
                                    {});
  pending.remove_if([&](int64_t each) { return touched.contains(each); });
  return true;
}

/// What is not awaited yet, before an op, or at the end of a block.
void Awaits::awaitAll(Operation *before, Block *end) {
  if (pending.empty())
    return;
  before ? b.setInsertionPoint(before) : b.setInsertionPointToEnd(end);
  SmallVector<Use> all;
  for (int64_t instance : pending)
    all.push_back(sched::use(events, getAffineConstantExpr(instance, b.getContext())));
  sched::createStep<sched::AwaitOp>(b, loop.call.getLoc(), all, {});
  pending.clear();
}

/// The section of the first task of its kind and stage: a copy, where there are several.
static SectionOp firstOf(SectionOp section) {
  auto program = cast<ProgramOp>(section->getParentOp());
  if (section.getFirst())
    return section;
  for (auto each : program.getBody().getOps<SectionOp>())
    if (each.getFirst() && each.getKind() == section.getKind() &&
        each.getStage() == section.getStage())
      return each;
  int64_t tasks = llvm::count_if(program.getTaskList(), [&](sched::Task task) {
    return task.kind == *section.getKind() &&
           task.stage == static_cast<int64_t>(*section.getStage());
  });
  if (tasks == 1)
    return section;
  OpBuilder b(section);
  b.setInsertionPointAfter(section);
  auto first = cast<SectionOp>(b.clone(*section));
  first.setSymName((section.getSymName() + ".first").str());
  first.setFirst(true);
  return first;
}

/// Calls the two functions for each layer, before an op, and awaits them in the section that reads
/// the layer.
void Deferral::start(Loop &loop, Operation *before) {
  Prepared &its = prepared.find(loop.call.getFunction())->second;
  CallOp call = loop.call;
  RunOp whole = loop.run();
  Location loc = call.getLoc();
  SectionOp reader = firstOf(loop.reader);
  bool isHere = before->getParentOp() == reader; // where the gathers are awaited
  schedule::ProgramValues values(cast<ProgramOp>(reader->getParentOp()));
  OpBuilder b(before);
  int64_t times = whole.getTimes(), numEvents = 1 + *llvm::max_element(loop.instances);
  // A run has a loop for each of its kinds of layers.
  std::string name =
      (reader.getSymName() + " " + whole.getTitle() + " copies by " + call.getCallee()).str();
  Value events = values.declareEvents(name, numEvents).getMemory();

  SmallVector<Use> args = call.getUses(), shards, copies;
  args.truncate(its.func.getNumArguments());
  for (auto [i, each] : overlap::resultsOf(call))
    if (its.gathered.test(i)) {
      Type type = its.shards.getResultTypes()[shards.size()];
      sched::ValueOp shard =
          values.declareInFlight((name + " " + its.func.getResultName(i)).str(), type, times, loc);
      if (!isHere)
        shard.setLives(sched::Life::Entry);
      shards.push_back(sched::use(shard.getMemory(), sched::periodOf(b.getContext())));
      copies.push_back(each);
    }
  copies.push_back(sched::use(events, loop.instance.getResult(0)));

  RunOp &run = starts[whole];
  if (!run) {
    run = RunOp::create(b, loc, whole.getWhat(), whole.getTitle(), times, /*descending=*/false);
    run.getBody().emplaceBlock();
  }
  b.setInsertionPointToEnd(&run.getBody().front());
  sched::createStep<CallOp>(b, loc, args, shards, its.shards.getSymName(), call.getFrame(),
                            call.getLayers(), /*started=*/false);
  // Gathers of a loop run one after the other, so they may share what is between two hops.
  Value between;
  if (llvm::any_of(its.gather.getBlock().getOps<rt::CollectiveOp>(), [](rt::CollectiveOp op) {
        return llvm::none_of(op.getResult().getUsers(), llvm::IsaPred<rt::ReturnOp>);
      })) {
    sched::ValueOp frame = values.declareFrame(name + " gathers");
    frame.setLives(sched::Life::Entry);
    between = frame.getMemory();
  }
  sched::createStep<CallOp>(b, loc, shards, copies, its.gather.getSymName(), between,
                            call.getLayers(), /*started=*/true);
  Awaits(loop, events).add(reader, isHere ? run->getNextNode() : &reader.getBody().front().front());
}

/// A call of an update without some of its results.
void Deferral::shorten(CallOp update, const llvm::BitVector &results) {
  SmallVector<Use> uses = update.getUses(), writes;
  for (auto [i, each] : overlap::resultsOf(update))
    if (!results.test(i))
      writes.push_back(each);
  uses.truncate(update.getFunction().getNumArguments());
  OpBuilder b(update);
  sched::createStep<CallOp>(b, update.getLoc(), uses, writes, update.getCallee(), update.getFrame(),
                            update.getLayers(), update.getStarted());
  update.erase();
}

void Deferral::apply() {
  for (auto &[func, its] : prepared)
    cut(its);
  for (auto &[program, ofProgram] : loops) {
    llvm::MapVector<int64_t, Operation *> begins; // where the gathers of a stage are started
    for (Loop &loop : ofProgram) {
      auto stage = static_cast<int64_t>(*loop.reader.getStage());
      auto [known, isNew] = begins.try_emplace(stage);
      if (isNew) { // in its graph, as awaits there are
        // What a rank first does for a later stage is a message.
        SectionOp first = firstExecuted(program, [&](SectionOp section) {
          return section.isOfTask() && static_cast<int64_t>(*section.getStage()) == stage;
        });
        known->second = &*firstOf(first).getBodyOps().begin();
      }
      start(loop, known->second);
    }
    program.walk([&](CallOp call) {
      if (auto known = updates.find(call.getFunction()); known != updates.end())
        shorten(call, known->second);
    });
  }
  for (auto &[func, results] : updates)
    overlap::eraseResults(func, results);
}

namespace {
struct DeferGathersPass : tplan::overlap::impl::DeferGathersPassBase<DeferGathersPass> {
  void runOnOperation() final {
    cost::OverlapChoice choice(getOperation());
    if (!choice.starts(lang::Overlap::Zero) || choice.keepsMemory())
      return markAllAnalysesPreserved();
    Deferral deferral(getOperation());
    if (deferral.find())
      deferral.apply();
  }
};
} // namespace
