//===- SchedSteps.cpp - entries, sections and the ops in them -------------===//
//
// Each check cites its constraint in Sched.td as (Cn).
//
//===----------------------------------------------------------------------===//
#include "dialects/sched/Sched.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::sched;

//===----------------------------------------------------------------------===//
// Entries, sections and runs
//===----------------------------------------------------------------------===//

LogicalResult EntryOp::verify() {
  auto program = cast<ProgramOp>((*this)->getParentOp());
  for (auto before : program.getBody().getOps<EntryOp>()) { // (C2)
    if (before == *this)
      break;
    if (before.getKind() == getKind())
      return emitOpError("is the second of its kind, found ") << stringifyEntryKind(getKind());
  }
  for (Attribute item : getSections()) { // (C1)
    auto execute = dyn_cast<ExecuteAttr>(item);
    if (!execute)
      return emitOpError("executes sections, found ") << item;
    bool named =
        execute.getSection() && program.lookupSymbol<SectionOp>(execute.getSection().getValue());
    if (named == (execute.getTimes() == Times::Tasks))
      return emitOpError("needs a section of the program, or the tasks, found ") << item;
  }
  return success();
}

static LogicalResult verifySteps(Operation *op, Block &body, bool runs) {
  for (Operation &nested : body)
    if (!isa<Step>(nested) && !(runs && isa<RunOp>(nested)))
      return op->emitOpError("holds the work of a step")
             << (runs ? " and runs" : "") << ", found " << nested.getName();
  return success();
}

void SectionOp::build(OpBuilder &b, OperationState &state, StringRef name, TaskKindAttr kind,
                      IntegerAttr stage) {
  build(b, state, b.getStringAttr(name), kind, stage, TaskKindAttr(), IntegerAttr(),
        b.getI64IntegerAttr(0), UnitAttr(), UnitAttr(), UnitAttr(), b.getI64IntegerAttr(0), {}, {});
}

LogicalResult SectionOp::verify() {
  auto program = cast<ProgramOp>((*this)->getParentOp());
  int64_t ops = llvm::range_size(getBody().front()), head = getHead();
  if (head < 0 || head > ops) // (C3)
    return emitOpError("issues some of its ops by themselves, which are ")
           << ops << ", found " << head;
  if ((getFirst() || getLast() || getEarly()) && !isOfTask()) // (C4)
    return emitOpError("stands for the section of some tasks, and is of none: ") << getSymName();
  if (getFirst() && getLast())
    return emitOpError("is of the first task or of the last, found both: ") << getSymName();
  if (isOfPair() && static_cast<int64_t>(getShift()) == 0) // (C5)
    return emitOpError("is of two microbatches, found a shift of 0: ") << getSymName();
  if (isOfPair() && (getKind() != TaskKind::F || getFirst() || getLast() || getEarly() || // (C5)
                     getWith() == TaskKind::F || !factsOf(*getWith()).isOrdered))
    return emitOpError("is of F and a backward that is done with it, found ")
           << (getKind() ? stringifyTaskKind(*getKind()) : "none") << " and "
           << stringifyTaskKind(*getWith());
  int64_t microbatches = program.getMicrobatches();
  if (auto of = getGraphOf(); of && static_cast<int64_t>(of->size()) != microbatches) // (C3)
    return emitOpError("names a graph for each microbatch, which are ")
           << microbatches << ", found " << of->size();
  return verifySteps(*this, getBody().front(), true);
}

llvm::iterator_range<Block::iterator> SectionOp::getHeadOps() {
  Block &body = getBody().front();
  return {body.begin(), std::next(body.begin(), getHead())};
}
llvm::iterator_range<Block::iterator> SectionOp::getBodyOps() {
  Block &body = getBody().front();
  return {std::next(body.begin(), getHead()), body.end()};
}

int64_t SectionOp::getNumGraphs() {
  if (!getGraph())
    return 0;
  auto of = getGraphOf();
  return of && !of->empty() ? *llvm::max_element(*of) + 1 : 1;
}

