//===- Chain.cpp - a chain with its runs bound to functions ---------------===//
#include "lib/Schedule/Chain.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::schedule;
using nn::Role;

SmallVector<std::pair<Part, rt::FuncOp>> Callee::existing() const {
  SmallVector<std::pair<Part, rt::FuncOp>> found;
  for (const nn::PartFacts &facts : nn::kPartFacts)
    if (rt::FuncOp func = own(facts.part))
      found.push_back({facts.part, func});
  return found;
}

bool Callee::reads(Part p, Role role, unsigned position) const {
  rt::FuncOp func = part(p);
  return func && func.findArg(role, position);
}

bool Callee::gives(Part p, Role role, unsigned position) const {
  rt::FuncOp func = part(p);
  return func && func.findResult(role, position);
}

nn::ParamOp Callee::paramOf(const nn::Label &label) const {
  return params.lookup(label.slot ? label.slot.getParam() : label.name);
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

std::pair<int64_t, int64_t> Chain::stagesOf(Value value) const {
  auto producer = producerOf(value);
  int64_t first = producer ? runs[producer->first].stage : -1, last = first;
  for (const Reader &reader : readersOf(value)) {
    int64_t stage = runs[reader.run].stage;
    first = first < 0 ? stage : first;
    last = std::max(last, stage);
  }
  return {first, last};
}

SmallVector<Value> Chain::valuesAfter(int64_t stage) const {
  SmallVector<Value> values;
  for (const Run &run : runs)
    for (Value result : run.op->getResults())
      if (auto [first, last] = stagesOf(result); first <= stage && stage < last)
        values.push_back(result);
  return values;
}

int64_t Chain::partOfSum(const Run &run, StringRef name) const {
  auto found = stagesOfSums.find(name);
  return found == stagesOfSums.end() ? 0
                                     : llvm::find(found->second, run.stage) - found->second.begin();
}

dist::Axes Chain::pendingAxes(StringRef name) const {
  auto pending = op->getAttrOfType<DictionaryAttr>(dist::kPending);
  auto axes = pending ? pending.getAs<ArrayAttr>(name) : ArrayAttr();
  return axes ? dist::axesOf(axes) : dist::Axes();
}

bool schedule::readsInput(const Callee &callee, Part p, unsigned k) {
  return callee.reads(p, Role::Carried, k);
}
bool schedule::readsCotangent(const Callee &callee, Part p, unsigned k) {
  return callee.reads(p, Role::CotCarried, k);
}
bool schedule::takesCotangent(const Callee &callee, unsigned k) {
  return llvm::any_of(callee.existing(), [&](auto part) {
    return nn::isBackward(part.first) && readsCotangent(callee, part.first, k);
  });
}

//===----------------------------------------------------------------------===//
// Binding
//===----------------------------------------------------------------------===//

/// The types of the run's values that a part takes with this role, by position; for a cotangent
/// those of the results. Nothing for the other roles.
static std::optional<TypeRange> typesInRun(nn::RunOp run, Role role) {
  switch (role) {
  case Role::Carried:
    return TypeRange(run.getCarried().getTypes());
  case Role::CotCarried:
    return TypeRange(run->getResultTypes());
  case Role::Invariant:
  case Role::CotInvariant:
    return TypeRange(run.getInvariants().getTypes());
  default:
    return std::nullopt;
  }
}

/// (C1) of `nn.run`: what the parts take has a position among the run's values, and what they carry
/// out covers its results.
static LogicalResult checkPositions(nn::RunOp run, const Callee &callee) {
  for (auto [p, func] : callee.existing()) {
    if (!nn::takesOperands(p))
      continue;
    for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i) {
      nn::Label label = func.getArgLabel(i);
      std::optional<TypeRange> values = typesInRun(run, label.role);
      if (!values || (label.position && *label.position < values->size()))
        continue;
      InFlightDiagnostic diag = run.emitOpError("gives layer ")
                                << callee.name << " " << values->size() << " values of role "
                                << nn::stringifyRole(label.role) << "; part "
                                << nn::stringifyPart(p) << " also takes " << label.name;
      if (!label.position)
        diag.attachNote(func.getLoc())
            << "it has no nn.position, which says the number of the value";
      return diag;
    }
    for (unsigned k = 0, e = run->getNumResults(); nn::isForward(p) && k < e; ++k)
      if (!callee.gives(p, Role::Carried, k))
        return run.emitOpError("has more results than part ")
               << nn::stringifyPart(p) << " of layer " << callee.name << " carries out: " << e;
  }
  return success();
}

