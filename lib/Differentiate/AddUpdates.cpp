//===- AddUpdates.cpp - gradient norm and optimizer as layer functions ----===//
//
// Part `norm` of a layer adds the squares of its gradients to the norm, part `update`
// updates its parameters and leaves its gradients zero. A weight that several
// runs bind is updated by the first of them only.
//
// Where the loss is scaled, gradients are scaled until part `update` reads them: it multiplies them
// by the scalar `unscale`. Where they are not finite `unscale` is 0, and the part leaves everything
// as it was.
//
// One decision: runs of one layer share its parts. Where they cannot, because some weights decay
// and others do not, a run gets a copy of the layer.
//
// Formulas: Loshchilov and Hutter, "Decoupled weight decay regularization", 2019;
// Sutskever et al., "On the importance of initialization and momentum", 2013.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNRuns.h"
#include "dialects/nn/Scalars.h"
#include "dialects/tplan/LossScale.h"
#include "dialects/tplan/Settings.h"
#include "lib/Differentiate/Differentiate.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

namespace tplan::differentiate {
#define GEN_PASS_DEF_ADDUPDATESPASS
#include "lib/Differentiate/Passes.h.inc"
} // namespace tplan::differentiate

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

using lang::Optimizer;

/// Selectors name the weights of a list without its index.
double decayOf(const Optimizer &optimizer, ParamOp param) {
  std::string path = param.getPath().str();
  if (size_t at = path.find("{i}."); at != std::string::npos)
    path.erase(at, 4);
  return llvm::is_contained(optimizer.noDecay, path) ? 0 : optimizer.decay;
}

/// A function that grows by weights, with step scalars made once.
class PartBuilder {
public:
  PartBuilder(ModuleOp module, FlatSymbolRefAttr whole, Part part, Location loc) {
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    layer = createPart(builder, loc, whole, part);
  }

  NNBuilder builder(ParamOp param) { return NNBuilder(param.getLoc(), layer.getReturn()); }

  /// What belongs to a weight, with its place.
  Value arg(Role role, const Twine &name, ParamOp param) {
    return layer.addArg(role, name.str(), param.getType(), param.getLoc());
  }
  /// A step scalar in f64: lr, norm, powers of beta.
  Value scalar(StringRef name) {
    Value &value = scalars[name];
    if (!value)
      value =
          layer.addArg(Role::Scalar, name,
                       Tensor::get(layer.getContext(), {}, Float64Type::get(layer.getContext())),
                       layer.getLoc());
    return value;
  }
  /// `updated`, or `old` where the step is skipped: a select, because what is not finite stays so
  /// when it is multiplied by 0.
  Value unlessSkipped(ParamOp param, Value updated, Value old) {
    if (!scales)
      return updated;
    NNBuilder b = builder(param);
    Value unscale = scalar(nn::kUnscale);
    return b.select(b.compare(CmpKind::gt, unscale, b.like(unscale, 0)), updated, old);
  }

  LayerOp layer;
  bool scales = false; // gradients are those of a scaled loss

private:
  llvm::StringMap<Value> scalars;
};

void addNorm(PartBuilder &part, StringRef name, ParamOp param, Value &norm) {
  Value g = part.arg(Role::CotParam, name, param);
  NNBuilder b = part.builder(param);
  Value squares = b.mul(g, g);
  if (typeOf(squares).getRank() > 0) // rows in the gradient's type, their sum in f64
    squares = b.sum(squares, {typeOf(squares).getDims().back().getName()});
  // The sum of the rows in one: ranks may have blocks of rows.
  SmallVector<StringRef> rows;
  for (DimAttr dim : typeOf(squares).getDims())
    rows.push_back(dim.getName());
  norm = b.add(norm, b.sum(b.cast(squares, b.getF64Type()), rows));
}

/// Scale of all gradients: min(1, clip / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_.
Value clipped(PartBuilder &part, const Optimizer &optimizer, ParamOp param, Value g) {
  if (optimizer.clip == 0)
    return g;
  NNBuilder b = part.builder(param);
  Value norm = b.addNumber(b.sqrt(part.scalar(nn::kNorm)), 1e-6);
  Value scale = b.min(b.div(b.like(norm, optimizer.clip), norm), b.like(norm, 1));
  return b.mul(g, b.cast(scale, typeOf(g).getElementType()));
}

