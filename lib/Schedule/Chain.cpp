//===- Chain.cpp - a chain with its runs bound to functions ---------------===//
#include "lib/Schedule/Chain.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::schedule;
using nn::Role;

StringRef schedule::nameOf(Part part) {
  static constexpr std::array<llvm::StringLiteral, 8> kNames = {"F", "B", "I", "W",
                                                                "E", "N", "U", "P"};
  return kNames[static_cast<unsigned>(part)];
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
  switch (func.getResultRole(result)) {
  case Role::Loss:
  case Role::Metric:
  case Role::Contribution:
  case Role::CotInvariant:
  case Role::CotParam:
  case Role::Param:
  case Role::State:
    return findArg(func, func.getResultRole(result), func.getResultName(result));
  default:
    return std::nullopt;
  }
}

bool Callee::reads(Part p, Role role, StringRef name) const {
  return part(p) && findArg(part(p), role, name);
}

bool Callee::gives(Part p, Role role, StringRef name) const {
  return part(p) && findResult(part(p), role, name);
}

nn::ParamOp Callee::paramOfState(StringRef state) const {
  for (size_t dot = state.rfind('.'); dot != StringRef::npos; dot = state.take_front(dot).rfind('.'))
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

bool schedule::readsInput(const Callee &callee, Part p, unsigned k) {
  return callee.reads(p, Role::Carried, callee.carriedIn[k]);
}
bool schedule::readsCotangent(const Callee &callee, Part p, unsigned k) {
  return callee.reads(p, Role::CotCarried, callee.carriedOut[k]);
}

//===----------------------------------------------------------------------===//
// Binding
//===----------------------------------------------------------------------===//

using Names = SmallVector<StringRef>;

static Names argNames(rt::FuncOp func, Role role) {
  Names names;
  for (unsigned i = 0, e = func ? func.getNumArguments() : 0; i < e; ++i)
    if (func.getArgRole(i) == role)
      names.push_back(func.getArgName(i));
  return names;
}

static Names resultNames(rt::FuncOp func, Role role) {
  Names names;
  for (unsigned i = 0, e = func ? func.getNumResults() : 0; i < e; ++i)
    if (func.getResultRole(i) == role)
      names.push_back(func.getResultName(i));
  return names;
}

/// One order of all names, given lists that are each in that order: the longest
/// list, then each name of the others behind the one that it follows there.
static Names mergeNames(SmallVector<Names> lists) {
  auto *longest = llvm::max_element(
      lists, [](const Names &a, const Names &b) { return a.size() < b.size(); });
  Names merged = *longest;
  for (const Names &list : lists) {
    size_t at = 0;
    for (StringRef name : list) {
      auto *it = llvm::find(merged, name);
      if (it == merged.end())
        it = merged.insert(merged.begin() + at, name);
      at = it - merged.begin() + 1;
    }
  }
  return merged;
}

static LogicalResult checkCount(nn::RunOp run, StringRef layer, StringRef what, size_t found,
                                size_t given) {
  if (found == given)
    return success();
  return run.emitOpError("gives ") << given << " " << what << ", its layer takes " << found << ": "
                                   << layer;
}

static LogicalResult bindNames(nn::RunOp run, Callee &callee) {
  SmallVector<Names> carried, invariants;
  for (Part p : {Part::F, Part::E, Part::B, Part::I, Part::W}) {
    carried.push_back(argNames(callee.part(p), Role::Carried));
    invariants.push_back(argNames(callee.part(p), Role::Invariant));
  }
  callee.carriedIn = mergeNames(carried);
  callee.carriedOut = mergeNames({resultNames(callee.part(Part::F), Role::Carried),
                                  resultNames(callee.part(Part::E), Role::Carried)});
  callee.invariants = mergeNames(invariants);
  // A kind of layer in a list need not read each invariant of its run.
  if (callee.invariants.size() < run.getInvariants().size() && run.getCallees().size() > 1)
    if (auto names = run->getAttrOfType<ArrayAttr>("invariant_names"))
      callee.invariants = llvm::to_vector(
          llvm::map_range(names.getAsValueRange<StringAttr>(), [](StringRef s) { return s; }));
  if (failed(checkCount(run, callee.name, "carried values", callee.carriedIn.size(),
                        run.getCarried().size())) ||
      failed(checkCount(run, callee.name, "results", callee.carriedOut.size(),
                        run.getResults().size())))
    return failure();
  return checkCount(run, callee.name, "invariant values", callee.invariants.size(),
                    run.getInvariants().size());
}

static LogicalResult bindParam(nn::RunOp run, Callee &callee, StringRef name, Attribute symbol) {
  auto module = run->getParentOfType<ModuleOp>();
  auto ref = dyn_cast<FlatSymbolRefAttr>(symbol);
  auto param = ref ? module.lookupSymbol<nn::ParamOp>(ref.getValue()) : nn::ParamOp();
  if (!param)
    return run.emitOpError("binds a parameter of ") << callee.name << " to no nn.param: " << symbol;
  int64_t count = param.getCount();
  int64_t needed = static_cast<int64_t>(run.getFirstInstance() + run.getTimes());
  if (count != 1 && count < needed)
    return run.emitOpError("needs ") << needed << " instances of " << ref << ", which has "
                                     << count;
  callee.params[name] = param;
  return success();
}

/// `params[j]` is a dictionary by name, or a list in the order of the layer.
static LogicalResult bindParams(nn::RunOp run, Callee &callee, Attribute binding) {
  if (auto dict = dyn_cast<DictionaryAttr>(binding)) {
    for (NamedAttribute entry : dict)
      if (failed(bindParam(run, callee, entry.getName(), entry.getValue())))
        return failure();
    return success();
  }
  SmallVector<Names> lists;
  for (Part p : {Part::U, Part::F, Part::B, Part::I, Part::W, Part::E, Part::P})
    lists.push_back(argNames(callee.part(p), Role::Param));
  lists.push_back(resultNames(callee.part(Part::P), Role::Param));
  Names names = mergeNames(lists);
  auto symbols = dyn_cast<ArrayAttr>(binding);
  if (!symbols)
    return run.emitOpError("binds parameters by a list or a dictionary, found ") << binding;
  if (failed(checkCount(run, callee.name, "parameters", names.size(), symbols.size())))
    return failure();
  for (auto [name, symbol] : llvm::zip(names, symbols))
    if (failed(bindParam(run, callee, name, symbol)))
      return failure();
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

FailureOr<Chain> schedule::readChain(nn::ChainOp op) {
  auto module = op->getParentOfType<ModuleOp>();
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
    run.title = titleOf(runOp);
    if (runOp.getParams().size() != runOp.getCallees().size())
      return runOp.emitOpError("needs one list of parameters for each of its layers, found ")
             << runOp.getParams().size();
    for (auto [ref, binding] :
         llvm::zip(runOp.getCallees().getAsRange<FlatSymbolRefAttr>(), runOp.getParams())) {
      Callee callee;
      callee.name = ref.getValue();
      for (Part p : kParts)
        callee.parts[static_cast<unsigned>(p)] =
            symbols.lookup<rt::FuncOp>((callee.name + "." + nameOf(p)).str());
      if (!callee.part(Part::F) && !callee.part(Part::E))
        return runOp.emitOpError("has neither part F nor E of layer ") << callee.name;
      if (failed(bindNames(runOp, callee)) || failed(bindParams(runOp, callee, binding)))
        return failure();
      run.callees.push_back(std::move(callee));
    }
    chain.runs.push_back(std::move(run));
  }
  return chain;
}