/// (C2) of `nn.run`
static LogicalResult bindParam(nn::RunOp run, const SymbolTable &symbols, Callee &callee,
                               StringRef name, Attribute symbol) {
  auto ref = dyn_cast<FlatSymbolRefAttr>(symbol);
  auto param = ref ? symbols.lookup<nn::ParamOp>(ref.getAttr()) : nn::ParamOp();
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

static LogicalResult bindParams(nn::RunOp run, const SymbolTable &symbols, Callee &callee,
                                Attribute binding) {
  auto names = dyn_cast<DictionaryAttr>(binding);
  if (!names)
    return run.emitOpError("binds parameters by name, found ") << binding;
  for (NamedAttribute entry : names)
    if (failed(bindParam(run, symbols, callee, entry.getName(), entry.getValue())))
      return failure();
  return success();
}

/// (C1) and (C2) of `nn.run`: what a part takes and `forward` carries out has the types of the
/// run's values, which their cotangents share, and of its parameters. Not asked of part `evaluate`,
/// whose batch has a bound.
static LogicalResult checkTypes(nn::RunOp run, Callee &callee) {
  for (auto [p, func] : callee.existing()) {
    if (nn::factsOf(p).runs != nn::PartRuns::EachMicrobatch)
      continue;
    for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i) {
      nn::Label label = func.getArgLabel(i);
      Type takes = func.getArgumentTypes()[i], given = takes;
      if (std::optional<TypeRange> values = typesInRun(run, label.role))
        given = (*values)[*label.position];
      else if (nn::ParamOp param =
                   label.role == Role::Param ? callee.paramOf(label) : nn::ParamOp())
        given = param.getType();
      if (given != takes)
        return run.emitOpError("gives part ")
               << nn::stringifyPart(p) << " of layer " << callee.name << " " << label.name << " as "
               << given << ", it takes " << takes;
    }
  }
  rt::FuncOp func = callee.part(Part::Forward);
  for (auto [k, takes] : llvm::enumerate(run->getResultTypes()))
    if (auto i = func ? func.findResult(Role::Carried, k) : std::nullopt;
        i && func.getResultTypes()[*i] != takes)
      return run.emitOpError("takes ")
             << func.getResultName(*i) << " of part forward of layer " << callee.name << " as "
             << takes << ", it is " << func.getResultTypes()[*i];
  return success();
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

//===----------------------------------------------------------------------===//
// What stages share
//===----------------------------------------------------------------------===//

static void insertSorted(SmallVectorImpl<int64_t> &stages, int64_t stage) {
  auto at = llvm::lower_bound(stages, stage);
  if (at == stages.end() || *at != stage)
    stages.insert(at, stage);
}

/// The parts of a gradient are added where the weight is one; where stages have unlike instances of
/// a list, all is summed in one memory.
SharedWeight::Stages SharedWeight::partsOfGradient() const {
  if (!updater || isUneven)
    return {};
  Stages parts = gradients;
  llvm::erase_if(parts, [&](int64_t stage) { return stage == updater; });
  return parts;
}

namespace {
/// A weight with the instances that one stage has of it, and what the stage does with them.
struct OfStage {
  sched::InstanceRange instances;
  std::optional<sched::InstanceRange> read{}; // by functions of microbatches
  bool reads = false, addsGradient = false, updates = false, prepares = false;
};
using StagesOfWeight = llvm::MapVector<int64_t, OfStage>;
} // namespace

static bool areEqual(sched::InstanceRange a, sched::InstanceRange b) {
  return a.first == b.first && a.count == b.count;
}

static sched::InstanceRange joined(sched::InstanceRange a, sched::InstanceRange b) {
  int64_t first = std::min(a.first, b.first);
  return {first, std::max(a.end(), b.end()) - first};
}

static void note(StagesOfWeight &stages, const Run &run, nn::ParamOp param, Part part, Role role,
                 bool isResult) {
  bool addsGradient = role == Role::CotParam && nn::isBackward(part);
  if (!addsGradient && role != Role::Param && role != Role::State)
    return;
  sched::InstanceRange mine = run.instances();
  if (param.getCount() == 1)
    mine = {0, 1};
  OfStage &of = stages.insert({run.stage, {mine}}).first->second;
  of.instances = joined(of.instances, mine);
  if (!addsGradient && nn::takesOperands(part))
    of.read = of.read ? joined(*of.read, mine) : mine;
  of.addsGradient |= addsGradient;
  of.reads |= !addsGradient;
  of.updates |= !addsGradient && isResult && part == Part::Update;
  of.prepares |= !addsGradient && isResult && part == Part::Prepare;
}

/// Adds the stage to those that have the same instances.
static void join(std::vector<SharedWeight> &weights, nn::ParamOp param, int64_t stage,
                 const OfStage &of) {
  auto found = llvm::find_if(weights, [&](const SharedWeight &weight) {
    return of.instances.first < weight.instances.end() &&
           weight.instances.first < of.instances.end();
  });
  if (found == weights.end()) {
    found = weights.insert(weights.end(), SharedWeight());
    found->param = param;
    found->instances = of.instances;
  } else if (!areEqual(found->instances, of.instances)) {
    found->isUneven = true;
    found->instances = joined(found->instances, of.instances);
  }
  if (of.read) {
    found->isUneven |= found->read && !areEqual(*found->read, *of.read);
    found->read = found->read ? joined(*found->read, *of.read) : *of.read;
  }
  if (of.reads)
    insertSorted(found->readers, stage);
  if (of.addsGradient)
    insertSorted(found->gradients, stage);
  if (of.updates)
    found->updater = stage;
  if (of.prepares && !found->preparer)
    found->preparer = stage;
}

/// Sums that several stages add to, and weights that several read.
static void findShared(Chain &chain) {
  llvm::MapVector<Operation *, StagesOfWeight> weights;
  struct Labels {
    SmallVector<nn::Label> args, results;
  };
  llvm::DenseMap<Operation *, Labels> known; // runs of all stages have the same functions
  for (Run &run : chain.runs)
    for (Callee &callee : run.callees)
      for (auto [part, func] : callee.existing()) {
        auto [found, isNew] = known.try_emplace(func);
        Labels &labels = found->second;
        for (unsigned i = 0, e = isNew ? func.getNumArguments() : 0; i < e; ++i)
          labels.args.push_back(func.getArgLabel(i));
        for (unsigned i = 0, e = isNew ? func.getNumResults() : 0; i < e; ++i)
          labels.results.push_back(func.getResultLabel(i));
        auto visit = [&, part = part](const nn::Label &label, bool isResult) {
          if (label.role == Role::Loss || label.role == Role::Metric)
            insertSorted(chain.stagesOfSums[label.name], run.stage);
          nn::ParamOp param = callee.paramOf(label);
          if (param && !label.slot && run.mayDo(part))
            note(weights[param], run, param, part, label.role, isResult);
        };
        for (const nn::Label &label : labels.args)
          visit(label, /*isResult=*/false);
        for (const nn::Label &label : labels.results)
          visit(label, /*isResult=*/true);
      }
  for (auto &[op, stages] : weights) {
    std::vector<SharedWeight> ofParam;
    for (auto &[stage, of] : stages)
      join(ofParam, cast<nn::ParamOp>(op), stage, of);
    for (SharedWeight &weight : ofParam)
      if (weight.readers.size() > 1 || weight.gradients.size() > 1)
        chain.shared.push_back(std::move(weight));
  }
  for (const SharedWeight &weight : chain.shared)
    for (Run &run : chain.runs)
      for (Callee &callee : run.callees)
        for (auto &each : callee.params)
          if (each.second == weight.param &&
              llvm::is_contained(weight.partsOfGradient(), run.stage))
            callee.gradientParts.insert(each.first());
}

/// Runs of which another stage has a weight or state that they reduce.
static void findReducedAtEnd(Chain &chain) {
  llvm::SmallPtrSet<Operation *, 4> shared;
  for (const SharedWeight &weight : chain.shared)
    shared.insert(weight.param);
  for (Run &run : chain.runs)
    for (const Callee &callee : run.callees)
      if (rt::FuncOp func = callee.part(Part::Reduce))
        for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i)
          run.isReducedAtEnd |= shared.contains(callee.paramOf(func.getArgLabel(i)));
}

