//===- MergePairs.cpp - merge-pairs: F and a backward of two microbatches in one function ---===//
//
// Where the schedule does F of one microbatch and a backward of another together, neither needs the
// other. So what the one exchanges can run beside what the other computes: their layers are called
// in pairs, the first that F does with the first that the backward does, and so on, and the
// functions of a pair become one (MergedFunctions.h), whose calls `order-calls` then orders.
//
// One decision: a pair has a section of its own, beside those of its tasks. The schedule does most
// tasks of the steady state in pairs, and others alone; both forms compute the same.
//
//===----------------------------------------------------------------------===//
#include "lib/Cost/MemorySearch.h"
#include "lib/Overlap/Layers.h"
#include "lib/Overlap/MergedFunctions.h"
#include "lib/Overlap/Overlap.h"
#include "llvm/ADT/MapVector.h"

namespace tplan::overlap {
#define GEN_PASS_DEF_MERGEPAIRSPASS
#include "lib/Overlap/Passes.h.inc"
} // namespace tplan::overlap

using namespace mlir;
using namespace tplan;
using overlap::Periods;
using sched::CallOp;
using sched::ProgramOp;
using sched::RunOp;
using sched::SectionOp;
using sched::Task;
using sched::Use;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Whether all that two functions exchange is activations, and there are any. Weights and gradients
/// are hidden under whole layers, by `cut-exchanges`.
static bool exchangeActivations(rt::FuncOp forward, rt::FuncOp backward) {
  bool any = false;
  for (rt::FuncOp func : {forward, backward})
    for (auto op : func.getBlock().getOps<rt::CollectiveOp>()) {
      if (!op->hasAttr(dist::kActivation))
        return false;
      any = true;
    }
  return any;
}

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

namespace {

/// Two tasks that are done together, and by how much the second one's microbatch is later.
struct Pair {
  SectionOp forward, backward;
  int64_t shift;
};

/// The ops of a section in their order, a run turn by turn.
class Cursor {
public:
  Cursor(SectionOp section, int64_t shift) : shift(shift) {
    for (Operation &op : section.getBodyOps())
      ops.push_back(&op);
  }
  bool isDone() const { return next == ops.size(); }
  Operation *op() const { return ops[next]; }
  RunOp run() const { return isDone() ? RunOp() : dyn_cast<RunOp>(ops[next]); }
  int64_t left() const { return static_cast<int64_t>(RunOp(run()).getTimes()) - turn; }
  void pass(int64_t turns = 1) {
    turn += turns;
    if (!run() || left() == 0)
      ++next, turn = 0;
  }
  /// What a use of the run is in the next so many turns, by the number of the turn.
  Use inTurns(Use each, int64_t count) const;
  /// F comes before the backward of its microbatch, so one that is done with it is of another.
  bool isBackward() const { return shift != 0; }
  const int64_t shift; // of its microbatch

private:
  SmallVector<Operation *> ops;
  size_t next = 0;
  int64_t turn = 0; // of a run
};

class PairSection {
public:
  PairSection(Pair pair, overlap::MergedFunctions &functions)
      : pair(pair), program(pair.forward->getParentOfType<ProgramOp>()), functions(functions),
        b(program.getContext()), merged(functions),
        name((pair.forward.getSymName() + "." + pair.backward.getSymName()).str()) {
    // Pairs of the same tasks may have unlike shifts, in an order of the user's own.
    if (program.lookupSymbol<SectionOp>(name))
      name += std::to_string(pair.shift);
    merged.name = name;
  }
  /// Makes it where the tasks are independent and some of their functions become one.
  bool make();

private:
  Pair pair;
  ProgramOp program;
  overlap::MergedFunctions &functions;
  OpBuilder b;
  overlap::MergedCalls merged;
  std::string name;                 // of the section, and part of its values'
  llvm::DenseMap<Value, Value> own; // what the backward has in place of a value

