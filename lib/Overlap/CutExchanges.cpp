//===- CutExchanges.cpp - cut-exchanges: what a layer exchanges leaves its function ---===//
//
// A function of a layer that gathers its weights, or adds up over ranks what it gives to gradients
// (ZeRO 2 and 3), becomes up to four: the gathers, the rest, the sums, and the additions onto the
// gradients. What one of them makes and a later one reads is in flight: memory of the program, so
// that functions of neighbouring layers can run while it is exchanged (`rotate-layers`).
//
// One decision: a function that exchanges has nothing but collectives, and returns what each of
// them makes. So it needs no frame, and two calls of it may run at once.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/Parts.h"
#include "lib/Cost/MemorySearch.h"
#include "lib/Cost/OverlapChoice.h"
#include "lib/Overlap/FunctionOrder.h"
#include "lib/Overlap/Functions.h"
#include "lib/Overlap/Overlap.h"
#include "lib/Schedule/Values.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace tplan::overlap {
#define GEN_PASS_DEF_CUTEXCHANGESPASS
#include "lib/Overlap/Passes.h.inc"
} // namespace tplan::overlap

using namespace mlir;
using namespace tplan;
using nn::Role;
using sched::use;
using sched::Use;

namespace {

/// Ops of a function that can run before, or after, all others.
class Exchanges {
public:
  explicit Exchanges(rt::FuncOp func) : func(func) {
    findGathers();
    findSums();
  }

  llvm::SetVector<Operation *> gathers, sums, additions;
  bool empty() const { return gathers.empty() && sums.empty(); }
  bool contains(Operation *op) const { return gathers.contains(op) || sums.contains(op); }

private:
  rt::FuncOp func;
  void findGathers();
  void findSums();
  bool hasRole(Value value, Role role) {
    auto arg = dyn_cast<BlockArgument>(value);
    return arg && func.getArgRole(arg.getArgNumber()) == role;
  }
  bool endsInGradients(Operation *op);
  bool readsSums(Operation *op);
};

} // namespace

/// Activations stay with what computes them.
static bool isExchange(Operation *op) {
  auto collective = dyn_cast<rt::CollectiveOp>(op);
  return collective && !collective->hasAttr(dist::kActivation);
}

/// Gathers of weights, or of what is gathered of them.
void Exchanges::findGathers() {
  for (auto op : func.getBlock().getOps<rt::CollectiveOp>())
    if (Value x = op.getX();
        isExchange(op) &&
        (hasRole(x, Role::Param) || (x.getDefiningOp() && gathers.contains(x.getDefiningOp()))))
      gathers.insert(op);
}

/// Whether all that an op makes is summed, added, or returned as a gradient.
bool Exchanges::endsInGradients(Operation *op) {
  bool isSum = isExchange(op);
  return !op->use_empty() && llvm::all_of(op->getUses(), [&](OpOperand &each) {
    Operation *user = each.getOwner();
    if (isa<rt::ReturnOp>(user))
      return !isSum && func.getResultRole(each.getOperandNumber()) == Role::CotParam;
    return additions.contains(user) || (isSum && sums.contains(user));
  });
}

/// Whether an op adds sums onto gradients that only additions touch, and reads nothing else.
bool Exchanges::readsSums(Operation *op) {
  bool any = false;
  for (Value value : op->getOperands()) {
    if (Operation *def = value.getDefiningOp()) {
      if (!sums.contains(def) && !additions.contains(def))
        return false;
      any = true;
    } else if (hasRole(value, Role::CotParam)) {
      if (llvm::any_of(value.getUsers(),
                       [&](Operation *user) { return !additions.contains(user); }))
        return false;
    } else if (!hasRole(value, Role::Scalar)) {
      return false;
    }
  }
  return any;
}

