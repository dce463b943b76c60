//===- KeepGathered.cpp - keep-gathered: weights stay from a forward to its backward ----===//
//
// Where a stage's backward always follows its forward at once, as on the last stage of 1F1B, what
// the forward's last layer has gathered is there when the backward begins with that layer. So the
// backward does not gather it again: less is sent, and nothing is waited for where the backward has
// no other work.
//
// One decision: it looks at gathers that `rotate-layers` has started, because these alone have
// memory of their own. What they gather lives from one section to the other, as long as it is used,
// so the peak of a rank, which is in the backward, stays where it was.
//
//===----------------------------------------------------------------------===//
#include "lib/Overlap/Functions.h"
#include "lib/Overlap/Overlap.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tplan::overlap {
#define GEN_PASS_DEF_KEEPGATHEREDPASS
#include "lib/Overlap/Passes.h.inc"
} // namespace tplan::overlap

using namespace mlir;
using namespace tplan;
using sched::AwaitOp;
using sched::CallOp;
using sched::ProgramOp;
using sched::RunOp;
using sched::SectionOp;
using sched::TaskKind;
using sched::Use;
using sched::ValueOp;

namespace {

/// A result of a gather: the instance of a weight, and what collectives make of it.
struct Gathered {
  Use weight;
  SmallVector<rt::CollectiveOp> collectives; // from the result back
  Use to;

  bool isLike(const Gathered &other) const {
    return weight.value == other.weight.value && weight.instance == other.weight.instance &&
           to.instance == other.to.instance &&
           llvm::equal(collectives, other.collectives, [](auto a, auto b) {
             return a->getAttrDictionary() == b->getAttrDictionary() &&
                    a->getResultTypes() == b->getResultTypes();
           });
  }
};

/// The gathers of a program that start in one of its sections, once.
std::vector<CallOp> gathersOf(SectionOp section) {
  std::vector<CallOp> gathers;
  section.walk([&](CallOp call) {
    auto run = call->getParentOfType<RunOp>();
    if (call.getStarted() && run && run.getTimes() == 1 && sched::isExchange(call.getFunction()))
      gathers.push_back(call);
  });
  return gathers;
}

/// What a call gathers; nothing where one of its results is made otherwise.
std::optional<std::vector<Gathered>> resultsOf(CallOp call) {
  std::vector<Gathered> all;
  rt::FuncOp func = call.getFunction();
  SmallVector<Use> uses = call.getUses();
  for (auto [number, to] : overlap::resultsOf(call)) {
    Gathered gathered{{}, {}, to};
    Value from = func.getBlock().getTerminator()->getOperand(number);
    while (auto collective = from.getDefiningOp<rt::CollectiveOp>()) {
      if (collective->getNumOperands() != 1)
        return std::nullopt;
      gathered.collectives.push_back(collective);
      from = collective->getOperand(0);
    }
    auto arg = dyn_cast<BlockArgument>(from);
    if (!arg || func.getArgRole(arg.getArgNumber()) != nn::Role::Param)
      return std::nullopt;
    gathered.weight = uses[arg.getArgNumber()];
    all.push_back(gathered);
  }
  return all;
}

/// The run of a section that computes something first, or last.
RunOp computingRun(SectionOp section, bool isLast) {
  RunOp found;
  for (auto run : section.getBody().getOps<RunOp>()) {
    auto calls = run.getBody().getOps<CallOp>();
    if ((isLast || !found) && llvm::any_of(calls, [](CallOp call) { return !call.getStarted(); }))
      found = run;
  }
  return found;
}

/// What a stage's forward leaves to the task that follows it, in the sections of both.
class KeptWeights {
public:
  KeptWeights(ProgramOp program, SectionOp forward, TaskKind kind, ArrayRef<SectionOp> backward)
      : program(program), forward(forward), kind(kind), backward(backward),
        last(computingRun(forward, /*isLast=*/true)) {
    for (SectionOp section : backward)
      if (RunOp run = computingRun(section, /*isLast=*/false))
        first.push_back(run);
  }
  void run();

private:
  ProgramOp program;
  SectionOp forward;
  TaskKind kind;                // of the backward
  ArrayRef<SectionOp> backward; // the last one may have a section of its own
  RunOp last;                   // of the forward
  SmallVector<RunOp> first;     // of each backward
  std::vector<Gathered> there;  // what the forward gathers
  llvm::SetVector<ValueOp> kept;
  using Values = llvm::MapVector<Value, Value>; // of the backward, and what is kept instead

  bool follows();
  Value find(const Gathered &like);
  std::optional<Values> valuesFor(CallOp gather);
  void drop(CallOp gather);
  void keep();
};

} // namespace

/// Whether the backward of each microbatch is the task after its forward.
bool KeptWeights::follows() {
  auto isMessage = [](sched::Task task) { return !sched::factsOf(task.kind).part; };
  auto tasks = llvm::to_vector(program.getTaskList());
  auto stage = static_cast<int32_t>(*forward.getStage());
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].kind != TaskKind::F || tasks[i].stage != stage)
      continue;
    const sched::Task *next = std::find_if_not(&tasks[i] + 1, tasks.end(), isMessage);
    if (next == tasks.end() || next->kind != kind || next->stage != stage ||
        next->microbatch != tasks[i].microbatch)
      return false;
  }
  return true;
}

