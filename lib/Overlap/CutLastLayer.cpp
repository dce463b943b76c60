//===- CutLastLayer.cpp - cut-last-layer: the last sums of a backward begin within its layer
//---===//
//
// The sums of a layer run under the backward of the layers before it (`start-reductions`), but
// those of the last layer have nothing to run under. So the function of that layer is cut in two:
// what some gradients need comes first, their sums are started, and the rest runs beside them.
//
// One decision: of the gradients, those come first that are there first, as many as leave the least
// to wait for at the end. What the first half makes and the second one reads is in flight.
//
//===----------------------------------------------------------------------===//
#include "lib/Cost/MemorySearch.h"
#include "lib/Cost/OverlapChoice.h"
#include "lib/Overlap/FunctionCut.h"
#include "lib/Overlap/FunctionOrder.h"
#include "lib/Overlap/Functions.h"
#include "lib/Overlap/Layers.h"
#include "lib/Overlap/Overlap.h"
#include "lib/Schedule/Values.h"

namespace tplan::overlap {
#define GEN_PASS_DEF_CUTLASTLAYERPASS
#include "lib/Overlap/Passes.h.inc"
} // namespace tplan::overlap

using namespace mlir;
using namespace tplan;
using overlap::Periods;
using overlap::Subset;
using sched::CallOp;
using sched::RunOp;
using sched::SectionOp;
using sched::Use;

namespace {

/// The last layer of a backward, and the call that starts its sums; both in one run.
struct LastLayer {
  RunOp run;
  CallOp layer, sums;
};

/// A gradient of the layer that is summed: the result of its function, and the argument and the
/// result of that of the sums.
struct Gradient {
  unsigned result, arg, sum;
  double seconds;                          // that its sum takes
  llvm::SetVector<Operation *> needs = {}; // ops of the layer's function
  double there = 0;                        // seconds that these take
  bool operator==(const Gradient &other) const {
    return std::tie(result, arg, sum) == std::tie(other.result, other.arg, other.sum);
  }
};

/// Which gradients come first, and the ops that they need.
struct Choice {
  size_t count = 0; // of the gradients in their order
  llvm::SetVector<Operation *> first = {};
  double end = 0; // when all is summed, in seconds from the layer's begin
};

/// A function of a layer and that of its sums, with all places in which the layer is the last.
class LayerCut {
public:
  LayerCut(const cost::Prices &prices, const cost::OverlapChoice &kinds)
      : prices(prices), kinds(kinds) {}
  /// Whether the layer is to be cut there as at the other places.
  bool add(LastLayer last);
  bool isEmpty() const { return places.empty(); }
  /// `suffix`: of the functions that are made, one for each cut of a layer's function.
  void apply(StringRef suffix);

private:
  const cost::Prices &prices;
  const cost::OverlapChoice &kinds;
  SmallVector<LastLayer> places;
  std::vector<Gradient> gradients; // by when they are there
  Choice choice;

  std::vector<Gradient> gradientsOf(LastLayer last) const;
  double backlogOf(LastLayer last) const;
  bool choose(LastLayer last);
  double secondsOf(
      rt::FuncOp func,
      overlap::FunctionOrder::IsLeftOut isLeftOut = [](Operation *) { return false; }) const {
    auto mayFly = [&](rt::CollectiveOp op) { return kinds.mayFly(op); };
    return overlap::FunctionOrder(func, prices, mayFly, isLeftOut).seconds();
  }
  Choice tried(size_t count, rt::FuncOp func, double backlog) const;
  void cutSums(StringRef name, ArrayRef<LastLayer> turns);
};

} // namespace

//===----------------------------------------------------------------------===//
// Which layer
//===----------------------------------------------------------------------===//

/// Seconds of the sums that a call starts.
static double secondsOfSums(CallOp sums, const cost::Prices &prices) {
  double seconds = 0;
  for (auto op : sums.getFunction().getBlock().getOps<rt::CollectiveOp>())
    seconds += prices.secondsOf(op);
  return seconds;
}