namespace {
/// Plays a section: a value that lives as long as the section must be written before it is read.
/// Frames need not be: they are room for functions, which write them first.
class SectionPlayer {
public:
  LogicalResult play(Operation &op) {
    auto run = dyn_cast<RunOp>(op);
    if (!run)
      return play(cast<Step>(op), usesOfSection(op), {});
    SmallVector<std::pair<Step, SmallVector<Use>>> steps;
    for (Operation &nested : run.getBody().front())
      if (SmallVector<Use> uses = usesOfSection(nested); !uses.empty())
        steps.push_back({cast<Step>(nested), std::move(uses)});
    // The first period, one that is at no border, and the last one: the others repeat these.
    int64_t last = static_cast<int64_t>(run.getTimes()) - 1;
    llvm::SmallSetVector<int64_t, 3> periods;
    for (int64_t period : {int64_t(0), std::min<int64_t>(1, last), last})
      periods.insert(run.getDescending() ? last - period : period);
    for (int64_t period : periods)
      for (auto &[step, uses] : steps)
        if (failed(play(step, uses, {period, last})))
          return failure();
    return success();
  }

private:
  llvm::SmallDenseMap<Operation *, bool> waiting; // of values: not written yet, and must be

  bool &isWaiting(Value value) {
    auto [found, isNew] = waiting.try_emplace(value.getDefiningOp());
    if (ValueOp memory = valueOf(value); isNew)
      found->second = memory.getLives() == Life::Section && memory.getOwner() != Owner::Frame;
    return found->second;
  }

  /// None where everything that the op uses has been written.
  SmallVector<Use> usesOfSection(Operation &op) {
    bool any = llvm::any_of(op.getOperands(), [&](Value value) { return isWaiting(value); });
    return any ? cast<Step>(op).getUses() : SmallVector<Use>();
  }

  LogicalResult play(Step step, ArrayRef<Use> uses, Period period) {
    auto memoryOf = [&](const Use &use) { return evaluate(use, period, /*microbatch=*/0).value; };
    for (const Use &use : uses)
      if (Value memory = memoryOf(use); use.reads && isWaiting(memory))
        return step->emitOpError(
                   "reads what lives as long as a section, and this one has not written: ")
               << valueOf(memory).getName();
    for (const Use &use : uses)
      if (use.writes)
        isWaiting(memoryOf(use)) = false;
    return success();
  }
};
} // namespace

/// (C2)
LogicalResult SectionOp::verifyRegions() {
  SectionPlayer player;
  for (Operation &op : getBody().front())
    if (failed(player.play(op)))
      return failure();
  return success();
}

