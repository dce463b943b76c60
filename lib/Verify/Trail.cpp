//===- Trail.cpp - where values come from, to name the first that differs -===//
#include "lib/Verify/Trail.h"
#include "dialects/dist/Dist.h"
#include "dialects/nn/NNRuns.h"
#include "dialects/tplan/Settings.h"
#include "lib/Differentiate/Differentiate.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::verify;
using differentiate::kProbe;

/// Sums that ranks add in another order differ by roundings of f64. If a value is zero by algebra,
/// roundings are all it has: so they are measured by what the value is computed from.
static constexpr double kTolerance = 1e-8, kRoundings = 1e-11;

static int64_t probeOf(Operation *op) {
  auto number = op ? op->getAttrOfType<IntegerAttr>(kProbe) : IntegerAttr();
  return number ? number.getInt() : -1;
}

/// `{i}` of a path is replaced by the number of an instance.
static std::string nameOf(ParamOp param, int64_t instance) {
  std::string path = param.getPath().str();
  if (size_t at = path.find("{i}"); at != std::string::npos)
    path.replace(at, 3, std::to_string(param.getFirst() + instance * param.getStep()));
  return path;
}

/// "layer 3 of blocks" by the weights that it has; else the name of its function.
static std::string titleOf(SymbolTable &symbols, LayerOp layer, DictionaryAttr bound,
                           int64_t instance) {
  for (NamedAttribute entry : bound) {
    auto param = symbols.lookup<ParamOp>(cast<FlatSymbolRefAttr>(entry.getValue()).getValue());
    StringRef path = param.getPath();
    if (size_t at = path.find(".{i}."); at != StringRef::npos && !param->hasAttr(kProbe))
      return ("layer " + Twine(param.getFirst() + instance * param.getStep()) + " of " +
              path.take_front(at))
          .str();
  }
  return layer.getSymName().str();
}

void Trail::readPlan(ModuleOp module) {
  lang::Settings settings(module);
  plan = settings.planName.str();
  planLoc = settings.planLine("");
  auto add = [&](ArrayRef<std::string> axes, const Twine &what, StringRef key) {
    for (const std::string &axis : axes)
      lines.push_back({axis, (what + " over " + axis + " here").str(), settings.planLine(key)});
  };
  for (auto [i, shard] : llvm::enumerate(settings.plan.shard))
    add(shard.axes, llvm::join(shard.dims, ", ") + (shard.dims.size() > 1 ? " are cut" : " is cut"),
        lang::shardKey(i));
  if (settings.plan.zero)
    add(settings.plan.zero->axes, "zero goes", "zero");
}

void Trail::readValues(ModuleOp module) {
  SymbolTable symbols(module);
  for (auto chain : module.getOps<ChainOp>()) {
    if (!chain.getLosses())
      continue;
    for (RunOp run : chain.getOps<RunOp>()) {
      auto callees = run.getCallees().getAsRange<FlatSymbolRefAttr>();
      int64_t period = run.getCallees().size();
      for (int64_t t = 0, e = run.getTimes(); t < e; ++t)
        for (auto [j, callee, bound] :
             llvm::enumerate(callees, run.getParams().getAsRange<DictionaryAttr>())) {
          auto layer = symbols.lookup<LayerOp>(callee.getValue());
          layers.push_back({static_cast<int64_t>(run.getFirstLayer() + t * period + j),
                            layer.getSymName().str(),
                            titleOf(symbols, layer, bound, run.getFirstInstance() + t)});
        }
    }
  }
  for (auto layer : module.getOps<LayerOp>()) {
    llvm::DenseSet<mlir::Value> backward = backwardOf(layer);
    for (Operation &op : layer.getBlock()) {
      int64_t probe = probeOf(&op);
      if (probe < 0)
        continue;
      Value value{
          op.getName().getStringRef().str(), op.getLoc(), backward.contains(op.getResult(0)), {}};
      for (mlir::Value operand : op.getOperands())
        if (int64_t from = probeOf(operand.getDefiningOp()); from >= 0)
          value.operands.push_back(from);
      values[layer.getSymName().str()].try_emplace(probe, std::move(value));
    }
  }
}

/// With the axes as the plan names them.
static Passage passage(const Twine &what, ArrayRef<StringAttr> axes, Operation *op) {
  Passage made{what.str(), op->getLoc(), {}};
  dist::MeshAttr mesh = dist::meshOf(op->getParentOfType<ModuleOp>());
  for (StringAttr axis : axes)
    made.axes.push_back(mesh.planAxisOf(axis).str());
  return made;
}

static Passage passage(StringRef how, dist::CollectiveOp op) {
  return passage(how + " through " + dist::spell(op), dist::axesOf(op.getAxes()), op);
}

/// The sums over ranks that the results of an op still need, and the collectives on them.
static std::vector<Passage> passagesBefore(Operation *op) {
  std::vector<Passage> found;
  for (OpResult result : op->getResults()) {
    if (ArrayRef<StringAttr> sum = dist::layoutOf(result).getSum(); !sum.empty())
      found.push_back(passage("each rank has its part of a sum over " + dist::spell(sum), sum, op));
    for (Operation *user : result.getUsers())
      if (auto collective = dyn_cast<dist::CollectiveOp>(user))
        found.push_back(passage("it goes", collective));
  }
  return found;
}