/// A run that calls functions of layers, and then starts sums: the last layer, and the longest
/// sums.
static std::optional<LastLayer> lastLayerOf(RunOp run, const cost::Prices &prices) {
  LastLayer last{run, {}, {}};
  for (Operation &op : run.getBody().front()) {
    auto call = dyn_cast<CallOp>(op);
    if (!call || call.getLayers() != 1 ||
        (!call.getStarted() && (last.sums || sched::isExchange(call.getFunction()))))
      return std::nullopt;
    if (!call.getStarted())
      last.layer = call;
    else if (!last.sums || secondsOfSums(call, prices) > secondsOfSums(last.sums, prices))
      last.sums = call;
  }
  return last.layer && last.sums ? std::optional(last) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Where it is cut
//===----------------------------------------------------------------------===//

/// The ops of a function that a value needs.
static llvm::SetVector<Operation *> needsOf(Value value) {
  llvm::SetVector<Operation *> ops;
  if (Operation *def = value.getDefiningOp())
    ops.insert(def);
  for (size_t i = 0; i < ops.size(); ++i)
    for (Value operand : ops[i]->getOperands())
      if (Operation *def = operand.getDefiningOp())
        ops.insert(def);
  return ops;
}

/// What the layer updates and the sums read, in the order in which it is there; none where a sum is
/// of anything else.
std::vector<Gradient> LayerCut::gradientsOf(LastLayer last) const {
  std::vector<Gradient> gradients;
  rt::FuncOp func = last.layer.getFunction(), sums = last.sums.getFunction();
  dist::MeshAttr mesh = dist::meshOf(func->getParentOfType<ModuleOp>());
  SmallVector<Use> ofLayer = last.layer.getUses(), ofSums = last.sums.getUses();
  for (unsigned i = 0, e = sums.getNumResults(); i < e; ++i) {
    overlap::Sum sum = overlap::sumOf(sums, i, mesh);
    bool isOfOneStream = !sum.collectives.empty() &&
                         sum.collectives.back().getAxes() ==
                             (*sums.getBlock().getOps<rt::CollectiveOp>().begin()).getAxes();
    if (sum.args.size() != 1 || !isOfOneStream)
      return {};
    const Use &summed = ofSums[sum.args.front()];
    for (unsigned result = 0; result < func.getNumResults(); ++result) {
      std::optional<unsigned> arg = func.findUpdatedArg(result);
      if (!arg || ofLayer[*arg].value != summed.value || ofLayer[*arg].instance != summed.instance)
        continue;
      Gradient gradient{result, sum.args.front(), i, 0};
      for (rt::CollectiveOp op : sum.collectives)
        gradient.seconds += prices.secondsOf(op);
      gradient.needs = needsOf(func.getReturn().getOperand(result));
      gradients.push_back(std::move(gradient));
    }
  }
  for (Gradient &gradient : gradients)
    gradient.there = secondsOf(func, [&](Operation *op) { return !gradient.needs.contains(op); });
  llvm::stable_sort(gradients,
                    [](const Gradient &a, const Gradient &b) { return a.there < b.there; });
  return gradients.size() == sums.getNumResults() ? gradients : std::vector<Gradient>();
}

/// The first so many gradients come first, with all that they need.
Choice LayerCut::tried(size_t count, rt::FuncOp func, double backlog) const {
  Choice choice{count};
  double early = 0, late = 0;
  for (auto [i, gradient] : llvm::enumerate(gradients)) {
    (i < count ? early : late) += gradient.seconds;
    if (i < count)
      choice.first.insert_range(gradient.needs);
  }
  double begin = secondsOf(func, [&](Operation *op) { return !choice.first.contains(op); }),
         end = begin + secondsOf(func, [&](Operation *op) { return choice.first.contains(op); });
  choice.end = std::max(std::max(backlog, begin) + early, end) + late;
  return choice;
}

/// Whether the ops that come first leave to the others what these read: nobody updates it before.
static bool mayComeFirst(rt::FuncOp func, const llvm::SetVector<Operation *> &first) {
  Operation *end = func.getReturn();
  for (Operation *op : first) {
    auto call = dyn_cast<rt::Call>(op);
    for (unsigned r = 0, e = call ? op->getNumResults() : 0; r < e; ++r)
      if (int64_t alias = call.getAlias(r); alias >= 0)
        for (Operation *reader : op->getOperand(alias).getUsers())
          if (reader != end && !first.contains(reader))
            return false;
    // A result of the function is in the caller's memory, where the second half would not find it.
    if (llvm::is_contained(op->getUsers(), end) &&
        llvm::any_of(op->getUsers(),
                     [&](Operation *user) { return user != end && !first.contains(user); }))
      return false;
  }
  return true;
}

/// When the stream of a layer's sums has done those of the layers before, from the layer's begin
/// on.
double LayerCut::backlogOf(LastLayer last) const {
  double now = 0, until = 0;
  llvm::DenseMap<Operation *, double> known; // seconds of functions in their best order
  auto play = [&](Operation &op) {
    auto call = dyn_cast<CallOp>(op);
    if (!call)
      return;
    if (call.getStarted()) {
      until = std::max(until, now) + secondsOfSums(call, prices);
      return;
    }
    rt::FuncOp func = call.getFunction();
    auto [seconds, isNew] = known.try_emplace(func, 0);
    if (isNew)
      seconds->second = secondsOf(func);
    now += seconds->second;
  };
  for (Operation &op : *last.run->getBlock()) {
    auto run = dyn_cast<RunOp>(op);
    if (!run)
      play(op);
    else
      for (int64_t i = run == last.run ? 1 : 0, e = run.getTimes(); i < e; ++i)
        llvm::for_each(run.getBody().front(), play);
    if (run == last.run)
      break;
  }
  for (Operation &op : last.run.getBody().front()) {
    if (&op == last.layer)
      break;
    play(op);
  }
  return std::max(0.0, until - now);
}

bool LayerCut::choose(LastLayer last) {
  choice = {};
  gradients = gradientsOf(last);
  rt::FuncOp func = last.layer.getFunction();
  double backlog = backlogOf(last);
  for (size_t count = 1; count < gradients.size(); ++count) {
    Choice next = tried(count, func, backlog);
    bool isBetter = choice.count == 0 || next.end < choice.end;
    if (isBetter && mayComeFirst(func, next.first))
      choice = std::move(next);
  }
  double end = std::max(backlog, secondsOf(func)) + secondsOfSums(last.sums, prices); // if whole
  return choice.count > 0 && (!kinds.isByCost() || choice.end < end * (1 - overlap::kLeastGain));
}

bool LayerCut::add(LastLayer last) {
  if (places.empty() ? !choose(last) : gradientsOf(last) != gradients)
    return false;
  places.push_back(last);
  return true;
}

//===----------------------------------------------------------------------===//
// The cut
//===----------------------------------------------------------------------===//

/// Some turns of a run, as a run.
static RunOp cloneTurns(OpBuilder &b, RunOp run, int64_t first, int64_t count) {
  RunOp turns = overlap::beginRun(b, run, count);
  for (Operation &op : run.getBody().front())
    sched::rewriteUses(cast<sched::Step>(b.clone(op)), [&](Use &each) {
      overlap::substitute(each, Periods::of(b.getContext(), first, count), run.getTimes());
    });
  return turns;
}

/// Sums of the gradients that come first are started after the first half, the others where all
/// were. They have one stream, which runs in order: whoever awaits the second sums has the first
/// ones, too, so their own await, which only ends them, may stand after it.
void LayerCut::cutSums(StringRef name, ArrayRef<LastLayer> turns) {
  rt::FuncOp func = CallOp(turns.front().sums).getFunction();
  Subset early = {llvm::BitVector(func.getNumArguments()), llvm::BitVector(func.getNumResults())};
  for (const Gradient &gradient : ArrayRef(gradients).take_front(choice.count))
    early.args.set(gradient.arg), early.results.set(gradient.sum);
  // Several functions of layers may have the same sums: a backward, and its weights' half.
  auto named = [&](StringRef suffix) {
    rt::FuncOp clone = overlap::cloneApart(func, suffix);
    clone.setSymName((name + ".sums" + suffix).str());
    return clone;
  };
  rt::FuncOp before = named(".first"), after = named(".rest");
  overlap::erase(before, early.others());
  overlap::erase(after, early);
  for (auto [run, first, sums] : turns) {
    Use event = *sums.getSignal();
    std::string ofEvent = sched::valueOf(event.value).getKey().getName().str();
    schedule::ProgramValues values(sums->getParentOfType<sched::ProgramOp>());
    Use mine = sched::use(values.declareEvents(ofEvent + ".first", 1).getMemory());
    llvm::SmallSetVector<Operation *, 4> users; // each once, however many events it reads
    users.insert_range(event.value.getUsers());
    OpBuilder b(sums);
    for (Operation *user : users)
      if (isa<sched::AwaitOp>(user)) {
        b.setInsertionPointAfter(sched::bodyOpOf(user)); // the other await comes after both sums
        sched::createStep<sched::AwaitOp>(b, user->getLoc(), {mine}, {});
      }
    SmallVector<Use> uses = sums.getUses();
    auto frameOf = [&](rt::FuncOp callee) { // both are in flight, and other layers' sums
      if (!sums.getFrame())
        return Value();
      sched::ValueOp frame = values.declareFrame((callee.getSymName() + " " + ofEvent).str());
      frame.setLives(sched::Life::Entry);
      return Value(frame.getMemory());
    };
    auto start = [&](rt::FuncOp callee, bool isEarly, const Use &signal) {
      SmallVector<Use> reads;
      for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i)
        if (early.args[i] == isEarly)
          reads.push_back(uses[i]);
      sched::createStep<CallOp>(b, sums.getLoc(), reads, {signal}, callee.getSymName(),
                                frameOf(callee), sums.getLayers(), /*started=*/true);
    };
    b.setInsertionPoint(sums);
    start(after, false, event);
    b.setInsertionPointAfter(first);
    start(before, true, mine);
    sums.erase();
  }
}

