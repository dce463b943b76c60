//===- FormProgram.cpp - form-program: chains become sections and values ----===//
//
// What a step does between and after its tasks is decided here, and nowhere else: readers of the
// program find counts, cotangents of losses, norm, updates and states as ops in their order. Sums
// over ranks of what one stage leaves are tasks (R), whose place order-tasks decides.
//
// One decision: the chains go. Which function takes what is looked up in them once, so that no
// phase after this one asks who produces or reads a value: the uses say it.
//
//===----------------------------------------------------------------------===//
#include "lib/Schedule/ChainValues.h"
#include "lib/Schedule/Messages.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Schedule/Sections.h"
#include "lib/Schedule/SharedWeights.h"
#include "lib/Schedule/StepKernels.h"
#include "llvm/ADT/SetVector.h"

namespace tplan::schedule {
#define GEN_PASS_DEF_FORMPROGRAMPASS
#include "lib/Schedule/Passes.h.inc"
} // namespace tplan::schedule

using namespace mlir;
using namespace tplan;
using namespace tplan::schedule;
using nn::Role;
using sched::EntryKind;
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
      : program(program), chains(chains), values(program), sharedWeights(values, chains.train),
        b(OpBuilder::atBlockEnd(&program.getBody().front())) {}

  LogicalResult build();

private:
  sched::ProgramOp program;
  const Chains &chains;
  ProgramValues values;
  SharedWeights sharedWeights;
  StepValues step = stepValues(program->getParentOfType<ModuleOp>());
  OpBuilder b; // of sections and entries, after all values
  Location loc = program.getLoc();
  const bool startsMessages = llvm::any_of(program.getTaskList(), [](sched::Task task) {
    return sched::awaitedBy(task.kind).has_value();
  });

  SectionOp open(StringRef name, std::optional<TaskKind> kind = std::nullopt, int64_t stage = -1);
  void addTask(TaskKind kind, int64_t stage);
  /// What a message carries, as a whole and as it goes.
  struct Transfer {
    struct Piece {
      Use whole, part;
      MessageParts parts;
    };
    int64_t peer;
    std::string title;
    SmallVector<Piece> pieces;
  };
  Transfer transferOf(TaskKind kind, int64_t stage);
  void gather(OpBuilder &into, const Transfer &transfer);
  void addTransfer(SectionOp section, TaskKind kind, int64_t stage, bool isStarted = false);
  void addAwait(SectionOp section, TaskKind message, int64_t stage);
  Use eventOf(TaskKind message, int64_t stage);
  void addCall(OpBuilder &into, rt::FuncOp func, Use from, Use to);
  void addRuns(SectionBuilder &section, const Chain &chain, Part part);
  void addEvaluation();
  void addBegin();
  void addCotangentsOfLosses();
  void addEnd();
  void addNorm(OpBuilder &into, SectionBuilder &section);
  SmallVector<Use> sumsOf(OpBuilder &into, const Chain &chain, StringRef name, ArrayRef<Use> parts);
  SmallVector<Use> usesOf(ArrayRef<sched::KeyAttr> keys);
  void addEntry(EntryKind kind, ArrayRef<std::pair<Times, StringRef>> sections);
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
  SectionOp op = open(name, kind, stage);
  if (sched::isMessage(kind))
    return addTransfer(op, kind, stage, startsMessages);
  if (std::optional<TaskKind> message = sched::awaitedBy(kind))
    return addAwait(op, *message, stage);
  std::vector<const Run *> ofStage;
  for (const Run &run : chains.train.runs)
    if (run.stage == stage && (kind != TaskKind::R || run.isReducedByTask()))
      ofStage.push_back(&run);
  if (kind != TaskKind::F)
    std::reverse(ofStage.begin(), ofStage.end());
  auto add = [&](SectionOp to, Part part) {
    SectionBuilder section(values, chains.train, to);
    for (const Run *run : ofStage)
      section.addRun(*run, part);
  };
  add(op, *sched::factsOf(kind).part);
  auto isApart = [](const Run *run) { return run->reducesEarlyStepsApart(); };
  if (kind != TaskKind::R || llvm::none_of(ofStage, isApart))
    return;
  SectionOp early = open(name + ".early", kind, stage);
  early.setEarly(true);
  add(early, Part::EarlyReduce);
}

