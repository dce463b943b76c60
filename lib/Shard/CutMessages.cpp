//===- CutMessages.cpp - what ranks have alike is sent in parts --------------===//
//
// A value that goes to the next stage is the same on all ranks along an axis that cuts none of its
// dimensions, as activations are along `tp` without sequence parallelism. Each of these ranks would
// send all of it over the slow links between nodes. In parts each byte crosses them once.
//
// One decision: the functions that cut and gather are layers like any other, made where sizes are
// those of a rank. So later phases price them, give them memory and order their collective without
// knowing of messages; only `form-program` does, which calls them.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/nn/NNRuns.h"
#include "lib/Cost/Links.h"
#include "lib/Shard/Shard.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>

namespace tplan::shard {
#define GEN_PASS_DEF_CUTMESSAGESPASS
#include "lib/Shard/Passes.h.inc"
} // namespace tplan::shard

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using dist::LayoutAttr;

namespace {

/// How a value is cut: the ranks along an axis have a block each of a dimension.
struct Cut {
  StringAttr axis, dim;
  Tensor part;
};

class MessageCutter {
public:
  MessageCutter(ModuleOp module, ChainOp chain)
      : module(module), chain(chain), mesh(dist::meshOf(module)),
        links(lang::Settings(module), mesh), symbols(module) {}

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
  dist::MeshAttr mesh;
  cost::Links links;
  SymbolTable symbols;
  std::map<std::tuple<const void *, const void *, const void *>, FlatSymbolRefAttr> layers;

  static bool isSent(RunOp run, Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      auto reader = dyn_cast<RunOp>(user);
      return reader && reader.getStage().value_or(0) > run.getStage().value_or(0);
    });
  }

  /// The cheapest way to send a value in parts, if it is cheaper than to send the value. A message
  /// of its cotangent is cut likewise, because that has its type and layout.
  std::optional<Cut> findCut(Value value) {
    LayoutAttr layout = dist::layoutOf(value);
    auto type = cast<Tensor>(value.getType());
    if (layout.isPending() || layout.getRows())
      return std::nullopt;
    std::optional<Cut> best;
    double least = links.secondsOfMessage(mesh.getStages(), type.getBytes());
    for (dist::AxisAttr each : mesh.getAxes()) {
      auto axis = StringAttr::get(module.getContext(), each.getName());
      bool isCut = llvm::any_of(layout.getShards(), [&](dist::ShardAttr shard) {
        return llvm::is_contained(shard.getAxes(), axis);
      });
      if (isCut || axis == mesh.getStages() || each.getSize() == 1)
        continue;
      auto dim = llvm::find_if(type.getDims(),
                               [&](DimAttr dim) { return dim.getSize() % each.getSize() == 0; });
      if (dim == type.getDims().end())
        continue;
      Tensor part = partOf(type, dim->getName(), each.getSize());
      double seconds = cost::Links::secondsAlone(part.getBytes(), /*writes=*/true) +
                       links.secondsOfMessage(mesh.getStages(), part.getBytes()) +
                       links.seconds(axis, type.getBytes() - part.getBytes());
      if (seconds >= least)
        continue;
      least = seconds;
      best = Cut{axis, StringAttr::get(module.getContext(), dim->getName()), part};
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
    FlatSymbolRefAttr &layer =
        layers[{value.getType().getAsOpaquePointer(), cut.axis.getAsOpaquePointer(),
                cut.dim.getAsOpaquePointer()}];
    if (layer)
      return layer;
    layer =
        FlatSymbolRefAttr::get(module.getContext(), "message." + std::to_string(layers.size() - 1));
    auto whole = cast<Tensor>(value.getType());
    ArrayAttr axes = dist::arrayOf(module.getContext(), {cut.axis});
    add(layer, Part::Cut, value.getLoc(), whole, [&](OpBuilder &b, Value x) -> Value {
      return dist::SliceOp::create(b, value.getLoc(), cut.part, x, axes, cut.dim);
    });
    add(layer, Part::Gather, value.getLoc(), cut.part, [&](OpBuilder &b, Value x) -> Value {
      auto op = dist::CollectiveOp::create(
          b, value.getLoc(), whole, dist::CollectiveKind::AllGather, x, axes, ReduceKind::sum,
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
    if (mesh && mesh.getStages() && chain)
      MessageCutter(getOperation(), chain).run();
  }
};

} // namespace