LogicalResult RunOp::verify() {
  if (static_cast<int64_t>(getTimes()) < 1)
    return emitOpError("needs at least one period, found ") << static_cast<int64_t>(getTimes());
  return verifySteps(*this, getBody().front(), false);
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

/// The uses of an op that has them as values, instances, borders and the number that are read.
template <typename Op> static SmallVector<Use> usesOf(Op op) {
  SmallVector<Use> uses;
  unsigned next = 0;
  for (auto [i, map] : llvm::enumerate(op.getInstances())) {
    Use use{op.getValues()[next++], cast<AffineMapAttr>(map).getValue(), std::nullopt, {}};
    if (use.instance.getNumResults() > 1) { // whose microbatch
      use.shift = evaluate(use.instance.getResult(1), /*period=*/0, /*microbatch=*/0);
      use.instance = use.instance.getMajorSubMap(1);
    }
    if (int32_t border = op.getBorders()[i]; border >= 0) {
      use.border = static_cast<Border>(border);
      use.outer = op.getValues()[next++];
    }
    bool read = static_cast<int64_t>(i) < static_cast<int64_t>(op.getReads());
    use.reads = read, use.writes = !read;
    uses.push_back(use);
  }
  return uses;
}

/// The event, if the op is started.
template <typename Op> static std::optional<Use> signalOf(Op op) {
  return op.getStarted() ? std::optional(usesOf(op).back()) : std::nullopt;
}

/// Checks for a sum of the period and the microbatch, each times a number, and last a remainder.
static bool isInstance(AffineExpr instance, bool whole = true) {
  if (isa<AffineConstantExpr, AffineSymbolExpr>(instance))
    return true;
  auto binary = dyn_cast<AffineBinaryOpExpr>(instance);
  if (!binary)
    return false;
  auto right = dyn_cast<AffineConstantExpr>(binary.getRHS());
  switch (instance.getKind()) {
  case AffineExprKind::Add:
    return isInstance(binary.getLHS(), false) && isInstance(binary.getRHS(), false);
  case AffineExprKind::Mul:
    return right && isInstance(binary.getLHS(), false);
  case AffineExprKind::Mod:
    return whole && right && right.getValue() > 0 && isInstance(binary.getLHS(), false);
  default:
    return false;
  }
}

int64_t sched::evaluate(AffineExpr instance, int64_t period, int64_t microbatch) {
  if (auto constant = dyn_cast<AffineConstantExpr>(instance))
    return constant.getValue();
  if (auto symbol = dyn_cast<AffineSymbolExpr>(instance))
    return symbol.getPosition() == 0 ? period : microbatch;
  auto binary = cast<AffineBinaryOpExpr>(instance);
  int64_t left = evaluate(binary.getLHS(), period, microbatch),
          right = evaluate(binary.getRHS(), period, microbatch);
  return instance.getKind() == AffineExprKind::Add   ? left + right
         : instance.getKind() == AffineExprKind::Mul ? left * right
                                                     : llvm::mod(left, right);
}

UsedInstance sched::evaluate(const Use &use, Period period, int64_t microbatch) {
  microbatch += use.shift;
  if (use.border && period.number == (*use.border == Border::First ? 0 : period.last))
    return {use.outer, 0, microbatch};
  return {use.value, evaluate(use.instance.getResult(0), period.number, microbatch), microbatch};
}

void sched::forEachStep(SectionOp section, function_ref<void(Step, Period)> visit) {
  for (Operation &op : section.getBody().front()) {
    auto run = dyn_cast<RunOp>(op);
    if (!run) {
      visit(cast<Step>(op), {});
      continue;
    }
    auto last = static_cast<int64_t>(run.getTimes()) - 1;
    for (int64_t i = 0; i <= last; ++i)
      for (Operation &nested : run.getBody().front())
        visit(cast<Step>(nested), {run.getDescending() ? last - i : i, last});
  }
}

/// (U2): the instance exists in each period that uses it, and for each microbatch. Instances are
/// linear, with a remainder last, so it is enough to look at both ends.
static LogicalResult verifyInstance(Operation *op, const Use &use) {
  AffineMap map = use.instance;
  if (map.getNumDims() != 0 || map.getNumSymbols() != 2 || map.getNumResults() != 1 ||
      !isInstance(map.getResult(0)))
    return op->emitOpError("an instance is a sum of the period and the microbatch, each times a "
                           "number, or its remainder, found ")
           << AffineMapAttr::get(map);
  auto run = dyn_cast<RunOp>(op->getParentOp());
  int64_t first = 0, last = run ? static_cast<int64_t>(run.getTimes()) - 1 : 0;
  first += use.border == Border::First;
  last -= use.border == Border::Last;
  int64_t count = valueOf(use.value).getCount();
  auto program = op->getParentOfType<ProgramOp>();
  for (int64_t period : {first, last})
    for (int64_t microbatch : {int64_t(0), static_cast<int64_t>(program.getMicrobatches()) - 1}) {
      if (first > last)
        continue;
      int64_t instance = evaluate(map.getResult(0), period, microbatch);
      if (instance < 0 || instance >= count)
        return op->emitOpError("uses an instance that ")
               << valueOf(use.value).getName() << ", which has " << count
               << ", has not: " << instance;
    }
  return success();
}

template <typename Op> static LogicalResult verifyUses(Op op) {
  size_t borders = llvm::count_if(op.getBorders(), [](int32_t border) { return border >= 0; });
  if (op.getBorders().size() != op.getInstances().size() ||
      op.getValues().size() != op.getInstances().size() + borders) // (U1)
    return op.emitOpError("needs a value for each use and each border, found ")
           << op.getValues().size() << " for " << op.getInstances().size() << " and " << borders;
  auto section = op->template getParentOfType<SectionOp>();
  for (const Use &use : usesOf(op)) {
    if (use.shift && use.shift != static_cast<int64_t>(section.getShift())) // (C6) of the section
      return op.emitOpError("uses what is of another microbatch than its section's tasks: ")
             << valueOf(use.value).getName();
    if (failed(verifyInstance(op, use)))
      return failure();
  }
  return success();
}

template <typename Op> static void rewriteUsesOf(Op op, function_ref<void(Use &)> rewrite) {
  SmallVector<Use> uses = usesOf(op);
  llvm::for_each(uses, rewrite);
  auto reads = static_cast<size_t>(op.getReads());
  UseLists lists(ArrayRef(uses).take_front(reads), ArrayRef(uses).drop_front(reads));
  OpBuilder b(op);
  op.getValuesMutable().assign(lists.values);
  op.setInstancesAttr(lists.instancesAttr(b));
  op.setBorders(lists.borders);
}

void sched::rewriteUses(Step step, function_ref<void(Use &)> rewrite) {
  llvm::TypeSwitch<Operation *>(step)
      .Case<CallOp, AwaitOp, ZeroOp, UnpackOp, CopyOp, AllReduceOp, SendOp, ReceiveOp, LaunchOp>(
          [&](auto op) { rewriteUsesOf(op, rewrite); });
}

Operation *sched::bodyOpOf(Operation *op) {
  while (!isa<SectionOp>(op->getParentOp()))
    op = op->getParentOp();
  return op;
}

/// Whether a function keeps nothing in its frame: as `plan-frames` has found, or, before that, if
/// all that it makes is its caller's.
static bool leavesFrameEmpty(rt::FuncOp func) {
  if (auto bytes = func->getAttrOfType<IntegerAttr>(kFrame))
    return bytes.getInt() == 0;
  return llvm::all_of(func.getBlock().without_terminator(), [&](Operation &op) {
    return llvm::all_of(op.getResults(), [&](Value value) {
      return llvm::is_contained(func.getReturn().getOperands(), value);
    });
  });
}

static bool isEmptyFrame(Operation *op, Value value) {
  auto call = dyn_cast<CallOp>(op);
  rt::FuncOp func = call && call.getFrame() == value ? call.getFunction() : rt::FuncOp();
  return func && leavesFrameEmpty(func);
}

LogicalResult sched::verifyStep(Operation *op) { // (S1)
  auto step = cast<Step>(op);
  Operation *end = step.getCompletion();
  if (op == end || op->getParentOfType<SectionOp>() == end->getParentOfType<SectionOp>())
    return success();
  for (const Use &use : step.getUses())
    for (Value value : use.values())
      if (valueOf(value).getLives() == Life::Section && !isEmptyFrame(op, value))
        return op->emitOpError("is complete in another section, where it is gone: ")
               << valueOf(value).getName();
  return success();
}

rt::FuncOp CallOp::getFunction() {
  // Walkers ask often, and lookupSymbol takes each name out of a dictionary: 2 % of a compile.
  StringAttr callee = getCalleeAttr().getAttr();
  for (auto func : getOperation()->getParentOfType<ModuleOp>().getOps<rt::FuncOp>())
    if (func.getSymNameAttr() == callee)
      return func;
  return {};
}

SmallVector<Use> CallOp::getUses() {
  SmallVector<Use> uses = usesOf(*this);
  rt::FuncOp func = getFunction();
  for (unsigned i = 0, e = func ? func.getNumResults() : 0; i < e; ++i)
    if (std::optional<unsigned> arg = func.findUpdatedArg(i))
      uses[*arg].writes = true;
  if (Value frame = getFrame()) {
    Use room = use(frame);
    room.reads = room.writes = true;
    uses.push_back(room);
  }
  return uses;
}

std::string CallOp::getTitle() { return getCallee().str(); }
std::optional<Use> CallOp::getSignal() { return signalOf(*this); }

/// The last await of an event in the section that signals it; where there is none, the last one in
/// the only other section that has any.
static AwaitOp awaitOf(Step step, const Use &event) {
  auto section = step->getParentOfType<SectionOp>();
  AwaitOp here, elsewhere;
  bool isOnly = true;
  auto isLater = [](AwaitOp each, AwaitOp than) {
    return !than || bodyOpOf(than)->isBeforeInBlock(bodyOpOf(each));
  };
  for (Operation *user : event.value.getUsers()) {
    auto await = dyn_cast<AwaitOp>(user);
    if (!await)
      continue;
    auto its = await->getParentOfType<SectionOp>();
    isOnly &= its == section || !elsewhere || its == elsewhere->getParentOfType<SectionOp>();
    AwaitOp &last = its == section ? here : elsewhere;
    if (isLater(await, last))
      last = await;
  }
  return here ? here : isOnly ? elsewhere : AwaitOp();
}

/// Where a step that may be started is complete.
static Operation *completionOf(Step step) {
  std::optional<Use> signal = step.getSignal();
  AwaitOp await = signal ? awaitOf(step, *signal) : AwaitOp();
  return await ? await.getOperation() : step.getOperation();
}

/// What is started has an event, and that has its await.
static LogicalResult verifySignal(Step step) {
  std::optional<Use> signal = step.getSignal();
  if (signal && valueOf(signal->value).getOwner() != Owner::Event)
    return step->emitOpError("is started, and its last value is no event: ")
           << valueOf(signal->value).getName();
  if (signal && !awaitOf(step, *signal))
    return step->emitOpError("is started, and its event needs an await, in its section or in one "
                             "other: ")
           << valueOf(signal->value).getName();
  return success();
}

Operation *CallOp::getCompletion() { return completionOf(*this); }

LogicalResult CallOp::verify() {
  if (failed(verifyUses(*this)))
    return failure();
  return verifySignal(*this); // (C1), (C2)
}

SmallVector<Use> AwaitOp::getUses() { return usesOf(*this); }
LogicalResult AwaitOp::verify() {
  size_t uses = getInstances().size();
  bool areEvents = llvm::all_of(
      getValues(), [](Value value) { return valueOf(value).getOwner() == Owner::Event; });
  if (uses == 0 || getReads() != uses || !areEvents) // (C1)
    return emitOpError("reads events, and nothing else");
  return verifyUses(*this);
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto func = symbols.lookupSymbolIn<rt::FuncOp>(getOperation()->getParentOfType<ModuleOp>(),
                                                 getCalleeAttr());
  if (!func)
    return emitOpError("there is no function: ") << getCallee();
  SmallVector<Type> types(func.getArgumentTypes());
  for (unsigned i = 0, e = func.getNumResults(); i < e; ++i)
    if (!func.findUpdatedArg(i))
      types.push_back(func.getResultTypes()[i]);
  size_t values = getInstances().size() - getStarted();
  if (getReads() != func.getNumArguments() || types.size() != values) // (C1)
    return emitOpError("gives ") << values << " values, of them " << getReads()
                                 << " to read, to a function that has " << types.size()
                                 << ", of them " << func.getNumArguments() << " arguments";
  for (auto [use, type] : llvm::zip(usesOf(*this), types))
    for (Value value : use.values())
      if (ValueOp memory = valueOf(value);
          static_cast<int64_t>(memory.getBytes()) < nn::bytesOf(type))
        return emitOpError("gives ") << memory.getName() << " for " << nn::bytesOf(type)
                                     << " bytes, it has " << memory.getBytes();
  return success();
}

SmallVector<Use> ZeroOp::getUses() { return usesOf(*this); }
LogicalResult ZeroOp::verify() {
  if (getReads())
    return emitOpError("reads nothing, found values: ") << getReads();
  return verifyUses(*this);
}

SmallVector<Use> UnpackOp::getUses() { return usesOf(*this); }
LogicalResult UnpackOp::verify() {
  if (failed(verifyUses(*this)))
    return failure();
  bool two = getReads() == 1 && getValues().size() == 2;
  if (!two || !valueOf(getValues()[0]).getRows() || !valueOf(getValues()[1]).getType()) // (C1)
    return emitOpError("takes the rows of an input to a value with a type");
  return success();
}

SmallVector<Use> CopyOp::getUses() { return usesOf(*this); }
LogicalResult CopyOp::verify() {
  if (failed(verifyUses(*this)))
    return failure();
  bool two = getReads() == 1 && getValues().size() == 2;
  if (!two || valueOf(getValues()[0]).getBytes() != valueOf(getValues()[1]).getBytes()) // (C1)
    return emitOpError("copies one value to another of as many bytes");
  return success();
}

SmallVector<Use> AllReduceOp::getUses() { return usesOf(*this); }
Resource AllReduceOp::getResource() { return {getAxes()}; }
std::string AllReduceOp::getTitle() { return "sum of " + getOf().str(); }
LogicalResult AllReduceOp::verify() {
  if (failed(verifyUses(*this)))
    return failure();
  if (getReads() < 1 || getInstances().size() != 2 * getReads()) // (C1)
    return emitOpError("takes each value to another");
  for (Value value : getValues())
    if (int64_t bytes = valueOf(value).getBytes(); bytes != 8) // (C1)
      return emitOpError("adds up numbers of 8 bytes, found ") << bytes;
  return success();
}

SmallVector<Use> LaunchOp::getUses() { return usesOf(*this); }
std::string LaunchOp::getTitle() { return getKernel().str(); }
LogicalResult LaunchOp::verify() { return verifyUses(*this); }

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupSymbolIn<rt::KernelOp>(getOperation()->getParentOfType<ModuleOp>(),
                                                     getKernelAttr());
  if (!kernel) // `step-kernels` makes it, and `lower` code of it
    return success();
  SmallVector<Type> types(kernel.getFunctionType().getInputs());
  llvm::append_range(types, kernel.getFunctionType().getResults());
  if (getReads() != kernel.getNumInputs() || types.size() != getInstances().size()) // (C1)
    return emitOpError("gives ") << getInstances().size() << " values, of them " << getReads()
                                 << " to read, to a kernel that has " << types.size()
                                 << ", of them " << kernel.getNumInputs() << " inputs";
  for (auto [use, type] : llvm::zip(usesOf(*this), types))
    for (Value value : use.values())
      if (int64_t bytes = valueOf(value).getBytes(); bytes != nn::bytesOf(type)) // (C1)
        return emitOpError("gives ") << valueOf(value).getName() << " of " << bytes
                                     << " bytes to a kernel that takes " << nn::bytesOf(type);
  return success();
}