  bool areIndependent();
  bool mergesAny();
  void separate();
  Use used(Use each, const Cursor &by) const;
  void clone(Operation *op, const Cursor &by, int64_t turns);
  void cloneTurns(Cursor &by, int64_t turns);
  void cloneSteps(Cursor &by);
  void pairTurns(Cursor &forward, Cursor &backward, int64_t turns);
  void merge(CallOp call, const Cursor &by, CallOp other, const Cursor &byOther, int64_t turns);
};

} // namespace

/// Turns are counted up, whichever way the run goes: of `x 5 descending`, the turns 1, 2 and 3 are
/// the periods 3, 2 and 1, which is period 3 - p of a new run; and its first period, 0, is in the
/// last turn.
Use Cursor::inTurns(Use each, int64_t count) const {
  RunOp of = run();
  auto times = static_cast<int64_t>(of.getTimes());
  MLIRContext *context = of.getContext();
  int64_t first = of.getDescending() ? times - turn - count : turn;
  Periods periods = Periods::of(context, first, count);
  if (of.getDescending() && count > 1)
    periods.at = getAffineConstantExpr(times - 1 - turn, context) - sched::periodOf(context);
  overlap::substitute(each, periods, times);
  if (each.border && of.getDescending())
    each.border = *each.border == sched::Border::First ? sched::Border::Last : sched::Border::First;
  return each;
}

/// Whether no step of the one touches what a step of the other writes. What is kept by microbatches
/// is of two of them, and what lives as long as a section becomes the backward's own.
bool PairSection::areIndependent() {
  llvm::DenseMap<Value, bool> touched; // and whether it is written
  bool areBoth = true;
  auto forEachUse = [](SectionOp section, auto visit) {
    section.walk([&](sched::Step step) {
      for (const Use &each : step.getUses())
        for (Value value : each.values())
          visit(value, each.writes);
    });
  };
  forEachUse(pair.forward, [&](Value value, bool writes) { touched[value] |= writes; });
  forEachUse(pair.backward, [&](Value value, bool writes) {
    auto known = touched.find(value);
    sched::Life lives = sched::valueOf(value).getLives();
    bool isApart = lives == sched::Life::Section || lives == sched::Life::Microbatch;
    if (known != touched.end() && !isApart && (writes || known->second))
      areBoth = false;
  });
  return areBoth;
}

static SmallVector<CallOp> callsOf(RunOp run) {
  return llvm::to_vector(run.getBody().getOps<CallOp>());
}

/// Plays both sections in pairs, and asks for the functions.
bool PairSection::mergesAny() {
  Cursor forward(pair.forward, 0), backward(pair.backward, pair.shift);
  bool any = false;
  while (!forward.isDone() && !backward.isDone()) {
    if (!overlap::isOfCalls(forward.run())) {
      forward.pass(forward.run() ? forward.left() : 1);
      continue;
    }
    if (!overlap::isOfCalls(backward.run())) {
      backward.pass(backward.run() ? backward.left() : 1);
      continue;
    }
    for (auto [call, other] : llvm::zip(callsOf(forward.run()), callsOf(backward.run())))
      any |= bool(functions.get(call.getFunction(), other.getFunction()));
    int64_t turns = std::min(forward.left(), backward.left());
    forward.pass(turns), backward.pass(turns);
  }
  return any;
}

/// The backward gets values of its own for what both have as long as a section.
void PairSection::separate() {
  llvm::DenseSet<Value> ofForward;
  pair.forward.walk([&](Operation *op) { ofForward.insert_range(op->getOperands()); });
  pair.backward.walk([&](Operation *op) {
    for (Value value : op->getOperands()) {
      sched::ValueOp memory = sched::valueOf(value);
      if (memory.getLives() != sched::Life::Section || !ofForward.contains(value) ||
          own.contains(value))
        continue;
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointAfter(memory);
      auto clone = cast<sched::ValueOp>(b.clone(*memory));
      sched::KeyAttr key = memory.getKey();
      StringRef of = key.getName() ? key.getName().getValue() : "";
      clone.setKeyAttr(sched::KeyAttr::get(b.getContext(), key.getKind(),
                                           b.getStringAttr(of + " of " + name), key.getOf(),
                                           key.getAxes()));
      own[value] = clone.getMemory();
    }
  });
}

