//===- Chain.cpp - a chain with its runs bound to functions ---------------===//
#include "lib/Schedule/Chain.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::schedule;
using nn::Role;

Part schedule::partOf(sched::TaskKind kind) {
  StringRef letter = sched::stringifyTaskKind(kind);
  for (const nn::PartFacts &facts : nn::kPartFacts)
    if (letter == StringRef(&facts.letter, 1))
      return facts.part;
  llvm_unreachable("a kind of task that runs no part");
}

std::optional<unsigned> schedule::findArg(rt::FuncOp func, Role role, StringRef name) {
  for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i)
    if (func.getArgRole(i) == role && func.getArgName(i) == name)
      return i;
  return std::nullopt;
}

std::optional<unsigned> schedule::findResult(rt::FuncOp func, Role role, StringRef name) {
  for (unsigned i = 0, e = func.getNumResults(); i < e; ++i)
    if (func.getResultRole(i) == role && func.getResultName(i) == name)
      return i;
  return std::nullopt;
}

std::optional<unsigned> schedule::inPlaceArg(rt::FuncOp func, unsigned result) {
  Role role = func.getResultRole(result);
  return nn::isInPlace(role) ? findArg(func, role, func.getResultName(result)) : std::nullopt;
}

SmallVector<std::pair<Part, rt::FuncOp>> Callee::existing() const {
  SmallVector<std::pair<Part, rt::FuncOp>> found;
  for (const nn::PartFacts &facts : nn::kPartFacts)
    if (rt::FuncOp func = part(facts.part))
      found.push_back({facts.part, func});
  return found;
}

bool Callee::reads(Part p, Role role, StringRef name) const {
  return part(p) && findArg(part(p), role, name);
}

bool Callee::gives(Part p, Role role, StringRef name) const {
  return part(p) && findResult(part(p), role, name);
}

nn::ParamOp Callee::paramOfState(StringRef state) const {
  for (size_t dot = state.rfind('.'); dot != StringRef::npos;
       dot = state.take_front(dot).rfind('.'))
    if (auto it = params.find(state.take_front(dot)); it != params.end())
      return it->second;
  return {};
}

bool Run::has(Part p) const {
  return llvm::any_of(callees, [&](const Callee &callee) { return callee.part(p) != nullptr; });
}

SmallVector<Reader> Chain::readersOf(Value value) const {
  SmallVector<Reader> readers;
  for (const Run &run : runs) {
    nn::RunOp op = run.op;
    for (auto [k, operand] : llvm::enumerate(op.getCarried()))
      if (operand == value)
        readers.push_back({run.index, true, static_cast<unsigned>(k)});
    for (auto [k, operand] : llvm::enumerate(op.getInvariants()))
      if (operand == value)
        readers.push_back({run.index, false, static_cast<unsigned>(k)});
  }
  return readers;
}

std::optional<std::pair<unsigned, unsigned>> Chain::producerOf(Value value) const {
  for (const Run &run : runs)
    for (auto [k, result] : llvm::enumerate(run.op->getResults()))
      if (result == value)
        return std::pair(run.index, static_cast<unsigned>(k));
  return std::nullopt;
}

dist::Axes Chain::pendingAxes(StringRef name) const {
  auto pending = const_cast<nn::ChainOp &>(op)->getAttrOfType<DictionaryAttr>(dist::kPending);
  auto axes = pending ? pending.getAs<ArrayAttr>(name) : ArrayAttr();
  return axes ? dist::axesOf(axes) : dist::Axes();
}

bool schedule::readsInput(const Callee &callee, Part p, unsigned k) {
  return callee.reads(p, Role::Carried, callee.carriedIn[k]);
}
bool schedule::readsCotangent(const Callee &callee, Part p, unsigned k) {
  return callee.reads(p, Role::CotCarried, callee.carriedOut[k]);
}
bool schedule::takesCotangent(const Callee &callee, unsigned k) {
  return llvm::any_of(callee.existing(), [&](auto part) {
    return nn::isBackward(part.first) && readsCotangent(callee, part.first, k);
  });
}

//===----------------------------------------------------------------------===//
// Binding
//===----------------------------------------------------------------------===//

/// The number in a name like `c3`: position of the run's operand.
static std::optional<unsigned> positionOf(StringRef name, char letter) {
  unsigned number;
  if (!name.consume_front(StringRef(&letter, 1)) || name.getAsInteger(10, number))
    return std::nullopt;
  return number;
}

