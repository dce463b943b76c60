//===- DeferGathers.cpp - defer-gathers: new weights come when they are first read ----===//
//
// With ZeRO 1 and 2, and for the copies that a node keeps, an update gathers the rows that its
// ranks have computed, at the end of the step, where nothing is left to do meanwhile. Each copy is
// made of the masters again when the next step begins: the first forward of a stage starts the
// gathers of all its layers, and awaits each where the layer is first read. So they run beside the
// layers before it.
//
// One decision: what crosses the border of a step is nothing but the masters. Copies are stale from
// the update to the first forward, so whoever else reads them (an evaluation) prepares them first,
// which the runtime does, as before the first step. Not in pipelines: there the first forward of
// each stage is what the next one waits for, so gathers would have to begin before it.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/Parts.h"
#include "lib/Cost/OverlapChoice.h"
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

/// A loop that prepares layers, in the section of a task that first reads what it makes.
struct Loop {
  CallOp call;
  RunOp run;
  SectionOp reader;
  llvm::MapVector<Value, AffineMap> copies; // that are gathered, by the instance of a period
};

/// An update, and which of its results need not be made.
using Updates = llvm::MapVector<rt::FuncOp, llvm::BitVector>;

} // namespace

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static int64_t instanceOf(AffineMap map, int64_t period) {
  return sched::evaluate(map.getResult(0), period, /*microbatch=*/0);
}

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

static void eraseUnused(rt::FuncOp func) {
  SmallVector<Operation *> ops;
  for (Operation &op : func.getBlock().without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty())
      op->erase();
}

static void eraseResults(rt::FuncOp func, const llvm::BitVector &results) {
  func.getReturn()->eraseOperands(results);
  (void)func.eraseResults(results);
  eraseUnused(func);
}

static rt::FuncOp cloneApart(rt::FuncOp func, StringRef suffix) {
  OpBuilder b(func);
  auto clone = cast<rt::FuncOp>(b.clone(*func));
  clone.setSymName((func.getSymName() + suffix).str());
  clone.removeLayerAttr();
  clone.removePartAttr();
  return clone;
}

/// Makes the two functions: `shards` gives for each copy what `gather` reads.
static void cut(Prepared &prepared) {
  rt::FuncOp func = prepared.func;
  MLIRContext *context = func.getContext();
  llvm::BitVector others = prepared.gathered;
  others.flip();
  auto label = [&](unsigned result) {
    return nn::attributesOf(context, {nn::Role::InFlight, func.getResultName(result)});
  };
  rt::FuncOp shards = prepared.shards = cloneApart(func, ".shards");
  for (unsigned i : prepared.gathered.set_bits()) {
    Value source = sourceOf(shards.getReturn().getOperand(i));
    (void)shards.insertResult(shards.getNumResults(), source.getType(), label(i));
    shards.getReturn()->insertOperands(shards.getReturn()->getNumOperands(), source);
  }
  llvm::BitVector all(shards.getNumResults());
  all.set(0, func.getNumResults());
  eraseResults(shards, all);

  rt::FuncOp gather = prepared.gather = cloneApart(func, ".gather");
  eraseResults(gather, others);
  unsigned numArgs = gather.getNumArguments(), at = numArgs;
  for (auto [result, i] : llvm::enumerate(prepared.gathered.set_bits())) {
    Value source = sourceOf(gather.getReturn().getOperand(result));
    (void)gather.insertArgument(at, source.getType(), label(i), source.getLoc());
    Operation *first = nullptr;
    for (Value value = gather.getReturn().getOperand(result); value != source;) {
      first = value.getDefiningOp();
      value = cast<rt::CollectiveOp>(first).getX();
    }
    first->replaceUsesOfWith(source, gather.getArgument(at++));
  }
  eraseUnused(gather);
  llvm::BitVector args(gather.getNumArguments());
  args.set(0, numArgs);
  (void)gather.eraseArguments(args);
}

//===----------------------------------------------------------------------===//
// What can be deferred
//===----------------------------------------------------------------------===//