/// A use of the section that a cursor is in, in this one.
Use PairSection::used(Use each, const Cursor &by) const {
  if (!by.isBackward())
    return each;
  for (Value *value : {&each.value, &each.outer})
    if (auto its = own.find(*value); *value && its != own.end())
      *value = its->second;
  // What does not belong to a microbatch, nor is one of the microbatches' instances, has no shift.
  auto isOfMicrobatch = [](Value value) {
    return value && sched::valueOf(value).getLives() == sched::Life::Microbatch;
  };
  if (isOfMicrobatch(each.value) || isOfMicrobatch(each.outer) ||
      each.instance.getResult(0).isFunctionOfSymbol(1))
    each.shift = by.shift;
  return each;
}

/// An op, of a run in the next so many turns.
void PairSection::clone(Operation *op, const Cursor &by, int64_t turns) {
  Operation *copy = b.clone(*op);
  if (auto call = dyn_cast<CallOp>(copy); call && call.getFrame() && by.isBackward())
    if (auto its = own.find(call.getFrame()); its != own.end())
      call.getFrameMutable().assign(its->second);
  sched::rewriteUses(cast<sched::Step>(copy), [&](Use &each) {
    each = used(turns ? by.inTurns(each, turns) : each, by);
    if (isa<sched::UnpackOp>(op))
      each.shift = by.shift; // the rows are those of the microbatch
  });
}

/// The next turns of a run as they are.
void PairSection::cloneTurns(Cursor &by, int64_t turns) {
  OpBuilder::InsertionGuard guard(b);
  RunOp run = by.run();
  overlap::beginRun(b, run, turns).setDescending(false);
  for (Operation &op : run.getBody().front())
    clone(&op, by, turns);
  by.pass(turns);
}

/// All ops up to the next run that calls functions.
void PairSection::cloneSteps(Cursor &by) {
  while (!by.isDone() && !overlap::isOfCalls(by.run())) {
    if (by.run()) {
      cloneTurns(by, by.left());
      continue;
    }
    clone(by.op(), by, 0);
    by.pass();
  }
}

/// One call for two.
void PairSection::merge(CallOp call, const Cursor &by, CallOp other, const Cursor &byOther,
                        int64_t turns) {
  auto in = [&](const Cursor &cursor) {
    return [this, &cursor, turns](Use each) { return used(cursor.inTurns(each, turns), cursor); };
  };
  merged.create(b, FusedLoc::get(b.getContext(), {call.getLoc(), other.getLoc()}), {call, in(by)},
                {other, in(byOther)});
}

/// The next turns of two runs, call by call.
void PairSection::pairTurns(Cursor &forward, Cursor &backward, int64_t turns) {
  OpBuilder::InsertionGuard guard(b);
  RunOp run = forward.run(), other = backward.run();
  RunOp both = overlap::beginRun(b, run, turns);
  both.setWhat((run.getWhat() + " with " + other.getWhat()).str());
  both.setTitle((run.getTitle() + " with " + other.getTitle()).str());
  SmallVector<CallOp> calls = callsOf(run), others = callsOf(other);
  for (size_t i = 0; i < std::max(calls.size(), others.size()); ++i) {
    bool areTwo = i < calls.size() && i < others.size();
    if (areTwo && functions.get(calls[i].getFunction(), others[i].getFunction())) {
      merge(calls[i], forward, others[i], backward, turns);
      continue;
    }
    if (i < calls.size())
      clone(calls[i], forward, turns);
    if (i < others.size())
      clone(others[i], backward, turns);
  }
  forward.pass(turns), backward.pass(turns);
}