/// The last turn of a run gets a run of its own; what it calls.
static LastLayer cutTurn(LastLayer last) {
  RunOp run = last.run;
  auto times = static_cast<int64_t>(run.getTimes());
  bool isDown = run.getDescending();
  auto placeOf = [&](Operation *op) {
    return std::distance(run.getBody().front().begin(), Block::iterator(op));
  };
  int64_t layer = placeOf(last.layer), sums = placeOf(last.sums);
  OpBuilder b(run);
  if (times > 1) {
    OpBuilder::InsertionGuard guard(b);
    cloneTurns(b, run, isDown ? 1 : 0, times - 1);
  }
  RunOp turn = cloneTurns(b, run, isDown ? 0 : times - 1, 1);
  run.erase();
  auto at = [&](int64_t n) { return cast<CallOp>(*std::next(turn.getBody().front().begin(), n)); };
  return {turn, at(layer), at(sums)};
}

void LayerCut::apply(StringRef suffix) {
  // A copy of the function is cut, because other sections and turns call the whole.
  rt::FuncOp whole = places.front().layer.getFunction();
  rt::FuncOp copy = overlap::cloneApart(whole, suffix);
  std::string name = copy.getSymName().str();
  llvm::DenseMap<Operation *, unsigned> kinds;
  llvm::DenseMap<Operation *, int64_t> numbers;
  for (auto [op, of] :
       llvm::zip(whole.getBlock().without_terminator(), copy.getBlock().without_terminator())) {
    kinds[&of] = choice.first.contains(&op) ? 0 : 1;
    numbers.try_emplace(&of, numbers.size());
  }
  SmallVector<LastLayer> turns;
  SmallVector<CallOp> layers;
  for (LastLayer place : places) {
    turns.push_back(cutTurn(place));
    turns.back().layer.setCallee(copy.getSymName());
    layers.push_back(turns.back().layer);
  }
  overlap::CallCut calls(copy, layers);
  overlap::FunctionCut cut(
      copy, {{.suffix = ".first"}, {.suffix = ".rest", .isRest = true}}, std::move(kinds),
      [&](Value value) { return "call " + std::to_string(numbers.at(value.getDefiningOp())); });
  cut.cut();
  for (auto [turn, first] : llvm::zip(turns, calls.replace(cut)))
    turn.layer = first;
  copy.erase();
  cutSums(name, turns);
}

