//===- FormProgram.cpp - form-program: chains become sections and values ----===//
//
// What a step does between and after its tasks is decided here, and nowhere again: who reads this
// finds counts, cotangents of losses, reductions, norm, updates and states as ops in their order.
//
// One decision: the chains go. Which function takes what is looked up in them once, so that no
// phase after this one asks who produces or reads a value: the uses say it.
//
//===----------------------------------------------------------------------===//
#include "dialects/tplan/LossScale.h"
#include "lib/Schedule/Between.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Schedule/Sections.h"
#include "lib/Schedule/StepKernels.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::schedule;
using nn::Role;
using sched::ExecuteAttr;
using sched::KeyAttr;
using sched::SectionOp;
using sched::TaskKind;
using sched::Times;
using sched::use;
using sched::Use;
using sched::ValueKind;
using sched::ValueOp;

namespace {
class ProgramBuilder {
public:
  ProgramBuilder(sched::ProgramOp program, const Chains &chains)
      : program(program), chains(chains), values(program),
        b(OpBuilder::atBlockEnd(&program.getBody().front())) {}

  LogicalResult build();

private:
  sched::ProgramOp program;
  const Chains &chains;
  ProgramValues values;
  OpBuilder b; // of sections and entries, after all values
  Location loc = program.getLoc();

  SectionOp open(StringRef name, std::optional<TaskKind> kind = std::nullopt, int64_t stage = -1);
  void addTask(TaskKind kind, int64_t stage);
  void addRuns(StringRef name, const Chain &chain, Part part);
  void addBegin();
  void addCotangentsOfLosses();
  void addEnd();
  void addNorm(OpBuilder &into, SectionBuilder &section);
  Use sumOf(OpBuilder &into, const Chain &chain, StringRef name, Use part);
  SmallVector<Use> scaleStates();
  void addEntry(StringRef name, ArrayRef<std::pair<Times, StringRef>> sections);
};
} // namespace

SectionOp ProgramBuilder::open(StringRef name, std::optional<TaskKind> kind, int64_t stage) {
  auto section = SectionOp::create(
      b, loc, name, kind ? sched::TaskKindAttr::get(b.getContext(), *kind) : sched::TaskKindAttr(),
      kind ? b.getI64IntegerAttr(stage) : IntegerAttr());
  OpBuilder(section).createBlock(&section.getBody());
  return section;
}

void ProgramBuilder::addTask(TaskKind kind, int64_t stage) {
  std::string name = (sched::stringifyTaskKind(kind) + "." + Twine(stage)).str();
  SectionBuilder section(values, chains.train, open(name, kind, stage));
  std::vector<const Run *> ofStage;
  for (const Run &run : chains.train.runs)
    if (run.stage == stage)
      ofStage.push_back(&run);
  if (kind != TaskKind::F)
    std::reverse(ofStage.begin(), ofStage.end());
  for (const Run *run : ofStage)
    section.addRun(*run, partOf(kind));
}

void ProgramBuilder::addRuns(StringRef name, const Chain &chain, Part part) {
  SectionBuilder section(values, chain, open(name));
  for (const Run &run : chain.runs)
    section.addRun(run, part);
}

//===----------------------------------------------------------------------===//
// The step, but for its tasks
//===----------------------------------------------------------------------===//

static void forEachLoss(const Chain &chain, llvm::function_ref<void(StringRef)> body) {
  nn::ChainOp op = chain.op;
  if (DictionaryAttr losses = op.getLossesAttr())
    for (NamedAttribute loss : losses)
      body(loss.getName());
}

/// The metrics that the parts `states` give, by name, each once.
static void forEachMetric(const Chain &chain, llvm::function_ref<void(StringRef)> body) {
  llvm::SmallSetVector<StringRef, 4> names;
  for (const Run &run : chain.runs)
    for (const Callee &callee : run.callees) {
      rt::FuncOp func = callee.part(Part::States);
      for (unsigned i = 0, e = func ? func.getNumResults() : 0; i < e; ++i)
        if (func.getResultRole(i) == Role::Metric && !nn::isCount(func.getResultName(i)))
          names.insert(func.getResultName(i));
    }
  llvm::for_each(names, body);
}