/// Whether a value is read in these runs alone, and gathered in their sections.
static bool isUsedIn(Value value, ArrayRef<RunOp> runs) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    auto call = dyn_cast<CallOp>(user);
    bool gathers = call && call.getStarted();
    return llvm::any_of(runs, [&](RunOp run) {
      return gathers ? run->getParentOfType<SectionOp>() == user->getParentOfType<SectionOp>()
                     : run == user->getParentOfType<RunOp>();
    });
  });
}

/// Where the forward has the same weight in the same form.
Value KeptWeights::find(const Gathered &like) {
  for (const Gathered &each : there)
    if (ValueOp its = sched::valueOf(each.to.value);
        each.isLike(like) && its.getCount() == 1 &&
        (kept.contains(its) || isUsedIn(each.to.value, last)))
      return each.to.value;
  return {};
}

/// What is kept instead of all that a call gathers.
std::optional<KeptWeights::Values> KeptWeights::valuesFor(CallOp gather) {
  Value event = gather.getSignal()->value;
  for (Operation *user : event.getUsers())
    if (user != gather && !(isa<AwaitOp>(user) && cast<sched::Step>(user).getUses().size() == 1))
      return std::nullopt;
  auto wanted = resultsOf(gather);
  if (!wanted || wanted->empty()) // a sum that updates what it is given
    return std::nullopt;
  Values values;
  for (const Gathered &each : *wanted) {
    Value own = each.to.value, same = find(each);
    if (!same || sched::valueOf(own).getCount() != 1 || !isUsedIn(own, first))
      return std::nullopt;
    values[own] = same;
  }
  return values;
}

/// A gather is neither started nor awaited any more.
void KeptWeights::drop(CallOp gather) {
  Value event = gather.getSignal()->value;
  auto run = gather->getParentOfType<RunOp>();
  gather.erase();
  for (Operation *user : llvm::make_early_inc_range(event.getUsers()))
    user->erase();
  event.getDefiningOp()->erase();
  if (run.getBody().front().empty())
    run.erase();
}

/// What is kept is there from the forward of a microbatch to its backward; one slot does for all.
void KeptWeights::keep() {
  int64_t bytes = 0;
  for (ValueOp value : kept) {
    value.setLives(sched::Life::Microbatch);
    bytes += value.getTotal();
  }
  OpBuilder b(kept.front());
  SmallVector<int32_t> slotOf(program.getMicrobatches(), 0);
  auto family =
      sched::FamilyOp::create(b, program.getLoc(), (forward.getSymName() + ".kept").str(),
                              TaskKind::F, *forward.getStage(), kind, *forward.getStage(), 1, bytes,
                              slotOf, IntegerAttr(), DenseI32ArrayAttr(), DenseI64ArrayAttr());
  for (ValueOp value : kept)
    value.setFamilyAttr(FlatSymbolRefAttr::get(family));
}

void KeptWeights::run() {
  if (!last || !follows())
    return;
  for (CallOp gather : gathersOf(forward))
    if (auto results = resultsOf(gather))
      llvm::append_range(there, *results);
  llvm::MapVector<rt::FuncOp, std::vector<CallOp>> gathers; // of all sections
  for (SectionOp section : backward)
    for (CallOp gather : gathersOf(section))
      gathers[gather.getFunction()].push_back(gather);
  SmallVector<rt::FuncOp> dropped;
  for (auto &[func, calls] : gathers) {
    std::optional<Values> values = valuesFor(calls.front());
    bool areAlike = values && llvm::all_of(ArrayRef(calls).drop_front(), [&](CallOp call) {
                      std::optional<Values> its = valuesFor(call);
                      return its && llvm::equal(*its, *values);
                    });
    if (!areAlike)
      continue;
    llvm::for_each(calls, [&](CallOp call) { drop(call); });
    for (auto [own, other] : *values) {
      own.replaceAllUsesWith(other);
      own.getDefiningOp()->erase();
      kept.insert(sched::valueOf(other));
    }
    dropped.push_back(func);
  }
  if (kept.empty())
    return;
  sched::eraseUncalled(forward->getParentOfType<ModuleOp>(), dropped); // others may still call them
  keep();
}

namespace {
struct KeepGatheredPass : tplan::overlap::impl::KeepGatheredPassBase<KeepGatheredPass> {
  static SmallVector<SectionOp> sectionsOf(ProgramOp program, TaskKind kind, int64_t stage) {
    SmallVector<SectionOp> sections;
    for (auto section : program.getBody().getOps<SectionOp>())
      if (section.isOf(kind, stage))
        sections.push_back(section);
    return sections;
  }

  void runOnOperation() final {
    for (auto program : getOperation().getOps<ProgramOp>())
      for (int64_t stage = 0; stage < static_cast<int64_t>(program.getStages()); ++stage)
        for (TaskKind kind : {TaskKind::B, TaskKind::I}) {
          SmallVector<SectionOp> forward = sectionsOf(program, TaskKind::F, stage),
                                 backward = sectionsOf(program, kind, stage);
          if (forward.size() == 1 && !backward.empty())
            KeptWeights(program, forward.front(), kind, backward).run();
        }
  }
};
} // namespace
