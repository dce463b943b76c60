//===- CheckLayouts.cpp - no value is summed too little, or twice ---------===//
//
// Judges a module with global sizes and layouts, whoever wrote them: each op, each border between
// functions, and each sum of a step. The mesh is that of the module; the plan is not read.
//
// One decision: memory that several functions share (a weight, a gradient, a sum) has one
// layout from writer to reader, so a part of a sum cannot be read as the sum.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "lib/Shard/Borders.h"
#include "lib/Shard/CheckOp.h"
#include "lib/Shard/Shard.h"
#include "mlir/IR/BuiltinOps.h"

namespace tplan::shard {
#define GEN_PASS_DEF_CHECKLAYOUTSPASS
#include "lib/Shard/Passes.h.inc"
} // namespace tplan::shard

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::shard;
using dist::Axes;
using dist::LayoutAttr;

namespace {

LayoutAttr layoutOfResult(LayerOp layer, unsigned i) {
  auto layout = layer.getResultAttrOfType<LayoutAttr>(i, dist::kLayout);
  return layout ? layout : LayoutAttr::get(layer.getContext(), {}, {}, {}, {});
}

std::string nameOf(Role role, StringRef name) { return (stringifyRole(role) + " " + name).str(); }

bool readsReduced(LayerOp layer) {
  return layer.getPart() && factsOf(*layer.getPart()).readsReduced;
}

/// Sums that a later function makes: each rank may leave its part of them in a function's result.
bool isAccumulator(LayerOp layer, Role role) {
  if (layer.getPart() == Part::Norm && role == Role::Carried)
    return true;
  return role == Role::Loss || role == Role::CotParam || role == Role::Contribution;
}

//===----------------------------------------------------------------------===//
// One function
//===----------------------------------------------------------------------===//

class LayerChecker {
public:
  LayerChecker(LayerOp layer, dist::MeshAttr mesh) : layer(layer), mesh(mesh) {}

  LogicalResult check() {
    for (BlockArgument arg : layer.getArguments()) {
      unsigned i = arg.getArgNumber();
      Role role = layer.getArgRole(i);
      if (failed(checkLayout(layer.getLoc(), "argument " + nameOf(role, layer.getArgName(i)),
                             typeOf(arg), dist::layoutOf(arg), mesh)) ||
          failed(checkBorder("argument", role, layer.getArgName(i), dist::layoutOf(arg))))
        return failure();
    }
    for (Operation &op : layer.getBlock().without_terminator())
      if (failed(checkOp(&op, mesh)))
        return failure();
    for (unsigned i = 0, e = layer.getNumResults(); i < e; ++i)
      if (failed(checkResult(i)))
        return failure();
    return success();
  }

private:
  LogicalResult checkResult(unsigned i) {
    Role role = layer.getResultRole(i);
    StringRef name = layer.getResultName(i);
    LayoutAttr layout = layoutOfResult(layer, i);
    Value value = layer.getReturn().getOperand(i);
    if (failed(checkLayout(layer.getLoc(), "result " + nameOf(role, name), typeOf(value), layout,
                           mesh)) ||
        failed(checkBorder("result", role, name, layout)))
      return failure();
    if (LayoutAttr found = dist::layoutOf(value); found != layout) {
      auto diag = layer.getReturn().emitError("returns another layout than result ")
                  << nameOf(role, name) << " has: " << layout << ", found " << found;
      diag.attachNote(value.getLoc()) << "made here; change its layout with dist.reshard";
      return diag;
    }
    return checkMemory(i, layout);
  }

  LogicalResult checkBorder(StringRef what, Role role, StringRef name, LayoutAttr layout) {
    bool isRead = role == Role::CotParam || role == Role::Contribution;
    bool isReader = readsReduced(layer);
    bool mayBePending =
        isAccumulator(layer, role) && (layout.getMax().empty() || role == Role::Contribution);
    if (!layout.isPending() || (mayBePending && !(isRead && isReader && what == "argument")))
      return success();
    bool isMax = !layout.getMax().empty();
    auto diag = layer.emitError("pending where it must be made: ")
                << what << " " << nameOf(role, name) << " of " << layer.getSymName() << ", a "
                << (isMax ? "maximum" : "sum") << " over "
                << dist::spell(isMax ? layout.getMax() : layout.getSum());
    diag.attachNote() << "each rank along these axes has a part of it; reduce it before";
    return diag;
  }