/// Collectives between `value` and the probed ops that it comes from.
static std::vector<Passage> passagesTo(mlir::Value value) {
  std::vector<Passage> found;
  llvm::SetVector<Operation *> ops;
  auto follow = [&](mlir::Value v) {
    if (Operation *op = v.getDefiningOp(); op && probeOf(op) < 0)
      ops.insert(op);
  };
  follow(value);
  for (size_t i = 0; i < ops.size(); ++i) {
    for (mlir::Value operand : ops[i]->getOperands())
      follow(operand);
    if (auto collective = dyn_cast<dist::CollectiveOp>(ops[i]))
      found.push_back(passage("it comes", collective));
  }
  return found;
}

void Trail::readCollectives(ModuleOp module) {
  SymbolTable symbols(module);
  DenseMap<Attribute, std::map<std::string, std::vector<Passage>>> reductions; // by layer, name
  for (auto layer : module.getOps<LayerOp>()) {
    auto &ofLayer = reductions[layer.getWholeLayer()];
    if (layer.getPart() == Part::Reduce)
      for (auto [i, value] : llvm::enumerate(layer.getReturn().getOperands()))
        ofLayer[layer.getResultName(i).str()] = passagesTo(value);
    if (!layer.getPart()) // what is reduced in the backward
      for (auto [i, value] : llvm::enumerate(layer.getReturn().getOperands()))
        if (layer.getResultRole(i) == Role::CotParam)
          if (std::vector<Passage> found = passagesTo(value); !found.empty())
            ofLayer.try_emplace(layer.getResultName(i).str(), found);
    for (Operation &op : layer.getBlock())
      if (int64_t probe = probeOf(&op); probe >= 0) {
        std::vector<Passage> &known = passages[{layer.getSymName().str(), probe}];
        for (mlir::Value operand : op.getOperands())
          llvm::append_range(known, passagesTo(operand));
        llvm::append_range(known, passagesBefore(&op));
      }
  }
  for (auto chain : module.getOps<ChainOp>())
    for (RunOp run : chain.getOps<RunOp>())
      for (auto [callee, bound] : llvm::zip(run.getCallees().getAsRange<FlatSymbolRefAttr>(),
                                            run.getParams().getAsRange<DictionaryAttr>()))
        for (NamedAttribute entry : bound) {
          auto param =
              symbols.lookup<ParamOp>(cast<FlatSymbolRefAttr>(entry.getValue()).getValue());
          std::vector<Passage> &reduction = reductions[callee][entry.getName().str()];
          for (int64_t i = 0, e = param.getCount(); i < e; ++i) {
            auto &known = weights.try_emplace(nameOf(param, i), Weight{param.getLoc(), {}})
                              .first->second.reduction;
            if (known.empty())
              known = reduction;
          }
        }
}

const Trail::Weight *Trail::weight(StringRef name) const {
  auto found = weights.find(name.str());
  return found == weights.end() ? nullptr : &found->second;
}

/// One number of a gradient file; nothing where no rank has written it.
static std::optional<double> numberOf(const Tensors &tensors, int64_t layer, int64_t probe) {
  auto found =
      tensors.find("probe." + std::to_string(layer) + "." + std::to_string(probe) + ".grad");
  if (found == tensors.end() || found->second.empty())
    return std::nullopt;
  return found->second.front();
}

bool Trail::differs(const Layer &layer, const std::map<int64_t, Value> &known, int64_t probe,
                    const Tensors &serial, const Tensors &ranks, double &off) const {
  std::optional<double> wanted = numberOf(serial, layer.number, probe),
                        found = numberOf(ranks, layer.number, probe);
  if (!wanted || !found)
    return false;
  double scale = std::max(std::abs(*wanted), std::abs(*found)), from = 0;
  for (int64_t operand : known.at(probe).operands)
    from = std::max(from, std::abs(numberOf(serial, layer.number, operand).value_or(0)));
  double apart = std::abs(*wanted - *found);
  off = scale > 0 ? apart / scale : 0;
  return !(apart <= std::max(kTolerance * scale, kRoundings * from));
}

std::optional<Point> Trail::first(const Tensors &serial, const Tensors &ranks) const {
  auto look = [&](const Layer &layer, bool backward) -> std::optional<Point> {
    auto known = values.find(layer.function);
    if (known == values.end())
      return std::nullopt;
    for (auto &[probe, value] : known->second) {
      double off = 0;
      if (value.backward != backward || !differs(layer, known->second, probe, serial, ranks, off))
        continue;
      auto through = passages.find({layer.function, probe});
      return Point{value.op,  layer.title,
                   value.loc, backward,
                   off,       through == passages.end() ? std::vector<Passage>() : through->second};
    }
    return std::nullopt;
  };
  for (const Layer &layer : layers)
    if (auto point = look(layer, /*backward=*/false))
      return point;
  for (const Layer &layer : llvm::reverse(layers))
    if (auto point = look(layer, /*backward=*/true))
      return point;
  return std::nullopt;
}