/// (C1) of `nn.run`: the parts name the run's operands by position, and none beyond the last.
static LogicalResult checkName(nn::RunOp run, const Callee &callee, StringRef name, char letter,
                               size_t count) {
  std::optional<unsigned> position = positionOf(name, letter);
  if (position && *position < count)
    return success();
  return run.emitOpError("gives layer ")
         << callee.name << " " << count << " values called " << letter << "0, " << letter
         << "1, ...; it also takes " << name;
}

static LogicalResult checkNames(nn::RunOp run, const Callee &callee) {
  size_t carried = run.getCarried().size(), results = run.getResults().size();
  for (auto [p, func] : callee.existing()) {
    if (!nn::takesOperands(p))
      continue;
    for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i) {
      Role role = func.getArgRole(i);
      StringRef name = func.getArgName(i);
      bool invariant = role == Role::Invariant || role == Role::CotInvariant;
      size_t count = role == Role::Carried      ? carried
                     : role == Role::CotCarried ? results
                                                : run.getInvariants().size();
      if (!invariant && role != Role::Carried && role != Role::CotCarried)
        continue;
      if (failed(checkName(run, callee, name, invariant ? 'i' : 'c', count)))
        return failure();
    }
  }
  for (auto [p, func] : callee.existing())
    for (unsigned k = 0; nn::isForward(p) && k < results; ++k)
      if (!findResult(func, Role::Carried, callee.carriedOut[k]))
        return run.emitOpError("has more results than part ")
               << nn::stringifyPart(p) << " of layer " << callee.name
               << " carries out: " << results;
  return success();
}

/// (C2) of `nn.run`
static LogicalResult bindParam(nn::RunOp run, Callee &callee, StringRef name, Attribute symbol) {
  auto module = run->getParentOfType<ModuleOp>();
  auto ref = dyn_cast<FlatSymbolRefAttr>(symbol);
  auto param = ref ? module.lookupSymbol<nn::ParamOp>(ref.getValue()) : nn::ParamOp();
  if (!param)
    return run.emitOpError("binds ")
           << name << " of layer " << callee.name << " to no nn.param: " << symbol;
  int64_t count = param.getCount();
  int64_t needed = static_cast<int64_t>(run.getFirstInstance() + run.getTimes());
  if (count != 1 && count < needed)
    return run.emitOpError("needs ")
           << needed << " instances of " << ref << ", which has " << count;
  callee.params[name] = param;
  return success();
}

static LogicalResult bindParams(nn::RunOp run, Callee &callee, Attribute binding) {
  auto names = dyn_cast<DictionaryAttr>(binding);
  if (!names)
    return run.emitOpError("binds parameters by name, found ") << binding;
  for (NamedAttribute entry : names)
    if (failed(bindParam(run, callee, entry.getName(), entry.getValue())))
      return failure();
  return success();
}

/// (C1) and (C2) of `nn.run`: what a part takes and F carries out has the types of the run's
/// values, which their cotangents share, and of its parameters. Not asked of part `evaluate`,
/// whose batch has a bound.
static LogicalResult checkTypes(nn::RunOp run, Callee &callee) {
  for (auto [p, func] : callee.existing()) {
    if (nn::factsOf(p).runs != nn::PartRuns::EachMicrobatch)
      continue;
    for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i) {
      Role role = func.getArgRole(i);
      StringRef name = func.getArgName(i);
      Type takes = func.getArgumentTypes()[i], given = takes;
      if (role == Role::Carried)
        given = run.getCarried()[*positionOf(name, 'c')].getType();
      else if (role == Role::CotCarried)
        given = run->getResultTypes()[*positionOf(name, 'c')];
      else if (role == Role::Invariant || role == Role::CotInvariant)
        given = run.getInvariants()[*positionOf(name, 'i')].getType();
      else if (nn::ParamOp param = role == Role::Param ? callee.params.lookup(name) : nn::ParamOp())
        given = param.getType();
      if (given != takes)
        return run.emitOpError("gives part ")
               << nn::stringifyPart(p) << " of layer " << callee.name << " " << name << " as "
               << given << ", it takes " << takes;
    }
  }
  rt::FuncOp func = callee.part(Part::Forward);
  for (auto [name, takes] : llvm::zip(callee.carriedOut, run->getResultTypes()))
    if (std::optional<unsigned> i = func ? findResult(func, Role::Carried, name) : std::nullopt;
        i && func.getResultTypes()[*i] != takes)
      return run.emitOpError("takes ")
             << name << " of part forward of layer " << callee.name << " as " << takes << ", it is "
             << func.getResultTypes()[*i];
  return success();
}