  /// A result in an argument's memory must have its layout, except where a gradient is summed
  /// (`reduce`) or cleared (`update`).
  LogicalResult checkMemory(unsigned result, LayoutAttr layout) {
    std::optional<Part> part = layer.getPart();
    if (part == Part::Reduce ||
        (part == Part::Update && layer.getResultRole(result) == Role::CotParam))
      return success();
    for (BlockArgument arg : layer.getArguments())
      if (layer.isInPlace(arg.getArgNumber(), result) && dist::layoutOf(arg) != layout)
        return layer.emitError("one memory has two layouts: ")
               << nameOf(layer.getResultRole(result), layer.getResultName(result)) << ", taken as "
               << dist::layoutOf(arg) << ", given as " << layout;
    return success();
  }

  LayerOp layer;
  dist::MeshAttr mesh;
};

//===----------------------------------------------------------------------===//
// All functions of a step
//===----------------------------------------------------------------------===//

class StepChecker {
public:
  StepChecker(ModuleOp module, dist::MeshAttr mesh) : module(module), mesh(mesh), symbols(module) {}

  LogicalResult check() {
    for (auto layer : module.getOps<LayerOp>())
      if (failed(LayerChecker(layer, mesh).check()))
        return failure();
    for (auto layer : module.getOps<LayerOp>())
      layers[layer.getWholeLayer()].push_back(layer);
    for (auto chain : module.getOps<ChainOp>())
      if (failed(checkChain(chain)))
        return failure();
    return success();
  }

private:
  LogicalResult checkChain(ChainOp chain) {
    for (Operation &op : chain.getBody().front())
      for (auto [i, result] : llvm::enumerate(op.getResults()))
        if (failed(checkLayout(op.getLoc(), "result " + Twine(i), typeOf(result),
                               dist::layoutOf(result), mesh)))
          return failure();
    for (auto run : chain.getOps<RunOp>())
      for (auto [callee, params] : llvm::zip(run.getCallees().getAsRange<FlatSymbolRefAttr>(),
                                             run.getParams().getAsRange<DictionaryAttr>()))
        if (auto layer = symbols.lookup<LayerOp>(callee.getValue()))
          if (failed(checkRun(run, layer)) || failed(checkSums(chain, layer)) ||
              failed(checkMemories(layer, params)))
            return failure();
    return checkNorm(chain);
  }

  /// What the chain gives a function, and takes from it.
  LogicalResult checkRun(RunOp run, LayerOp layer) {
    auto check = [&](StringRef what, const Label &label, LayoutAttr layout) -> LogicalResult {
      ValueRange values = label.role == Role::Invariant ? ValueRange(run.getInvariants())
                          : what == "result"            ? ValueRange(run.getResults())
                                                        : ValueRange(run.getCarried());
      unsigned at = label.position.value_or(values.size());
      if ((label.role != Role::Carried && label.role != Role::Invariant) || at >= values.size() ||
          dist::layoutOf(values[at]) == layout)
        return success();
      auto diag = run.emitError("chain and function must agree on the layout of ")
                  << what << " " << nameOf(label.role, label.name) << ": "
                  << dist::layoutOf(values[at]) << ", found " << layout;
      diag.attachNote(layer.getLoc()) << layer.getSymName() << " stands here";
      return diag;
    };
    for (BlockArgument arg : layer.getArguments())
      if (failed(check("argument", layer.getArgLabel(arg.getArgNumber()), dist::layoutOf(arg))))
        return failure();
    for (unsigned i = 0, e = layer.getNumResults(); i < e; ++i)
      if (failed(check("result", layer.getResultLabel(i), layoutOfResult(layer, i))))
        return failure();
    return success();
  }

  static Axes pendingOf(ChainOp chain, StringRef name) {
    auto all = chain->getAttrOfType<DictionaryAttr>(dist::kPending);
    auto axes = all ? all.getAs<ArrayAttr>(name) : ArrayAttr();
    return axes ? dist::axesOf(axes) : Axes();
  }

  /// Losses and counts, which the chain reduces once a step.
  LogicalResult checkSums(ChainOp chain, LayerOp layer) {
    for (unsigned i = 0, e = layer.getNumResults(); i < e; ++i)
      if (layer.getResultRole(i) == Role::Loss &&
          failed(checkSum(chain, layer.getResultName(i), layoutOfResult(layer, i).getSum(),
                          layer.getLoc())))
        return failure();
    return success();
  }