Value state(PartBuilder &part, StringRef name, StringRef slot, ParamOp param) {
  return part.layer.addArg(labelOfState(param.getContext(), name, slot), param.getType(),
                           param.getLoc());
}

/// m and what it becomes.
void setState(PartBuilder &part, StringRef name, StringRef slot, ParamOp param, Value updated,
              Value old) {
  part.layer.addResult(labelOfState(param.getContext(), name, slot),
                       part.unlessSkipped(param, updated, old));
}

/// p after m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2, both corrected for their start at 0.
Value adamw(PartBuilder &part, const Optimizer &optimizer, StringRef name, ParamOp param, Value p,
            Value g) {
  double beta1 = optimizer.beta1, beta2 = optimizer.beta2;
  Value m = state(part, name, "m", param), v = state(part, name, "v", param);
  NNBuilder b = part.builder(param);
  Type element = typeOf(p).getElementType();
  auto correction = [&](StringRef power) {
    Value x = part.scalar(power);
    return b.sub(b.like(x, 1), x);
  };
  Value size = b.cast(b.div(part.scalar(nn::kLearningRate), correction(nn::kBeta1Power)), element);
  Value root = b.cast(b.sqrt(correction(nn::kBeta2Power)), element);
  Value nextM = b.add(b.scale(m, beta1), b.scale(g, 1 - beta1));
  Value nextV = b.add(b.scale(v, beta2), b.scale(b.mul(g, g), 1 - beta2));
  setState(part, name, "m", param, nextM, m);
  setState(part, name, "v", param, nextV, v);
  Value denominator = b.addNumber(b.div(b.sqrt(nextV), root), optimizer.eps);
  return b.sub(p, b.mul(size, b.div(nextM, denominator)));
}

/// p after m = momentum m + g.
Value sgd(PartBuilder &part, const Optimizer &optimizer, StringRef name, ParamOp param, Value p,
          Value g) {
  NNBuilder b = part.builder(param);
  if (double momentum = optimizer.momentum) {
    Value m = state(part, name, "m", param);
    g = b.add(b.scale(m, momentum), g);
    setState(part, name, "m", param, g, m);
  }
  return b.sub(p, b.mul(b.cast(part.scalar(nn::kLearningRate), typeOf(p).getElementType()), g));
}

void addUpdate(PartBuilder &part, const Optimizer &optimizer, StringRef name, ParamOp param) {
  Value p = part.arg(Role::Param, name, param);
  Value g = part.arg(Role::CotParam, name, param);
  NNBuilder b = part.builder(param);
  Value old = p, unscaled = g;
  if (part.scales)
    unscaled = b.mul(g, b.cast(part.scalar(nn::kUnscale), typeOf(g).getElementType()));
  unscaled = clipped(part, optimizer, param, unscaled);
  if (double decay = decayOf(optimizer, param)) {
    Value keep = b.sub(b.number(1, b.getF64Type()), b.scale(part.scalar(nn::kLearningRate), decay));
    p = b.mul(p, b.cast(keep, typeOf(p).getElementType()));
  }
  auto formula = optimizer.kind == lang::OptimizerKind::Sgd ? sgd : adamw;
  Value updated = formula(part, optimizer, name, param, p, unscaled);
  part.layer.addResult(Role::Param, name, part.unlessSkipped(param, updated, old));
  part.layer.addResult(Role::CotParam, name, b.broadcast(b.like(g, 0), typeOf(g)));
}

struct AddUpdatesPass : tplan::differentiate::impl::AddUpdatesPassBase<AddUpdatesPass> {
  void runOnOperation() final {
    ModuleOp module = getOperation();
    symbols.emplace(module);
    parts.emplace(module);
    claimed.clear(), copies.clear();
    lang::Settings settings(module);
    if (!settings.recipe.optimizer)
      return;
    const Optimizer &optimizer = *settings.recipe.optimizer;
    scale = settings.plan.lossScale;
    if (scale && scale->interval)
      addScaleStates();

    for (auto chain : module.getOps<ChainOp>())
      if (chain.getLosses())
        for (RunOp run : chain.getOps<RunOp>())
          addUpdates(run, optimizer);
  }

private:
  using Bound = std::pair<StringRef, ParamOp>; // a weight by its name in the layer

