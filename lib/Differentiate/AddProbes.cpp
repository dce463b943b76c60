//===- AddProbes.cpp - each value leaves a number of itself ---------------===//
//
// Each floating-point value that a joint layer computes gets a probe; in the forward only values
// that each sequence has of its own do. A probe is the sum over half of the value's elements, added
// onto the gradient of a weight that nothing reads: one number for each layer of a run. So the
// numbers go the way of all gradients: microbatches and ranks add to them, and --dump-gradients
// writes them. Two plans of one recipe have equal numbers; `tplanc verify` finds the first that
// differs. An op that has a probe carries its number in `tplan.probe`.
//
// One decision: which half is drawn by logical position, as dropout is, so that neither a block in
// the wrong place nor a sum that is zero by algebra passes as right. Each op has a half of its own:
// an error that one half leaves out is seen in that of the next op.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/nn/NNRuns.h"
#include "dialects/nn/Scalars.h"
#include "lib/Differentiate/Differentiate.h"
#include "mlir/IR/BuiltinOps.h"

namespace tplan::differentiate {
#define GEN_PASS_DEF_ADDPROBESPASS
#include "lib/Differentiate/Passes.h.inc"
} // namespace tplan::differentiate

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

/// Sites of dropout begin at 0; those of probes are far from them.
constexpr int64_t kFirstSite = 1 << 15;

/// Adds the probes of one layer, and counts them.
class LayerProbes {
public:
  LayerProbes(LayerOp layer, StringRef batch)
      : layer(layer), batch(batch), backward(backwardOf(layer)) {}

  int64_t add() {
    SmallVector<Operation *> ops;
    for (Operation &op : layer.getBlock().without_terminator())
      ops.push_back(&op);
    for (Operation *op : ops)
      if (isProbed(op))
        addTo(op);
    return count;
  }

private:
  static bool isFloat(Type type) { return isa<FloatType>(cast<Tensor>(type).getElementType()); }

  /// What is added onto an accumulator is probed, not the sum. In the forward only values that each
  /// sequence has of its own are probed: a sum over the batch differs with the size of the
  /// microbatch.
  bool isProbed(Operation *op) {
    if (llvm::any_of(op->getResults(),
                     [&](Value v) { return !backward.contains(v) && !typeOf(v).has(batch); }))
      return false;
    auto onto = isa<AddOp>(op) ? dyn_cast<BlockArgument>(op->getOperand(0)) : BlockArgument();
    bool accumulates = onto && llvm::is_contained({Role::Loss, Role::Contribution, Role::CotParam,
                                                   Role::CotInvariant},
                                                  layer.getArgRole(onto.getArgNumber()));
    return !accumulates && !isa<ConstantOp>(op) && llvm::all_of(op->getResultTypes(), isFloat);
  }

  void addTo(Operation *op) {
    NNBuilder b(op->getLoc(), layer.getReturn());
    op->setAttr(differentiate::kProbe, b.getI64IntegerAttr(count));
    Value sum;
    for (Value v : op->getResults()) {
      Value half = b.cast(halfOf(b, v), b.getF32Type());
      sum = sum ? b.add(sum, half) : half;
    }
    std::string name = differentiate::probeName(count++);
    Value before = layer.addArg(Role::CotParam, name, sum.getType(), op->getLoc());
    layer.addResult(Role::CotParam, name, b.add(before, sum));
  }

  Value halfOf(NNBuilder &b, Value v) {
    Tensor type = typeOf(v);
    if (type.isScalar())
      return v;
    // Positions are counted from the first sequence of the batch.
    SmallVector<DimAttr> dims(type.getDims());
    if (int64_t at = type.find(batch); at > 0)
      std::rotate(dims.begin(), dims.begin() + at, dims.begin() + at + 1);
    Value mask = b.create<DropoutMaskOp>(
        type.withDims(dims), scalar(nn::kSeed), scalar(nn::kStepNumber), scalar(nn::kLayerScalar),
        scalar(nn::kOffsetScalar), b.getI64IntegerAttr(kFirstSite + count), b.getF64FloatAttr(0.5),
        ValueRange(), DenseI64ArrayAttr(), ArrayAttr());
    return b.sumAll(b.mul(v, mask));
  }

  Value scalar(StringRef name) { return scalarOf(layer, {Role::Scalar, name}); }

  LayerOp layer;
  StringRef batch;
  llvm::DenseSet<Value> backward;
  int64_t count = 0;
};

struct AddProbesPass : tplan::differentiate::impl::AddProbesPassBase<AddProbesPass> {
  void runOnOperation() final {
    for (auto chain : getOperation().getOps<ChainOp>())
      if (chain.getLosses())
        for (RunOp run : chain.getOps<RunOp>())
          addProbes(chain, run);
  }

private:
  void addProbes(ChainOp chain, RunOp run) {
    SymbolTable symbols(getOperation());
    SmallVector<Attribute> params;
    auto callees = run.getCallees().getAsRange<FlatSymbolRefAttr>();
    for (auto [j, callee, bound] :
         llvm::enumerate(callees, run.getParams().getAsRange<DictionaryAttr>())) {
      auto layer = symbols.lookup<LayerOp>(callee.getValue());
      auto [known, isNew] = counts.try_emplace(layer, 0);
      if (isNew)
        known->second =
            LayerProbes(layer, chain.getBatch() ? chain.getBatch().getName() : "").add();
      NamedAttrList all(bound);
      for (int64_t k = 0; k < known->second; ++k)
        all.set(differentiate::probeName(k), bind(symbols, chain, run, j, k));
      params.push_back(all.getDictionary(&getContext()));
    }
    run.setParamsAttr(ArrayAttr::get(&getContext(), params));
  }

  /// The weight of probe k of callee j, `probe.LAYER.K` for each of the run's layers. In a list
  /// `{i}` stands for the layer's number.
  FlatSymbolRefAttr bind(SymbolTable &symbols, ChainOp chain, RunOp run, int64_t j, int64_t k) {
    OpBuilder b(chain);
    int64_t first = run.getFirstLayer() + j;
    std::string symbol = ("probe." + Twine(first) + "." + Twine(k)).str();
    std::string path = isListRun(run) ? "probe.{i}." + std::to_string(k) : symbol;
    auto zero = InitAttr::get(&getContext(), "constant", b.getF64FloatAttr(0));
    auto param =
        ParamOp::create(b, run.getLoc(), symbol, Tensor::get(&getContext(), {}, b.getF32Type()),
                        run.getTimes(), path, first, run.getCallees().size(),
                        /*id=*/0, /*id_step=*/0, zero, ParamKind::Other, FlatSymbolRefAttr());
    param->setAttr(differentiate::kProbe, b.getI64IntegerAttr(k));
    symbols.insert(param);
    return FlatSymbolRefAttr::get(param);
  }

  DenseMap<LayerOp, int64_t> counts; // of probes
};

} // namespace