/// What the tasks of one stage leave to those of the other. What ranks have alike may go in parts,
/// which live as long as a microbatch where messages are started.
ProgramBuilder::Transfer ProgramBuilder::transferOf(TaskKind kind, int64_t stage) {
  const Chain &train = chains.train;
  auto [forward, sends] = std::pair(sched::factsOf(kind).isForward, sched::factsOf(kind).sends);
  int64_t peer = sched::peerOf({kind, static_cast<int32_t>(stage), 0}, program.before(stage),
                               program.after(stage));
  int64_t before = std::min(stage, peer); // the border lies after this stage
  Transfer transfer = {peer,
                       (forward ? "F" : "B") + std::string(" of stage ") +
                           std::to_string(sends ? stage : peer),
                       {}};
  for (Value value : forward ? train.valuesAfter(before) : cotangentsBefore(train, before)) {
    Use whole = use(values.find(chainKey(train, value, /*cotangent=*/!forward)).getMemory());
    MessageParts parts = train.sentInParts.lookup(value);
    if (!parts.cut) {
      transfer.pieces.push_back({whole, whole, {}});
      continue;
    }
    ValueOp part =
        values.declare(sentKey(train, value, /*cotangent=*/!forward), sched::Owner::Chain,
                       startsMessages ? sched::Life::Microbatch : sched::Life::Section,
                       parts.cut.getResultTypes().front());
    transfer.pieces.push_back({whole, use(part.getMemory()), parts});
  }
  return transfer;
}

/// What comes in parts becomes whole.
void ProgramBuilder::gather(OpBuilder &into, const Transfer &transfer) {
  for (const Transfer::Piece &piece : transfer.pieces)
    if (piece.parts.gather)
      addCall(into, piece.parts.gather, piece.part, piece.whole);
}

/// A message, complete where it stands or started; no op where nothing goes.
void ProgramBuilder::addTransfer(SectionOp section, TaskKind kind, int64_t stage, bool isStarted) {
  OpBuilder into = OpBuilder::atBlockEnd(&section.getBody().front());
  Transfer transfer = transferOf(kind, stage);
  bool sends = sched::factsOf(kind).sends;
  SmallVector<Use> uses;
  for (const Transfer::Piece &piece : transfer.pieces) {
    uses.push_back(piece.part);
    if (sends && piece.parts.cut)
      addCall(into, piece.parts.cut, piece.whole, piece.part);
  }
  std::optional<Use> event;
  if (isStarted && !uses.empty())
    event = eventOf(kind, stage);
  addMessage(into, loc, program, sends, transfer.title, transfer.peer, uses, event);
  if (!sends && !isStarted)
    gather(into, transfer);
}

/// Where a message that a task has started is complete.
void ProgramBuilder::addAwait(SectionOp section, TaskKind message, int64_t stage) {
  OpBuilder into = OpBuilder::atBlockEnd(&section.getBody().front());
  Transfer transfer = transferOf(message, stage);
  if (transfer.pieces.empty())
    return;
  sched::createStep<sched::AwaitOp>(into, loc, {eventOf(message, stage)}, {});
  if (!sched::factsOf(message).sends)
    gather(into, transfer);
}

/// The event of a microbatch's message.
Use ProgramBuilder::eventOf(TaskKind message, int64_t stage) {
  std::string name = (sched::stringifyTaskKind(message) + "." + Twine(stage)).str();
  ValueOp events = values.declareEvents(name, program.getMicrobatches());
  return use(events.getMemory(), sched::microbatchOf(b.getContext()));
}

/// A call that makes one value of another.
void ProgramBuilder::addCall(OpBuilder &into, rt::FuncOp func, Use from, Use to) {
  ValueOp frame = values.declareFrame(func.getSymName());
  sched::createStep<sched::CallOp>(into, loc, {from}, {to}, func.getSymName(), frame.getMemory(),
                                   uint64_t(1), /*started=*/false);
}

void ProgramBuilder::addRuns(SectionBuilder &section, const Chain &chain, Part part) {
  for (const Run &run : chain.runs)
    if (run.does(part) && !(part == Part::Reduce && run.isReducedByTask()))
      section.addRun(run, part);
}

/// The stages one after the other, as F of a microbatch; those of the first chain, if there are
/// copies.
void ProgramBuilder::addEvaluation() {
  SectionOp op = open("evaluate");
  for (int64_t stage = 0; stage < program.getChainLength(); ++stage) {
    if (!program.holds(stage))
      continue;
    if (stage > 0 && !program.holds(stage - 1))
      addTransfer(op, TaskKind::ReceiveF, stage);
    SectionBuilder ofStage(values, chains.train, op);
    for (const Run &run : chains.train.runs)
      if (run.stage == stage)
        ofStage.addRun(run, Part::Evaluate);
    if (int64_t after = program.after(stage); after >= 0 && !program.holds(after))
      addTransfer(op, TaskKind::SendF, stage);
  }
}

//===----------------------------------------------------------------------===//
// The step, without its tasks
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
        if (nn::Label label = func.getResultLabel(i); label.role == Role::Metric && !label.counts)
          names.insert(label.name);
    }
  llvm::for_each(names, body);
}