/// Sums of the step begin at zero.
void ProgramBuilder::addBegin() {
  SectionOp section = open("begin");
  OpBuilder into = OpBuilder::atBlockEnd(&section.getBody().front());
  auto begin = [&](StringRef name) {
    for (std::string each : {name.str(), nn::countOf(name)})
      if (ValueOp value = values.find(ValueKind::Loss, each))
        sched::createStep<sched::ZeroOp>(into, loc, {}, {use(value.getMemory())});
  };
  forEachLoss(chains.train, begin);
  forEachMetric(chains.train, begin);
  SectionBuilder contributions(values, chains.train, section);
  for (const Run &run : chains.train.runs)
    contributions.zeroContributions(run);
}

/// What all ranks have together of an f64: where it is, or in a place of its own.
Use ProgramBuilder::sumOf(OpBuilder &into, const Chain &chain, StringRef name, Use part) {
  dist::Axes axes = chain.pendingAxes(name);
  if (axes.empty())
    return part;
  Use sum = use(values.find(ValueKind::Sum, name).getMemory());
  sched::createStep<sched::AllReduceOp>(into, loc, {part}, {sum},
                                        dist::arrayOf(b.getContext(), axes), name);
  return sum;
}

/// The scale of the losses and its good steps, if steps move it.
SmallVector<Use> ProgramBuilder::scaleStates() {
  SmallVector<Use> states;
  auto module = program->getParentOfType<ModuleOp>();
  for (StringRef state : {lang::kLossScale, lang::kGoodSteps})
    if (auto param = module.lookupSymbol<nn::ParamOp>(state))
      if (ValueOp value = values.find(scaleKey(param)))
        states.push_back(use(value.getMemory()));
  return states;
}

void ProgramBuilder::addCotangentsOfLosses() {
  SectionOp section = open("cotangents");
  OpBuilder into = OpBuilder::atBlockEnd(&section.getBody().front());
  forEachLoss(chains.train, [&](StringRef loss) {
    ValueOp to = values.find(ValueKind::LossCotangent, loss);
    std::string name = nn::countOf(loss);
    if (!to)
      return;
    SmallVector<Use> from;
    if (ValueOp count = values.find(ValueKind::Loss, name))
      from.push_back(
          sumOf(into, chains.counts ? *chains.counts : chains.train, name, use(count.getMemory())));
    llvm::append_range(from, ArrayRef(scaleStates()).take_front(1));
    sched::createStep<sched::LaunchOp>(into, loc, from, {use(to.getMemory())},
                                       StringRef(cotangentKernel(loss)));
  });
}

/// The squared norm of all gradients, and what becomes of the scale of the losses.
void ProgramBuilder::addNorm(OpBuilder &into, SectionBuilder &section) {
  ValueOp norm = values.find(ValueKind::StepNumber, kNorm);
  if (!norm)
    return;
  sched::createStep<sched::ZeroOp>(into, loc, {}, {use(norm.getMemory())});
  for (const Run &run : chains.train.runs)
    section.addRun(run, Part::Norm);
  into.setInsertionPointToEnd(into.getInsertionBlock());
  Use cell = use(norm.getMemory(), getAffineConstantExpr(section.normCell(), b.getContext()));
  SmallVector<Use> from = {sumOf(into, chains.train, dist::kNormSum, cell)}, to;
  SmallVector<Use> states = scaleStates();
  llvm::append_range(from, states);
  auto add = [&](ValueKind kind, StringRef name) {
    if (ValueOp value = values.find(kind, name))
      to.push_back(use(value.getMemory()));
  };
  add(ValueKind::Scalar, kNorm);
  add(ValueKind::StepNumber, kGradNorm);
  add(ValueKind::Scalar, lang::kUnscale);
  add(ValueKind::StepNumber, kLossScaleMetric);
  add(ValueKind::StepNumber, kSkippedMetric);
  llvm::append_range(to, states);
  sched::createStep<sched::LaunchOp>(into, loc, from, to, StringRef(kNormKernel));
}