static bool isReadBy(SectionOp section, const Loop &loop) {
  WalkResult found = section.walk([&](sched::Step step) {
    for (const Use &each : step.getUses())
      for (Value value : each.values())
        if (loop.copies.contains(value))
          return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return found.wasInterrupted();
}

/// The section of the step that first reads what a loop prepares, if that is a forward.
static SectionOp findReader(ProgramOp program, const Loop &loop) {
  SectionOp reader;
  for (auto entry : program.getBody().getOps<sched::EntryOp>())
    if (entry.getKind() == sched::EntryKind::Step)
      schedule::forEachExecution(entry, [&](SectionOp section, int64_t) {
        if (!reader && isReadBy(section, loop))
          reader = section;
      });
  return reader && reader.getKind() == sched::TaskKind::F ? reader : SectionOp();
}

/// The uses of the results of a call that update no argument, by the number of the result.
static SmallVector<std::pair<unsigned, Use>> resultsOf(CallOp call) {
  rt::FuncOp func = call.getFunction();
  SmallVector<Use> uses = call.getUses();
  SmallVector<std::pair<unsigned, Use>> results;
  unsigned next = func.getNumArguments();
  for (unsigned i = 0, e = func.getNumResults(); i < e; ++i)
    if (!func.findUpdatedArg(i))
      results.push_back({i, uses[next++]});
  return results;
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
  Updates updates;

  bool find(ProgramOp program);
  bool findUpdates(ProgramOp program, ArrayRef<Loop> loops);
  void start(ProgramOp program, Loop &loop, SectionOp section, OpBuilder &b);
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
    for (auto [i, each] : resultsOf(call))
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
    return llvm::all_of(loop.copies,
                        [&](const auto &each) { return written.contains(each.first); });
  });
}

bool Deferral::find(ProgramOp program) {
  auto prepare = program.lookupSymbol<SectionOp>("prepare");
  if (!prepare || program.isOfPipeline())
    return false;
  for (auto run : prepare.getBody().getOps<RunOp>())
    for (auto call : run.getBody().getOps<CallOp>()) {
      rt::FuncOp func = call.getFunction();
      llvm::BitVector gathered = gatheredBy(func);
      if (gathered.none())
        continue;
      Loop loop;
      loop.call = call, loop.run = run;
      AffineMap instance;
      for (auto [i, each] : resultsOf(call))
        if (gathered.test(i)) {
          if (each.outer || (instance && instance != each.instance))
            return false;
          instance = each.instance;
          loop.copies[each.value] = each.instance;
        }
      loop.reader = findReader(program, loop);
      if (!loop.reader)
        return false;
      prepared.try_emplace(func, Prepared{func, gathered, {}, {}});
      loops[program].push_back(std::move(loop));
    }
  return !loops.contains(program) || findUpdates(program, loops[program]);
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
  Awaits(SectionOp section, const Loop &loop, Value events)
      : section(section), loop(loop), events(events), b(section.getContext()) {
    RunOp run = loop.run;
    for (int64_t period = 0, e = run.getTimes(); period < e; ++period)
      pending.insert(instanceOf(loop.copies.begin()->second, period));
  }
  /// Among the ops after this one.
  void add(Operation *after) {
    for (Operation *op = after->getNextNode(); op && !pending.empty(); op = op->getNextNode())
      add(*op);
  }

private:
  SectionOp section;
  const Loop &loop;
  Value events;
  OpBuilder b;
  llvm::SetVector<int64_t> pending; // instances

  /// The instance of the copies that a step touches, in each period the same of all; or none, or
  /// several.
  SmallVector<AffineMap, 1> touchedBy(sched::Step step) const {
    SmallVector<AffineMap, 1> maps;
    for (const Use &each : step.getUses())
      if (loop.copies.contains(each.value) && !llvm::is_contained(maps, each.instance))
        maps.push_back(each.instance);
    return maps;
  }
  void awaitAll(Location loc) {
    SmallVector<Use> all;
    for (int64_t instance : pending)
      all.push_back(sched::use(events, getAffineConstantExpr(instance, b.getContext())));
    sched::createStep<sched::AwaitOp>(b, loc, all, {});
    pending.clear();
  }
  bool addIn(RunOp run);
  void add(Operation &op);
};

} // namespace

/// Before a step of a loop that in each period reads another layer; whether that is so.
bool Awaits::addIn(RunOp run) {
  for (auto step : run.getBody().getOps<sched::Step>()) {
    SmallVector<AffineMap, 1> maps = touchedBy(step);
    if (maps.empty())
      continue;
    int64_t times = run.getTimes();
    llvm::SetVector<int64_t> touched;
    if (maps.size() == 1)
      for (int64_t period = 0; period < times; ++period)
        touched.insert(instanceOf(maps.front(), period));
    if (static_cast<int64_t>(touched.size()) != times ||
        !llvm::all_of(touched, [&](int64_t each) { return pending.contains(each); }))
      return false;
    b.setInsertionPoint(step);
    Use event = sched::use(events, maps.front().getResult(0));
    sched::createStep<sched::AwaitOp>(b, step.getLoc(), {event}, {});
    for (int64_t each : touched)
      pending.remove(each);
    return true; // what comes after it in the period reads the same layer
  }
  return true;
}