/// Sums of the step begin at zero.
void ProgramBuilder::addBegin() {
  SectionOp section = open("begin");
  OpBuilder into = OpBuilder::atBlockEnd(&section.getBody().front());
  auto begin = [&](StringRef name) {
    for (ValueKind kind : {ValueKind::Loss, ValueKind::Count})
      if (ValueOp value = values.find(kind, name))
        for (int64_t part = 0, e = value.getCount(); part < e; ++part)
          sched::createStep<sched::ZeroOp>(
              into, loc, {}, {use(value.getMemory(), getAffineConstantExpr(part, b.getContext()))});
  };
  forEachLoss(chains.train, begin);
  forEachMetric(chains.train, begin);
  SectionBuilder contributions(values, chains.train, section);
  for (const Run &run : chains.train.runs)
    if (run.isHeld)
      contributions.zeroContributions(run);
  sharedWeights.zeroGradients(section);
}

/// The sums of some f64s over all ranks: in their own places where nothing is pending, else in
/// places made for them.
SmallVector<Use> ProgramBuilder::sumsOf(OpBuilder &into, const Chain &chain, StringRef name,
                                        ArrayRef<Use> parts) {
  dist::Axes axes = pendingAxes(program, chain, name);
  if (axes.empty())
    return SmallVector<Use>(parts);
  Value sum = values.find(ValueKind::Sum, name).getMemory();
  SmallVector<Use> sums;
  for (int64_t i = 0, e = parts.size(); i < e; ++i)
    sums.push_back(use(sum, getAffineConstantExpr(i, b.getContext())));
  sched::createStep<sched::AllReduceOp>(into, loc, parts, sums, dist::arrayOf(b.getContext(), axes),
                                        name);
  return sums;
}

SmallVector<Use> ProgramBuilder::usesOf(ArrayRef<sched::KeyAttr> keys) {
  SmallVector<Use> uses;
  for (sched::KeyAttr key : keys)
    uses.push_back(use(values.find(key).getMemory()));
  return uses;
}

void ProgramBuilder::addCotangentsOfLosses() {
  SectionOp section = open("cotangents");
  OpBuilder into = OpBuilder::atBlockEnd(&section.getBody().front());
  forEachLoss(chains.train, [&](StringRef loss) {
    ValueOp to = values.find(ValueKind::LossCotangent, loss);
    if (!to)
      return;
    SmallVector<Use> from;
    if (ValueOp count = values.find(ValueKind::Count, loss))
      from = sumsOf(into, chains.counts ? *chains.counts : chains.train, nn::countOf(loss),
                    {use(count.getMemory())});
    if (ValueOp factor = values.find(step.factor))
      from.push_back(use(factor.getMemory()));
    sched::createStep<sched::LaunchOp>(into, loc, from, {use(to.getMemory())},
                                       StringRef(cotangentKernel(loss)));
  });
}

/// The squared norm of all gradients, and the states of the step. Each stage adds up its own, and
/// these are added in the order of the stages, on whichever rank they are: for a stage of another
/// rank this rank has zero.
void ProgramBuilder::addNorm(OpBuilder &into, SectionBuilder &section) {
  if (!values.find(normKey(program, 0)))
    return;
  std::vector<std::vector<const Run *>> runs(program.getChainLength());
  for (const Run &run : chains.train.runs)
    if (run.does(Part::Norm))
      runs[run.stage].push_back(&run);
  auto cells = [&](size_t stage) { return values.find(normKey(program, stage)).getMemory(); };
  SmallVector<Use> parts;
  for (auto [stage, ofStage] : llvm::enumerate(runs)) {
    int64_t cell = section.beginNorm(ofStage);
    sched::createStep<sched::ZeroOp>(
        into, loc, {}, {use(cells(stage), getAffineConstantExpr(cell, b.getContext()))});
    parts.push_back(use(cells(stage)));
  }
  for (ArrayRef<const Run *> ofStage : llvm::reverse(runs)) {
    section.beginNorm(ofStage);
    for (const Run *run : llvm::reverse(ofStage))
      section.addRun(*run, Part::Norm);
  }
  into.setInsertionPointToEnd(into.getInsertionBlock());
  SmallVector<Use> from = sumsOf(into, chains.train, dist::kNormSum, parts), to;
  SmallVector<Use> states = usesOf(step.states);
  llvm::append_range(from, states);
  for (ValueOp value :
       {values.find(ValueKind::Scalar, kNorm), values.find(ValueKind::StepNumber, kGradNorm)})
    to.push_back(use(value.getMemory()));
  llvm::append_range(to, usesOf(step.numbers));
  llvm::append_range(to, states);
  sched::createStep<sched::LaunchOp>(into, loc, from, to, StringRef(kNormKernel));
}