namespace {
struct CutLastLayerPass : tplan::overlap::impl::CutLastLayerPassBase<CutLastLayerPass> {
  void runOnOperation() final {
    ModuleOp module = getOperation();
    lang::Settings settings(module);
    cost::Prices prices(settings, dist::meshOf(module));
    cost::OverlapChoice choice(module, settings, prices);
    if (!choice.starts(lang::Overlap::Dp) || choice.keepsMemory())
      return markAllAnalysesPreserved();
    using Functions = std::pair<Operation *, Operation *>; // of a layer and its sums
    llvm::MapVector<Functions, LayerCut> cuts;
    for (auto [i, program] : llvm::enumerate(module.getOps<sched::ProgramOp>())) {
      if (!cost::roomOf(module, i).cutsLastLayer())
        continue;
      for (auto section : program.getBody().getOps<SectionOp>())
        for (LastLayer last : lastLayersOf(section, prices)) {
          Functions functions = {last.layer.getFunction(), last.sums.getFunction()};
          LayerCut &cut = cuts.insert({functions, LayerCut(prices, choice)}).first->second;
          if (cut.add(last))
            break;
        }
    }
    llvm::DenseMap<Operation *, int64_t> made; // cuts of a function: with unlike sums, several
    for (auto &[functions, cut] : cuts)
      if (!cut.isEmpty()) {
        int64_t number = ++made[functions.first];
        cut.apply(number == 1 ? ".last" : ".last" + std::to_string(number));
      }
  }

  /// Layers from the last one on: after the one that is cut come tables at most, which are summed
  /// at once.
  static SmallVector<LastLayer> lastLayersOf(SectionOp section, const cost::Prices &prices) {
    SmallVector<LastLayer> layers;
    if (section.getKind() != sched::TaskKind::B && section.getKind() != sched::TaskKind::W)
      return layers;
    SmallVector<RunOp> runs(section.getBody().getOps<RunOp>());
    for (RunOp run : llvm::reverse(runs))
      if (std::optional<LastLayer> last = lastLayerOf(run, prices))
        layers.push_back(*last);
    return layers;
  }
};
} // namespace