void Awaits::add(Operation &op) {
  bool touches = false;
  op.walk([&](sched::Step step) { touches |= !touchedBy(step).empty(); });
  if (!touches)
    return;
  if (auto run = dyn_cast<RunOp>(op); run && addIn(run))
    return;
  b.setInsertionPoint(&op);
  awaitAll(op.getLoc());
}

/// The section of the first task of its kind and stage: a copy, where there are several.
static SectionOp firstOf(SectionOp section) {
  auto program = cast<ProgramOp>(section->getParentOp());
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

/// Calls the two functions for each layer, where the builder stands.
void Deferral::start(ProgramOp program, Loop &loop, SectionOp section, OpBuilder &b) {
  Prepared &its = prepared.find(loop.call.getFunction())->second;
  Location loc = loop.call.getLoc();
  SmallVector<Use> args = loop.call.getUses(), shards, copies;
  args.truncate(its.func.getNumArguments());
  AffineMap instance = loop.copies.begin()->second;
  int64_t events = 0, times = loop.run.getTimes();
  for (int64_t period = 0; period < times; ++period)
    events = std::max(events, 1 + instanceOf(instance, period));
  OpBuilder declared(*program.getBody().getOps<SectionOp>().begin());
  for (auto [i, each] : resultsOf(loop.call)) {
    if (!its.gathered.test(i))
      continue;
    copies.push_back(each);
    Type type = its.shards.getResultTypes()[shards.size()];
    std::string name = (section.getSymName() + " " + its.shards.getSymName() + " " +
                        its.func.getResultName(i) + " " + loop.run.getTitle())
                           .str();
    auto value = sched::ValueOp::create(
        declared, loc, sched::KeyAttr::get(b.getContext(), sched::ValueKind::InFlight, name),
        sched::Owner::InFlight, sched::Life::Section, nn::bytesOf(type), times);
    shards.push_back(sched::use(value.getMemory(), sched::periodOf(b.getContext())));
  }
  sched::ValueOp signals = schedule::ProgramValues(program).declareEvents(
      (section.getSymName() + " " + loop.run.getTitle() + " copies").str(), events);
  auto run = RunOp::create(b, loc, loop.run.getWhat(), loop.run.getTitle(), times, false);
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&run.getBody());
  sched::createStep<CallOp>(b, loc, args, shards, its.shards.getSymName(), loop.call.getFrame(),
                            loop.call.getLayers(), /*started=*/false);
  copies.push_back(sched::use(signals.getMemory(), instance.getResult(0)));
  sched::createStep<CallOp>(b, loc, shards, copies, its.gather.getSymName(), Value(),
                            loop.call.getLayers(), /*started=*/true);
  Awaits(section, loop, signals.getMemory()).add(run);
}

void Deferral::apply() {
  for (auto &[func, its] : prepared)
    cut(its);
  for (auto &[program, ofProgram] : loops) {
    llvm::MapVector<SectionOp, SectionOp> firsts;
    llvm::DenseMap<SectionOp, Operation *> begins;
    for (Loop &loop : ofProgram) {
      auto [known, isNew] = firsts.try_emplace(loop.reader);
      if (isNew) {
        known->second = firstOf(loop.reader);
        begins[known->second] = &*known->second.getBodyOps().begin(); // a graph, with its awaits
      }
      OpBuilder b(begins[known->second]);
      start(program, loop, known->second, b);
    }
    program.walk([&](CallOp call) {
      auto known = updates.find(call.getFunction());
      if (known == updates.end())
        return;
      SmallVector<Use> uses = call.getUses(), writes;
      for (auto [i, each] : resultsOf(call))
        if (!known->second.test(i))
          writes.push_back(each);
      uses.truncate(call.getFunction().getNumArguments());
      OpBuilder b(call);
      sched::createStep<CallOp>(b, call.getLoc(), uses, writes, call.getCallee(), call.getFrame(),
                                call.getLayers(), call.getStarted());
      call.erase();
    });
  }
  for (auto &[func, results] : updates)
    eraseResults(func, results);
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