/// After the last task: sums over ranks of what several stages add to, the norm, updates, states.
void ProgramBuilder::addEnd() {
  SectionOp op = open("end");
  SectionBuilder section(values, chains.train, op);
  sharedWeights.addGradients(op);
  for (Part part : nn::kEndOfStepParts) {
    OpBuilder into = OpBuilder::atBlockEnd(&op.getBody().front());
    if (part == Part::Norm) {
      addNorm(into, section);
      continue;
    }
    if (part == Part::Update) // after the norm, which may be the first to wait for sums
      sched::ReadyOp::create(into, loc);
    addRuns(section, chains.train, part);
    if (part == Part::Update)
      sharedWeights.sendUpdated(op);
  }
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

void ProgramBuilder::addEntry(EntryKind kind, ArrayRef<std::pair<Times, StringRef>> sections) {
  SmallVector<Attribute> items;
  for (auto [times, section] : sections)
    if (times == Times::Tasks || program.lookupSymbol(section))
      items.push_back(ExecuteAttr::get(
          b.getContext(), times,
          section.empty() ? FlatSymbolRefAttr() : FlatSymbolRefAttr::get(b.getContext(), section)));
  sched::EntryOp::create(b, loc, kind, b.getArrayAttr(items));
}

/// Whether a stage of this rank or of another one has logits: all ranks take part in a prediction.
static bool givesOutput(const Chain &chain) {
  return llvm::any_of(chain.runs, [](const Run &run) {
    return llvm::any_of(run.callees, [](const Callee &callee) {
      rt::FuncOp func = callee.part(Part::Evaluate);
      for (unsigned i = 0, e = func ? func.getNumResults() : 0; i < e; ++i)
        if (func.getResultRole(i) == Role::Output)
          return true;
      return false;
    });
  });
}

LogicalResult ProgramBuilder::build() {
  const Chain &train = chains.train;
  if (failed(declarePersistent(values, chains)) || failed(sharedWeights.declare()))
    return failure();
  declareSums(values, chains);
  declareStepValues(values, step);
  declareChainValues(values, train);
  if (chains.counts)
    declareChainValues(values, *chains.counts);

  SectionOp prepare = open("prepare");
  SectionBuilder preparation(values, train, prepare);
  addRuns(preparation, train, Part::Prepare);
  sharedWeights.sendPrepared(prepare);
  addBegin();
  if (chains.counts) {
    SectionBuilder counts(values, *chains.counts, open("counts"));
    addRuns(counts, *chains.counts, Part::Evaluate);
  }
  addCotangentsOfLosses();
  llvm::SmallSetVector<std::pair<TaskKind, int64_t>, 8> kinds;
  for (int64_t i = 0, e = program.getNumTasks(); i < e; ++i)
    kinds.insert({program.getTask(i).kind, program.getTask(i).stage});
  for (auto [kind, stage] : kinds)
    addTask(kind, stage);
  addEnd();
  addEvaluation();

  addEntry(EntryKind::Prepare, {{Times::Once, "prepare"}});
  const std::pair<Times, StringRef> step[] = {{Times::Once, "begin"},
                                              {Times::EachMicrobatch, "counts"},
                                              {Times::Once, "cotangents"},
                                              {Times::Tasks, ""},
                                              {Times::Once, "end"}};
  addEntry(EntryKind::Step, step);
  if (llvm::any_of(train.runs, [](const Run &run) { return run.reducesEarlyStepsApart(); }))
    addEntry(EntryKind::EarlyStep, step);
  addEntry(EntryKind::Evaluate, {{Times::Once, "counts"}, {Times::Once, "evaluate"}});
  if (givesOutput(train))
    addEntry(EntryKind::Predict, {{Times::Once, "evaluate"}});
  return success();
}

namespace {
struct FormProgramPass : tplan::schedule::impl::FormProgramPassBase<FormProgramPass> {
  LogicalResult run() {
    SmallVector<sched::ProgramOp> programs(getOperation().getOps<sched::ProgramOp>());
    if (programs.empty())
      return getOperation().emitError("there is no sched.program to form");
    for (sched::ProgramOp program : programs)
      if (failed(run(program)))
        return failure();
    eraseMessages();
    return success();
  }

  /// Messages between stages that lie on one rank are none, nor are their functions called.
  void eraseMessages() {
    SmallVector<rt::FuncOp> ofMessages;
    for (auto func : getOperation().getOps<rt::FuncOp>())
      if (func.getPart() && nn::factsOf(*func.getPart()).runs == nn::PartRuns::Message)
        ofMessages.push_back(func);
    sched::eraseUncalled(getOperation(), ofMessages);
  }

  LogicalResult run(sched::ProgramOp program) {
    FailureOr<Chains> chains = readChains(program);
    if (failed(chains) || failed(ProgramBuilder(program, *chains).build()))
      return failure();
    nn::ChainOp train = program.getChain(nn::kTrainChain);
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
