//===- CutMessages.cpp - what ranks have alike is sent in parts --------------===//
//
// A value that goes to the next stage is the same on all ranks along axes that cut none of its
// dimensions, as activations are along `tp` without sequence parallelism. Each of these ranks would
// send all of it over the slow links between nodes; in parts each sends a part of it.
//
// One decision: the functions that cut and gather are layers like any other, made where sizes are
// those of a rank. So later phases price them, give them memory and order their collective without
// knowing of messages; only `schedule` does, which calls them with the message.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/nn/NNRuns.h"
#include "lib/Cost/Links.h"
#include "lib/Shard/Placement.h"
#include "lib/Shard/Shard.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace tplan::shard {
#define GEN_PASS_DEF_CUTMESSAGESPASS
#include "lib/Shard/Passes.h.inc"
} // namespace tplan::shard

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::shard;
using dist::LayoutAttr;

namespace {

/// How a value is cut: the ranks along some axes have a block each of a dimension.
struct Cut {
  ArrayAttr axes;
  StringAttr dim;
  Tensor part;
};

class MessageCutter {
public:
  MessageCutter(ModuleOp module, ChainOp chain, const Placement &placement)
      : module(module), chain(chain), placement(placement), mesh(dist::meshOf(module)),
        links(lang::Settings(module), mesh,
              module->getAttrOfType<DictionaryAttr>(lang::kCostSizes)),
        symbols(module) {}

  void run() {
    for (auto run : chain.getOps<RunOp>()) {
      SmallVector<Attribute> messages;
      for (Value result : run.getResults()) {
        std::optional<Cut> cut = isSent(run, result) ? findCut(result) : std::nullopt;
        messages.push_back(cut ? Attribute(layerOf(result, *cut))
                               : UnitAttr::get(module.getContext()));
      }
      if (llvm::any_of(messages, [](Attribute how) { return isa<FlatSymbolRefAttr>(how); }))
        run.setMessagesAttr(ArrayAttr::get(module.getContext(), messages));
    }
  }

private:
  ModuleOp module;
  ChainOp chain;
  const Placement &placement;
  dist::MeshAttr mesh;
  cost::Links links;
  SymbolTable symbols;
  llvm::DenseMap<std::tuple<Type, Attribute, Attribute>, FlatSymbolRefAttr> layers;

  static bool isSent(RunOp run, Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      auto reader = dyn_cast<RunOp>(user);
      return reader && reader.getStage().value_or(0) > run.getStage().value_or(0);
    });
  }

  /// Axes of ranks that have a value alike.
  dist::Axes axesOfCopies(LayoutAttr layout) const {
    dist::Axes axes;
    for (StringAttr axis : mesh.getAxesInStage())
      if (mesh.sizeOf(axis) > 1 && llvm::none_of(layout.getShards(), [&](dist::ShardAttr shard) {
            return llvm::is_contained(shard.getAxes(), axis);
          }))
        axes.push_back(axis);
    return axes;
  }

  /// The bytes of a value by which costs are compared: of a plan that was shrunk, as before that.
  int64_t costedBytes(Tensor type, LayoutAttr layout) const {
    Tensor costed = links.costedAs(type);
    return costed == type ? type.getBytes() : placement.localType(costed, layout).getBytes();
  }

  /// The cheapest way to send a value in parts, if it is cheaper than to send the value. A message
  /// of its cotangent is cut likewise, because that has its type and layout.
  std::optional<Cut> findCut(Value value) {
    LayoutAttr layout = dist::layoutOf(value);
    auto type = cast<Tensor>(value.getType());
    if (layout.isPending() || layout.getRows())
      return std::nullopt;
    std::optional<Cut> best;
    int64_t bytes = costedBytes(type, layout);
    double least = links.secondsOfMessage(mesh.getStages(), bytes);
    dist::Axes copies = axesOfCopies(layout);
    for (unsigned some = 1; some < 1u << copies.size(); ++some) {
      dist::Axes axes;
      for (auto [i, axis] : llvm::enumerate(copies))
        if (some >> i & 1)
          axes.push_back(axis);
      int64_t ranks = mesh.sizeOf(axes);
      auto dim =
          llvm::find_if(type.getDims(), [&](DimAttr dim) { return dim.getSize() % ranks == 0; });
      if (dim == type.getDims().end())
        continue;
      double seconds = cost::Links::secondsAlone(bytes / ranks, /*writes=*/true) +
                       links.secondsOfMessage(mesh.getStages(), bytes / ranks) +
                       links.seconds(axes, bytes - bytes / ranks);
      if (seconds >= least)
        continue;
      least = seconds;
      best = Cut{dist::arrayOf(module.getContext(), axes),
                 StringAttr::get(module.getContext(), dim->getName()),
                 partOf(type, dim->getName(), ranks)};
    }
    return best;
  }

  static Tensor partOf(Tensor type, StringRef name, int64_t ranks) {
    SmallVector<DimAttr> dims;
    for (DimAttr dim : type.getDims())
      dims.push_back(dim.getName() == name ? DimAttr::get(type.getContext(), name,
                                                          dim.getSize() / ranks, dim.getBounded())
                                           : dim);
    return type.withDims(dims);
  }

  /// The layer of messages of one type that are cut in one way.
  FlatSymbolRefAttr layerOf(Value value, const Cut &cut) {
    std::tuple<Type, Attribute, Attribute> key = {value.getType(), cut.axes, cut.dim};
    if (FlatSymbolRefAttr known = layers.lookup(key))
      return known;
    auto layer =
        FlatSymbolRefAttr::get(module.getContext(), "message." + std::to_string(layers.size()));
    layers[key] = layer;
    auto whole = cast<Tensor>(value.getType());
    add(layer, Part::Cut, value.getLoc(), whole, [&](OpBuilder &b, Value x) -> Value {
      return dist::SliceOp::create(b, value.getLoc(), cut.part, x, cut.axes, cut.dim);
    });
    add(layer, Part::Gather, value.getLoc(), cut.part, [&](OpBuilder &b, Value x) -> Value {
      auto op = dist::CollectiveOp::create(
          b, value.getLoc(), whole, dist::CollectiveKind::AllGather, x, cut.axes, ReduceKind::sum,
          cut.dim, StringAttr(), DenseI32ArrayAttr());
      op->setAttr(dist::kActivation, b.getUnitAttr());
      return op;
    });
    return layer;
  }

  void add(FlatSymbolRefAttr layer, Part part, Location loc, Tensor takes,
           llvm::function_ref<Value(OpBuilder &, Value)> body) {
    OpBuilder b(chain);
    LayerOp made = createPart(b, loc, layer, part);
    Value x = made.addArg({Role::Carried, "x"}, takes, loc);
    b.setInsertionPoint(made.getReturn());
    made.addResult({Role::Carried, "x"}, body(b, x));
    symbols.insert(made);
  }
};

struct CutMessagesPass : tplan::shard::impl::CutMessagesPassBase<CutMessagesPass> {
  void runOnOperation() final {
    dist::MeshAttr mesh = dist::meshOf(getOperation());
    auto chain = getOperation().lookupSymbol<ChainOp>(kTrainChain);
    if (!mesh || !mesh.getStages() || !chain)
      return;
    FailureOr<Placement> placement = Placement::read(getOperation());
    if (failed(placement))
      return signalPassFailure();
    MessageCutter(getOperation(), chain, *placement).run();
  }
};

} // namespace