/// First all that may be one, then without those that need something else.
void Exchanges::findSums() {
  for (Operation &op : llvm::reverse(func.getBlock().without_terminator()))
    if (!gathers.contains(&op) && (isExchange(&op) || isa<rt::LaunchOp>(op)) &&
        endsInGradients(&op))
      (isExchange(&op) ? sums : additions).insert(&op);
  for (bool changed = true; changed;) {
    changed =
        additions.remove_if([&](Operation *op) { return !readsSums(op) || !endsInGradients(op); });
    changed |= sums.remove_if([&](Operation *op) { return !endsInGradients(op); });
  }
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

namespace {

/// A function of those that another one becomes, and which values in flight its arguments and
/// results are; none where they are those of the whole.
struct Piece {
  rt::FuncOp func;
  SmallVector<std::optional<unsigned>> reads, makes;
};

class FunctionCut {
public:
  FunctionCut(rt::FuncOp whole, const Exchanges &exchanges);

  struct Flight {
    std::string name; // of the parameter, as a rule
    Type type;
    std::string maker; // the function
  };
  std::vector<Flight> flights;
  SmallVector<Piece> pieces; // in the order in which they are called

  /// Makes the functions, of the ops of the whole, which is empty then.
  void cut();

private:
  /// Numbers of the functions that a function may become, in the order of their calls.
  enum Kind : unsigned { Gather, Rest, Sum, Add, NumKinds };

  rt::FuncOp whole;
  llvm::DenseMap<Operation *, Kind> kindOf;
  llvm::MapVector<Value, unsigned> flightOf;

  void findFlights();
  std::string nameOf(Value value) const;
  bool uses(Kind kind, BlockArgument arg) const;
  Piece begin(Kind kind, StringRef suffix);
  void end(Kind kind, Piece &piece, llvm::DenseMap<Value, Value> &inside);
  DictionaryAttr labelOf(unsigned flight) {
    return nn::attributesOf(whole.getContext(), {Role::InFlight, flights[flight].name});
  }
};

} // namespace

FunctionCut::FunctionCut(rt::FuncOp whole, const Exchanges &exchanges) : whole(whole) {
  for (Operation &op : whole.getBlock().without_terminator())
    kindOf[&op] = exchanges.gathers.contains(&op)     ? Gather
                  : exchanges.sums.contains(&op)      ? Sum
                  : exchanges.additions.contains(&op) ? Add
                                                      : Rest;
  findFlights();
}

/// What another function reads, and all that collectives make.
void FunctionCut::findFlights() {
  std::array<llvm::StringSet<>, NumKinds> names;
  for (Operation &op : whole.getBlock().without_terminator())
    for (Value made : op.getResults()) {
      Kind kind = kindOf.at(&op);
      bool isRead = llvm::any_of(made.getUsers(), [&](Operation *user) {
        auto reader = kindOf.find(user);
        return reader != kindOf.end() && reader->second != kind;
      });
      if (!isRead && kind != Gather && kind != Sum)
        continue;
      std::string name = nameOf(made), unique = name;
      for (int n = 2; !names[kind].insert(unique).second; ++n)
        unique = name + " " + std::to_string(n);
      flightOf[made] = flights.size();
      flights.push_back({unique, made.getType(), {}});
    }
}

/// The weight that it is gathered of, or whose gradient it is added to.
std::string FunctionCut::nameOf(Value value) const {
  rt::FuncOp func = whole;
  if (kindOf.at(value.getDefiningOp()) == Gather) {
    Value from = value;
    while (Operation *def = from.getDefiningOp())
      from = cast<rt::CollectiveOp>(def).getX();
    return func.getArgName(cast<BlockArgument>(from).getArgNumber()).str();
  }
  OpOperand *use = &*value.use_begin();
  while (!isa<rt::ReturnOp>(use->getOwner()))
    use = &*use->getOwner()->getResult(0).use_begin();
  return func.getResultName(use->getOperandNumber()).str();
}

bool FunctionCut::uses(Kind kind, BlockArgument arg) const {
  return llvm::any_of(arg.getUsers(), [&](Operation *user) {
    auto known = kindOf.find(user);
    return known == kindOf.end() ? kind == Rest : known->second == kind; // returned as it is: Rest
  });
}

Piece FunctionCut::begin(Kind kind, StringRef suffix) {
  OpBuilder b(whole);
  bool isRest = kind == Rest;
  auto func = rt::FuncOp::create(
      b, whole.getLoc(), (whole.getSymName() + suffix).str(), b.getFunctionType({}, {}),
      isRest ? whole.getLayerAttr() : FlatSymbolRefAttr(),
      isRest ? whole.getPartAttr() : nn::PartAttr(), ArrayAttr(), ArrayAttr());
  b.createBlock(&func.getBody());
  rt::ReturnOp::create(b, whole.getReturn().getLoc(), ValueRange());
  return {func, {}, {}};
}

/// Results: those of the whole, then what is in flight.
void FunctionCut::end(Kind kind, Piece &piece, llvm::DenseMap<Value, Value> &inside) {
  auto give = [&](Value value, DictionaryAttr attributes, std::optional<unsigned> flight) {
    (void)piece.func.insertResult(piece.func.getNumResults(), value.getType(), attributes);
    rt::ReturnOp end = piece.func.getReturn();
    end->insertOperands(end->getNumOperands(), value);
    piece.makes.push_back(flight);
  };
  for (auto [i, value] : llvm::enumerate(whole.getReturn().getOperands())) {
    Operation *def = value.getDefiningOp();
    if (def ? kindOf.at(def) == kind : kind == Rest)
      give(def ? value : inside.at(value), whole.getResultAttrDict(i), std::nullopt);
  }
  for (auto [value, flight] : flightOf)
    if (kindOf.at(value.getDefiningOp()) == kind) {
      give(value, labelOf(flight), flight);
      flights[flight].maker = piece.func.getSymName().str();
    }
}

void FunctionCut::cut() {
  SmallVector<Operation *> ops;
  for (Operation &op : whole.getBlock().without_terminator())
    ops.push_back(&op);
  for (auto [kind, suffix] :
       {std::pair(Gather, ".gather"), {Rest, ""}, {Sum, ".sum"}, {Add, ".add"}}) {
    if (llvm::none_of(ops, [&](Operation *op) { return kindOf.at(op) == kind; }))
      continue;
    Piece piece = begin(kind, suffix);
    llvm::DenseMap<Value, Value> inside;
    auto take = [&](Value value, DictionaryAttr attributes, std::optional<unsigned> flight) {
      unsigned n = piece.func.getNumArguments();
      (void)piece.func.insertArgument(n, value.getType(), attributes, value.getLoc());
      inside[value] = piece.func.getArgument(n);
      piece.reads.push_back(flight);
    };
    for (BlockArgument arg : whole.getArguments())
      if (uses(kind, arg))
        take(arg, whole.getArgAttrDict(arg.getArgNumber()), std::nullopt);
    for (Operation *op : ops) {
      if (kindOf.at(op) != kind)
        continue;
      for (OpOperand &operand : op->getOpOperands()) {
        Value value = operand.get();
        Operation *def = value.getDefiningOp();
        if (def && kindOf.at(def) != kind && !inside.count(value)) {
          unsigned flight = flightOf.lookup(value);
          take(value, labelOf(flight), flight);
        }
        if (auto known = inside.find(value); known != inside.end())
          operand.set(known->second);
      }
      op->moveBefore(piece.func.getReturn());
    }
    end(kind, piece, inside);
    pieces.push_back(std::move(piece));
  }
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {

/// Replaces the calls of a function. Made before the function is cut.
class CallCut {
public:
  CallCut(rt::FuncOp whole, ArrayRef<sched::CallOp> ofWhole);
  void replace(FunctionCut &cut) {
    for (Cut &each : calls)
      replace(each, cut);
  }

private:
  using Label = std::pair<Attribute, Attribute>; // role and name
  static Label labelOf(DictionaryAttr attributes) {
    return {attributes.get(nn::kRole), attributes.get(nn::kName)};
  }
  struct Cut {
    sched::CallOp call;
    llvm::DenseMap<Label, Use> arguments, results; // results that update no argument
  };
  std::vector<Cut> calls;

  static void replace(Cut &each, FunctionCut &cut);
  static SmallVector<Value> declare(sched::CallOp call, ArrayRef<FunctionCut::Flight> flights);
};

} // namespace

CallCut::CallCut(rt::FuncOp whole, ArrayRef<sched::CallOp> ofWhole) {
  for (sched::CallOp call : ofWhole) {
    Cut &each = calls.emplace_back();
    each.call = call;
    SmallVector<Use> uses = call.getUses();
    for (unsigned i = 0, e = whole.getNumArguments(); i < e; ++i)
      each.arguments[labelOf(whole.getArgAttrDict(i))] = uses[i];
    for (auto [i, result] : overlap::resultsOf(call))
      each.results[labelOf(whole.getResultAttrDict(i))] = result;
  }
}

/// A call has memory of its own for what it has in flight.
SmallVector<Value> CallCut::declare(sched::CallOp call, ArrayRef<FunctionCut::Flight> flights) {
  auto program = call->getParentOfType<sched::ProgramOp>();
  schedule::ProgramValues ofProgram(program);
  llvm::StringSet<> known;
  for (auto value : program.getBody().getOps<sched::ValueOp>())
    if (value.getKey().getKind() == sched::ValueKind::InFlight)
      known.insert(value.getKey().getName().getValue());
  SmallVector<Value> values;
  for (const FunctionCut::Flight &flight : flights) {
    std::string name = flight.maker + " " + flight.name, unique = name;
    for (int n = 2; !known.insert(unique).second; ++n)
      unique = name + ", call " + std::to_string(n);
    values.push_back(ofProgram.declareInFlight(unique, flight.type, 1, call.getLoc()).getMemory());
  }
  return values;
}

void CallCut::replace(Cut &each, FunctionCut &cut) {
  sched::CallOp call = each.call;
  SmallVector<Value> values = declare(call, cut.flights);
  OpBuilder b(call);
  for (Piece &piece : cut.pieces) {
    rt::FuncOp func = piece.func;
    SmallVector<Use> from, to;
    for (auto [i, flight] : llvm::enumerate(piece.reads))
      from.push_back(flight ? use(values[*flight])
                            : each.arguments.at(labelOf(func.getArgAttrDict(i))));
    for (auto [i, flight] : llvm::enumerate(piece.makes))
      if (flight)
        to.push_back(use(values[*flight]));
      else if (!func.findUpdatedArg(i))
        to.push_back(each.results.at(labelOf(func.getResultAttrDict(i))));
    sched::createStep<sched::CallOp>(b, call.getLoc(), from, to, func.getSymName(),
                                     sched::isExchange(func) ? Value() : call.getFrame(),
                                     call.getLayers(), /*started=*/false);
  }
  call.erase();
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// Whether a layer takes less time if its exchanges run beside its neighbours instead of beside
/// itself.
static bool isWorthIt(rt::FuncOp func, const Exchanges &exchanges, const cost::Prices &prices,
                      overlap::FunctionOrder::MayFly mayFly) {
  std::map<std::string, double> channels;
  double exchanged = 0;
  for (auto op : func.getBlock().getOps<rt::CollectiveOp>())
    if (exchanges.contains(op)) {
      double &channel = channels[dist::spell(dist::axesOf(op.getAxes()))];
      exchanged = std::max(exchanged, channel += prices.secondsOf(op));
    }
  auto isLeftOut = [&](Operation *op) { return exchanges.contains(op); };
  double before = overlap::FunctionOrder(func, prices, mayFly).seconds(),
         after = overlap::FunctionOrder(func, prices, mayFly, isLeftOut).seconds();
  return std::max(after, exchanged) < before * (1 - overlap::kLeastGain);
}

static bool isOfMicrobatch(rt::FuncOp func) {
  if (!func.getPart())
    return false;
  nn::PartRuns runs = nn::factsOf(*func.getPart()).runs;
  return runs == nn::PartRuns::EachMicrobatch || runs == nn::PartRuns::Evaluation;
}

namespace {

/// The calls of a function, by whether its gathers, and its sums, are to leave it: the program that
/// calls it has room for them.
using Callers = std::map<std::pair<bool, bool>, SmallVector<sched::CallOp>>;

Callers callersOf(rt::FuncOp func) {
  Callers callers;
  auto module = func->getParentOfType<ModuleOp>();
  for (auto [i, program] : llvm::enumerate(module.getOps<sched::ProgramOp>())) {
    cost::Room room = cost::roomOf(module, i);
    program.walk([&](sched::CallOp call) {
      if (call.getCalleeAttr().getAttr() == func.getSymNameAttr())
        callers[{room.cutsGathers(*func.getPart()), room.cutsSums()}].push_back(call);
    });
  }
  return callers;
}

/// Cuts a function that only these calls call.
void cutFor(rt::FuncOp func, bool gathers, bool sums, ArrayRef<sched::CallOp> callers) {
  Exchanges exchanges(func);
  if (!gathers)
    exchanges.gathers.clear();
  if (!sums)
    exchanges.sums.clear(), exchanges.additions.clear();
  if (exchanges.empty())
    return;
  CallCut calls(func, callers);
  FunctionCut cut(func, exchanges);
  cut.cut();
  calls.replace(cut);
  func.erase();
}

struct CutExchangesPass : tplan::overlap::impl::CutExchangesPassBase<CutExchangesPass> {
  void runOnOperation() final {
    ModuleOp module = getOperation();
    lang::Settings settings(module);
    cost::Prices prices(settings, dist::meshOf(module));
    cost::OverlapChoice choice(module, settings, prices);
    // Two layers are whole at once, so not where memory is short and nobody has asked for it.
    if (!choice.starts(lang::Overlap::Zero) || choice.keepsMemory())
      return markAllAnalysesPreserved();
    auto mayFly = [&](rt::CollectiveOp op) { return choice.mayFly(op); };
    for (auto func : llvm::make_early_inc_range(module.getOps<rt::FuncOp>())) {
      if (!isOfMicrobatch(func))
        continue;
      Exchanges exchanges(func);
      if (exchanges.empty() || (choice.isByCost() && !isWorthIt(func, exchanges, prices, mayFly)))
        continue;
      // Where not all callers have the same room, each kind of them has a function of its own.
      Callers callers = callersOf(func);
      for (auto &[cuts, calls] : callers) {
        rt::FuncOp its = func;
        if (cuts != callers.rbegin()->first) {
          its = overlap::cloneApart(func, cuts.first ? ".gathers" : ".whole");
          for (sched::CallOp call : calls)
            call.setCallee(its.getSymName());
        }
        cutFor(its, cuts.first, cuts.second, calls);
      }
    }
  }
};
} // namespace