/// (C4) of `nn.run`: the functions of results that are sent in parts.
static LogicalResult bindMessages(nn::RunOp run, const nn::PartTable<rt::FuncOp> &parts,
                                  Chain &chain) {
  if (!run.getMessages())
    return success();
  for (auto [result, how] : llvm::zip(run.getResults(), *run.getMessages())) {
    auto layer = dyn_cast<FlatSymbolRefAttr>(how);
    if (!layer)
      continue;
    MessageParts sent = {parts.lookup(layer, Part::Cut), parts.lookup(layer, Part::Gather)};
    if (!sent.cut || !sent.gather)
      return run.emitOpError("sends a result in parts by a layer that lacks part cut or gather: ")
             << layer.getValue();
    chain.sentInParts[result] = sent;
  }
  return success();
}

FailureOr<Chain> schedule::readChain(nn::ChainOp op, int64_t firstCopy) {
  auto module = op->getParentOfType<ModuleOp>();
  nn::PartTable<rt::FuncOp> parts(module);
  SymbolTable symbols(module);
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
    run.isCopy = run.stage >= firstCopy;
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
      if (failed(checkPositions(runOp, callee)) ||
          failed(bindParams(runOp, symbols, callee, binding)) || failed(checkTypes(runOp, callee)))
        return failure();
      run.callees.push_back(std::move(callee));
    }
    if (failed(bindMessages(runOp, parts, chain)))
      return failure();
    chain.runs.push_back(std::move(run));
  }
  findShared(chain);
  findReducedAtEnd(chain);
  return chain;
}

FailureOr<Chains> schedule::readChains(sched::ProgramOp program) {
  FailureOr<Chain> train = readChain(program.getChain(nn::kTrainChain), program.getChainLength());
  if (failed(train))
    return failure();
  Chains chains{std::move(*train), std::nullopt};
  for (Run &run : chains.train.runs)
    run.isHeld = program.holds(run.stage);
  if (nn::ChainOp op = program.getChain(nn::kCountsChain)) {
    FailureOr<Chain> counts = readChain(op);
    if (failed(counts))
      return failure();
    chains.counts = std::move(*counts);
  }
  return chains;
}
