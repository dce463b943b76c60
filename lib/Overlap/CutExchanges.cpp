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
#include "lib/Overlap/FunctionCut.h"
#include "lib/Overlap/FunctionOrder.h"
#include "lib/Overlap/Functions.h"
#include "lib/Overlap/Overlap.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

namespace tplan::overlap {
#define GEN_PASS_DEF_CUTEXCHANGESPASS
#include "lib/Overlap/Passes.h.inc"
} // namespace tplan::overlap

using namespace mlir;
using namespace tplan;
using nn::Role;

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
/// Numbers of the functions that a function may become, in the order of their calls.
enum Kind : unsigned { Gather, Rest, Sum, Add };
} // namespace

static constexpr overlap::FunctionCut::Kind kKinds[] = {{.suffix = ".gather", .givesAll = true},
                                                        {.suffix = "", .isRest = true},
                                                        {.suffix = ".sum", .givesAll = true},
                                                        {.suffix = ".add"}};

static unsigned kindOf(Operation *op, const Exchanges &exchanges) {
  return exchanges.gathers.contains(op)     ? Gather
         : exchanges.sums.contains(op)      ? Sum
         : exchanges.additions.contains(op) ? Add
                                            : Rest;
}

/// The weight that it is gathered of, or whose gradient it is added to.
static std::string nameOf(Value value, rt::FuncOp func, const Exchanges &exchanges) {
  if (exchanges.gathers.contains(value.getDefiningOp())) {
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
  llvm::DenseMap<Operation *, unsigned> kinds;
  for (Operation &op : func.getBlock().without_terminator())
    kinds[&op] = kindOf(&op, exchanges);
  overlap::CallCut calls(func, callers);
  overlap::FunctionCut cut(func, kKinds, std::move(kinds),
                           [&](Value value) { return nameOf(value, func, exchanges); });
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