static void nameValues(nn::RunOp run, Callee &callee) {
  auto fill = [](auto &names, char letter, size_t count) {
    for (size_t i = 0; i < count; ++i)
      names.push_back(letter + std::to_string(i));
  };
  fill(callee.carriedIn, 'c', run.getCarried().size());
  fill(callee.carriedOut, 'c', run.getResults().size());
  fill(callee.invariants, 'i', run.getInvariants().size());
}

static std::string titleOf(nn::RunOp run) {
  std::string title;
  for (auto ref : run.getCallees().getAsRange<FlatSymbolRefAttr>())
    title += (title.empty() ? "" : "+") + ref.getValue().str();
  int64_t layers = run.getTimes() * run.getCallees().size(), first = run.getFirstLayer();
  if (layers > 1)
    title += "[" + std::to_string(first) + ".." + std::to_string(first + layers - 1) + "]";
  return title;
}

FailureOr<Chain> schedule::readChain(nn::ChainOp op) {
  auto module = op->getParentOfType<ModuleOp>();
  nn::PartTable<rt::FuncOp> parts(module);
  Chain chain;
  chain.op = op;
  for (Operation &nested : op.getBody().front()) {
    if (auto input = dyn_cast<nn::InputOp>(nested)) {
      chain.inputs.push_back(input);
      continue;
    }
    auto runOp = dyn_cast<nn::RunOp>(nested);
    if (!runOp)
      return nested.emitOpError("does not belong into a chain");
    Run run;
    run.op = runOp;
    run.index = chain.runs.size();
    run.stage = runOp.getStage().value_or(0);
    run.title = titleOf(runOp);
    if (runOp.getParams().size() != runOp.getCallees().size())
      return runOp.emitOpError("needs a dictionary of parameters for each of its layers, found ")
             << runOp.getParams().size();
    for (auto [ref, binding] :
         llvm::zip(runOp.getCallees().getAsRange<FlatSymbolRefAttr>(), runOp.getParams())) {
      Callee callee;
      callee.name = ref.getValue();
      for (const nn::PartFacts &facts : nn::kPartFacts)
        callee.parts[static_cast<unsigned>(facts.part)] = parts.lookup(ref, facts.part);
      if (!callee.part(Part::Forward) && !callee.part(Part::Evaluate))
        return runOp.emitOpError("has neither part forward nor evaluate of layer ") << callee.name;
      nameValues(runOp, callee);
      if (failed(checkNames(runOp, callee)) || failed(bindParams(runOp, callee, binding)) ||
          failed(checkTypes(runOp, callee)))
        return failure();
      run.callees.push_back(std::move(callee));
    }
    chain.runs.push_back(std::move(run));
  }
  return chain;
}

FailureOr<Chains> schedule::readChains(sched::ProgramOp program) {
  FailureOr<Chain> train = readChain(program.getChain("train"));
  if (failed(train))
    return failure();
  Chains chains{std::move(*train), std::nullopt};
  if (nn::ChainOp op = program.getChain("counts")) {
    FailureOr<Chain> counts = readChain(op);
    if (failed(counts))
      return failure();
    chains.counts = std::move(*counts);
  }
  return chains;
}

void schedule::forEachFunction(sched::ProgramOp program, const Chains &chains,
                               llvm::function_ref<void(rt::FuncOp, int64_t)> visit) {
  auto visitRun = [&](const Run &run, Part part, int64_t times) {
    for (const Callee &callee : run.callees)
      if (rt::FuncOp func = callee.part(part))
        visit(func, times * run.times());
  };
  for (int64_t i = 0; i < program.getNumTasks(); ++i) {
    sched::Task task = program.getTask(i);
    for (const Run &run : chains.train.runs)
      if (run.stage == task.stage)
        visitRun(run, partOf(task.kind), 1);
  }
  if (chains.counts)
    for (const Run &run : chains.counts->runs)
      visitRun(run, Part::Evaluate, program.getMicrobatches());
  for (Part part : nn::kEndOfStepParts)
    for (const Run &run : chains.train.runs)
      visitRun(run, part, 1);
}