  void addUpdates(RunOp run, const Optimizer &optimizer) {
    SmallVector<Attribute> callees;
    for (auto [callee, params] : llvm::zip(run.getCallees().getAsRange<FlatSymbolRefAttr>(),
                                           run.getParams().getAsRange<DictionaryAttr>())) {
      SmallVector<Bound> mine;
      std::string updates; // names and decays: what must agree to share the parts
      llvm::raw_string_ostream os(updates);
      for (NamedAttribute bound : params) {
        StringRef symbol = cast<FlatSymbolRefAttr>(bound.getValue()).getValue();
        auto param = symbols->lookup<ParamOp>(symbol);
        if (param.isState() || !claimed.insert(symbol).second)
          continue;
        mine.push_back({bound.getName(), param});
        os << bound.getName() << ' ' << decayOf(optimizer, param) << '\n';
      }
      auto [layer, isNew] = layerFor(callee, updates);
      if (isNew && !mine.empty())
        addParts(layer, optimizer, mine, run.getLoc());
      callees.push_back(layer);
    }
    run.setCalleesAttr(ArrayAttr::get(&getContext(), callees));
  }

  /// The layer whose parts do these updates, and whether they are still to be made.
  std::pair<FlatSymbolRefAttr, bool> layerFor(FlatSymbolRefAttr callee, StringRef updates) {
    SmallVectorImpl<std::pair<std::string, FlatSymbolRefAttr>> &known = copies[callee.getValue()];
    for (auto &[other, layer] : known)
      if (other == updates)
        return {layer, false};
    FlatSymbolRefAttr layer = callee;
    if (!known.empty()) {
      auto original = symbols->lookup<LayerOp>(callee.getValue());
      layer = FlatSymbolRefAttr::get(
          copyLayer(*symbols, *parts, original, callee.getValue(), Part::States));
    }
    known.push_back({updates.str(), layer});
    return {layer, true};
  }

  void addParts(FlatSymbolRefAttr layer, const Optimizer &optimizer, ArrayRef<Bound> params,
                Location loc) {
    PartBuilder norm(getOperation(), layer, Part::Norm, loc),
        update(getOperation(), layer, Part::Update, loc);
    update.scales = scale.has_value();
    Value sum =
        norm.layer.addArg(Role::Carried, "norm",
                          Tensor::get(&getContext(), {}, Float64Type::get(&getContext())), loc);
    for (auto [name, param] : params) {
      addNorm(norm, name, param, sum);
      addUpdate(update, optimizer, name, param);
    }
    norm.layer.addResult(Role::Carried, "norm", sum);
  }

  /// What the steps so far have shown, for step-kernels: saved in checkpoints with the other
  /// states.
  void addScaleStates() {
    OpBuilder b = OpBuilder::atBlockBegin(getOperation().getBody());
    auto number = Tensor::get(&getContext(), {}, b.getF64Type());
    for (auto [symbol, start] :
         {std::pair(lang::kLossScale, scale->start), std::pair(lang::kGoodSteps, 0.0)}) {
      auto init = InitAttr::get(&getContext(), "constant", b.getF64FloatAttr(start));
      ParamOp::create(b, getOperation().getLoc(), symbol, number, 1, "loss", 0, 1, 0, 0, init,
                      ParamKind::State, FlatSymbolRefAttr());
    }
  }

  std::optional<SymbolTable> symbols;
  std::optional<PartTable<LayerOp>> parts; // that exist when the pass begins, and their copies
  std::optional<lang::LossScale> scale;
  llvm::StringSet<> claimed; // weights that have an update
  llvm::StringMap<SmallVector<std::pair<std::string, FlatSymbolRefAttr>, 1>> copies; // by layer
};

} // namespace