bool PairSection::make() {
  if (!areIndependent() || !mergesAny())
    return false;
  separate();
  b.setInsertionPointAfter(pair.backward);
  auto section = SectionOp::create(b, pair.forward.getLoc(), name, pair.forward.getKindAttr(),
                                   pair.forward.getStageAttr());
  section.setWithAttr(pair.backward.getKindAttr());
  section.setWithStageAttr(pair.backward.getStageAttr());
  section.setShift(pair.shift);
  section.setHead(pair.forward.getHead() + pair.backward.getHead());
  b.createBlock(&section.getBody());
  Cursor forward(pair.forward, 0), backward(pair.backward, pair.shift);
  for (auto [from, by] : {std::pair(pair.forward, &forward), {pair.backward, &backward}})
    for (Operation &op : from.getHeadOps())
      clone(&op, *by, 0);
  while (true) {
    cloneSteps(forward), cloneSteps(backward);
    if (forward.isDone() || backward.isDone())
      break;
    pairTurns(forward, backward, std::min(forward.left(), backward.left()));
  }
  for (Cursor *rest : {&forward, &backward})
    while (!rest->isDone()) {
      cloneSteps(*rest);
      if (!rest->isDone())
        cloneTurns(*rest, rest->left());
    }
  return true;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Each pair of tasks once, with its shift.
static SmallVector<Pair> pairsOf(ProgramOp program) {
  llvm::MapVector<std::tuple<Operation *, Operation *, int64_t>, Pair> pairs;
  SmallVector<Task> tasks(program.getTaskList());
  for (size_t i = 0; i < tasks.size();) {
    ArrayRef<Task> asOne = sched::tasksAt(tasks, i);
    i += asOne.size();
    if (asOne.size() != 2 || asOne[0].kind != sched::TaskKind::F ||
        asOne[1].kind == sched::TaskKind::F)
      continue;
    Pair pair = {program.findSection(asOne[0].kind, asOne[0].stage),
                 program.findSection(asOne[1].kind, asOne[1].stage),
                 asOne[1].microbatch - asOne[0].microbatch};
    pairs.insert({{pair.forward, pair.backward, pair.shift}, pair});
  }
  SmallVector<Pair> all;
  for (auto &[key, pair] : pairs)
    all.push_back(pair);
  return all;
}

/// Where the plan names pairs and no others of `all`, something should come of it.
static void warnInVain(const lang::Settings &settings, bool anyTasks) {
  const std::optional<std::vector<lang::Overlap>> &kinds = settings.plan.overlap;
  if (!kinds || kinds->size() > lang::getMaxEnumValForOverlap())
    return;
  auto diag = emitWarning(settings.planLine("overlap")) << "`pairs` merges nothing: ";
  if (anyTasks)
    diag
        << "layers gain by it that exchange activations, as those of `shard .. over tp` do, and "
           "neither weights nor gradients, as with zero 2 and 3, and tasks that write nothing that "
           "the other one touches; found schedule ";
  else
    diag << "no F is done together with a backward that follows it; with 1f1b_pairs, dualpipe or "
            "dualpipe_v it is; found schedule ";
  diag << (settings.plan.pipeline == "from" ? "of a file" : settings.plan.pipeline);
}

namespace {
struct MergePairsPass : tplan::overlap::impl::MergePairsPassBase<MergePairsPass> {
  void runOnOperation() final {
    ModuleOp module = getOperation();
    lang::Settings settings(module);
    cost::Prices prices(settings, dist::meshOf(module));
    cost::OverlapChoice choice(module, settings, prices);
    if (!choice.starts(lang::Overlap::Pairs) || choice.keepsMemory())
      return markAllAnalysesPreserved();
    overlap::MergedFunctions functions(prices, choice,
                                       {lang::Overlap::Pairs, "backward", exchangeActivations});
    bool anyTasks = false, anyMerged = false;
    for (auto [i, program] : llvm::enumerate(module.getOps<ProgramOp>()))
      for (Pair pair : pairsOf(program)) {
        anyTasks = true;
        if (cost::roomOf(module, i).mergesPairs())
          anyMerged |= PairSection(pair, functions).make();
      }
    functions.eraseUncalled(module);
    if (!anyMerged)
      warnInVain(settings, anyTasks);
  }
};
} // namespace