  LogicalResult checkSum(ChainOp chain, StringRef name, ArrayRef<StringAttr> pending,
                         Location where) {
    Axes made = pendingOf(chain, name);
    if (mesh.sorted(made) == mesh.sorted(pending))
      return success();
    auto diag = chain.emitError("reduces ")
                << name << " over [" << dist::spell(made) << "], found it pending over ["
                << dist::spell(pending) << "]";
    diag.attachNote(where) << "the ranks' parts are added here; list their axes in "
                           << dist::kPending;
    return diag;
  }

  /// Each rank has a part of the norm, and each weight is counted in one of the ranks that have it.
  LogicalResult checkNorm(ChainOp chain) {
    if (!chain.getLosses())
      return success();
    for (auto layer : module.getOps<LayerOp>())
      if (layer.getPart() == Part::Norm)
        for (unsigned i = 0, e = layer.getNumResults(); i < e; ++i)
          if (layer.getResultRole(i) == Role::Carried &&
              failed(checkSum(chain, dist::kNormSum, layoutOfResult(layer, i).getSum(),
                              layer.getLoc())))
            return failure();
    return success();
  }

  /// Memory that functions share, with the layout in which a function finds it.
  struct Shared {
    LayoutAttr layout;
    LayerOp layer;
  };

  /// Weights and gradients go by the weight they belong to, contributions by their layer.
  LogicalResult checkMemories(LayerOp callee, DictionaryAttr params) {
    auto keyOf = [&](Role role, StringRef name) -> std::string {
      if (role == Role::Contribution)
        return (callee.getWholeLayer().getValue() + " contribution " + name).str();
      if (role != Role::Param && role != Role::CotParam)
        return "";
      auto param = params.getAs<FlatSymbolRefAttr>(name);
      return param ? nameOf(role, param.getValue()) : "";
    };
    for (LayerOp layer : layers.lookup(callee.getWholeLayer())) {
      // Between part `reduce` and part `update` a gradient is reduced; without a part `reduce` it
      // stays as it is.
      bool reader = readsReduced(layer), reduces = layer.getPart() == Part::Reduce;
      for (BlockArgument arg : layer.getArguments()) {
        Role role = layer.getArgRole(arg.getArgNumber());
        if (failed(note(keyOf(role, layer.getArgName(arg.getArgNumber())),
                        role != Role::Param && reader, dist::layoutOf(arg), layer)))
          return failure();
      }
      for (unsigned i = 0, e = layer.getNumResults(); i < e; ++i) {
        Role role = layer.getResultRole(i);
        std::string key = keyOf(role, layer.getResultName(i));
        if (reduces && !key.empty())
          reduced.insert(key);
        if (failed(note(key, role != Role::Param && reduces, layoutOfResult(layer, i), layer)))
          return failure();
      }
    }
    return checkReductions();
  }

  LogicalResult note(std::string key, bool isReduced, LayoutAttr layout, LayerOp layer) {
    if (key.empty())
      return success();
    auto [it, isNew] = memories[isReduced].try_emplace(key, Shared{layout, layer});
    if (isNew || it->second.layout == layout)
      return success();
    return differ(key, it->second, {layout, layer});
  }

  LogicalResult checkReductions() {
    for (auto &[key, after] : memories[true])
      if (auto before = memories[false].find(key); before != memories[false].end() &&
                                                   !reduced.contains(key) &&
                                                   before->second.layout != after.layout)
        return differ(key, before->second, after);
    return success();
  }

  LogicalResult differ(StringRef key, const Shared &a, const Shared &b) {
    auto diag = LayerOp(b.layer).emitError("functions must agree on the layout of ")
                << key << ": " << a.layout << ", found " << b.layout;
    diag.attachNote(LayerOp(a.layer).getLoc())
        << "of another layout here; a gradient is reduced in part reduce of its layer";
    return diag;
  }

  ModuleOp module;
  dist::MeshAttr mesh;
  SymbolTable symbols;
  DenseMap<Attribute, SmallVector<LayerOp, 6>> layers; // the parts of a whole layer, or it alone
  std::map<std::string, Shared> memories[2];           // while it is summed up; after it is reduced
  std::set<std::string> reduced;                       // by part `reduce`
};

struct CheckLayoutsPass : tplan::shard::impl::CheckLayoutsPassBase<CheckLayoutsPass> {
  void runOnOperation() final {
    if (getOperation()->hasAttr(dist::kMesh) &&
        failed(StepChecker(getOperation(), dist::meshOf(getOperation())).check()))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