/// After the last task: sums over ranks that are pending, the norm, updates, states.
void ProgramBuilder::addEnd() {
  SectionOp op = open("end");
  SectionBuilder section(values, chains.train, op);
  for (Part part : nn::kEndOfStepParts) {
    OpBuilder into = OpBuilder::atBlockEnd(&op.getBody().front());
    if (part == Part::Norm) {
      sched::ReadyOp::create(into, loc);
      addNorm(into, section);
      continue;
    }
    for (const Run &run : chains.train.runs)
      section.addRun(run, part);
  }
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

void ProgramBuilder::addEntry(StringRef name, ArrayRef<std::pair<Times, StringRef>> sections) {
  SmallVector<Attribute> items;
  for (auto [times, section] : sections)
    if (times == Times::Tasks || program.lookupSymbol(section))
      items.push_back(ExecuteAttr::get(
          b.getContext(), times,
          section.empty() ? FlatSymbolRefAttr() : FlatSymbolRefAttr::get(b.getContext(), section)));
  sched::EntryOp::create(b, loc, name, b.getArrayAttr(items));
}

LogicalResult ProgramBuilder::build() {
  const Chain &train = chains.train;
  if (failed(declarePersistent(values, chains, program.getMicrobatches())))
    return failure();
  declareSums(values, chains);
  declareScaling(values, program->getParentOfType<ModuleOp>());
  declareBetween(values, train, program.isSplit());
  if (chains.counts)
    declareBetween(values, *chains.counts, program.isSplit());

  addRuns("prepare", train, Part::Prepare);
  addBegin();
  if (chains.counts)
    addRuns("counts", *chains.counts, Part::Evaluate);
  addCotangentsOfLosses();
  llvm::SmallSetVector<std::pair<TaskKind, int64_t>, 8> kinds;
  for (int64_t i = 0, e = program.getNumTasks(); i < e; ++i)
    kinds.insert({program.getTask(i).kind, program.getTask(i).stage});
  for (auto [kind, stage] : kinds)
    addTask(kind, stage);
  addEnd();
  addRuns("evaluate", train, Part::Evaluate);

  addEntry("prepare", {{Times::Once, "prepare"}});
  addEntry("step", {{Times::Once, "begin"},
                    {Times::EachMicrobatch, "counts"},
                    {Times::Once, "cotangents"},
                    {Times::Tasks, ""},
                    {Times::Once, "end"}});
  addEntry("evaluate", {{Times::Once, "counts"}, {Times::Once, "evaluate"}});
  if (values.find(ValueKind::Output, "logits"))
    addEntry("predict", {{Times::Once, "evaluate"}});
  return success();
}

namespace {
struct FormProgram : PassWrapper<FormProgram, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FormProgram)
  StringRef getArgument() const final { return "form-program"; }

  LogicalResult run() {
    auto program = getOperation().lookupSymbol<sched::ProgramOp>("step");
    if (!program)
      return getOperation().emitError("there is no sched.program @step to form");
    FailureOr<Chains> chains = readChains(program);
    if (failed(chains) || failed(ProgramBuilder(program, *chains).build()))
      return failure();
    nn::ChainOp train = program.getChain("train");
    program.setLossesAttr(train.getLossesAttr());
    for (auto chain : llvm::make_early_inc_range(program.getBody().getOps<nn::ChainOp>()))
      chain.erase();
    return success();
  }

  void runOnOperation() final {
    if (failed(run()))
      signalPassFailure();
  }
};
} // namespace

std::unique_ptr<Pass> tplan::schedule::createFormProgramPass() {
  return std::make_unique<FormProgram>();
}