SmallVector<Use> ReadyOp::getUses() { return {}; }

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

static Resource channelOf(Operation *op, std::pair<int64_t, int64_t> ends) {
  auto module = op->getParentOfType<ModuleOp>();
  StringAttr axis = dist::meshOf(module).getStages();
  return {axis ? ArrayAttr::get(op->getContext(), {axis}) : ArrayAttr(), ends};
}

SmallVector<Use> sched::partsOf(Step message) {
  SmallVector<Use> uses = message.getUses();
  if (message.getSignal())
    uses.pop_back();
  return uses;
}

template <typename Op> static LogicalResult verifyMessage(Op op, bool sends) {
  if (op.getInstances().size() <= op.getStarted()) // (C1)
    return op.emitOpError("needs values to ") << (sends ? "read" : "write") << " and no others";
  size_t parts = partsOf(op).size();
  if (op.getReads() != (sends ? parts : 0)) // (C1)
    return op.emitOpError("needs values to ") << (sends ? "read" : "write") << " and no others";
  auto program = op->template getParentOfType<ProgramOp>();
  if (!program.getRank() || static_cast<int64_t>(*program.getRank()) == // (C2)
                                static_cast<int64_t>(op.getPeer()))
    return op.emitOpError("goes between programs of a pipeline, found the peer ")
           << static_cast<int64_t>(op.getPeer());
  return failed(verifyUses(op)) ? failure() : verifySignal(op); // (C4)
}

std::pair<int64_t, int64_t> SendOp::getEnds() {
  return {*getOperation()->getParentOfType<ProgramOp>().getRank(), getPeer()};
}
SmallVector<Use> SendOp::getUses() { return usesOf(*this); }
std::optional<Use> SendOp::getSignal() { return signalOf(*this); }
Operation *SendOp::getCompletion() { return completionOf(*this); }
Resource SendOp::getResource() { return channelOf(*this, getEnds()); }
std::string SendOp::getTitle() { return "send " + getOf().str(); }
LogicalResult SendOp::verify() { return verifyMessage(*this, /*sends=*/true); }

std::pair<int64_t, int64_t> ReceiveOp::getEnds() {
  return {getPeer(), *getOperation()->getParentOfType<ProgramOp>().getRank()};
}
SmallVector<Use> ReceiveOp::getUses() { return usesOf(*this); }
std::optional<Use> ReceiveOp::getSignal() { return signalOf(*this); }
Operation *ReceiveOp::getCompletion() { return completionOf(*this); }
Resource ReceiveOp::getResource() { return channelOf(*this, getEnds()); }
std::string ReceiveOp::getTitle() { return "receive " + getOf().str(); }
LogicalResult ReceiveOp::verify() { return verifyMessage(*this, /*sends=*/false); }
