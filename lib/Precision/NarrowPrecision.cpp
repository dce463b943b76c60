//===- NarrowPrecision.cpp - narrow-precision: bf16 and f16 ----------------===//
//
// What is rounded to the narrow type, and nothing else: operands and results of contractions and
// attention, results of rotary embeddings, and what layers hand to each other (one to the next, or
// to all layers of a list), with its cotangents. Arithmetic between them, softmax, losses,
// gradients of parameters and the optimizer stay f32; sums of products are f32 inside. A product to
// which only a bias is added is rounded together with it, once, and the bias is a working copy.
//
// One decision: parameters stay f32 (the master weights); contractions read a
// narrow working copy, a parameter of its own that the update part writes. Masters
// that the plan keeps in that type (narrow-masters) they read as they are.
//
// A contraction that reads a weight with a precision of its own (split-precisions), or makes its
// gradient, has that one; all else has the plan's.
//
// What f16 needs besides, a scaled loss, is made by add-updates and step-kernels.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/nn/NNRuns.h"
#include "dialects/rt/RT.h"
#include "dialects/tplan/Settings.h"
#include "lib/Precision/Precision.h"
#include "lib/Precision/WorkingCopies.h"
#include "llvm/ADT/StringSet.h"

namespace tplan::precision {
#define GEN_PASS_DEF_NARROWPRECISIONPASS
#include "lib/Precision/Passes.h.inc"
} // namespace tplan::precision

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using precision::CopyForm;
using precision::WorkingCopies;

namespace {

/// A weight rounded to a narrow type: `q.weight.bf16`.
CopyForm formOf(FloatType narrow) {
  return {
      {{nn::elementName(narrow)}},
      [=](Tensor master) { return SmallVector<Tensor, 2>{master.withElement(narrow)}; },
      [=](NNBuilder &b, Value master) { return SmallVector<Value, 2>{b.cast(master, narrow)}; }};
}

bool isF32(Value v) { return typeOf(v).getElementType().isF32(); }

/// One joint layer.
class Narrower {
public:
  Narrower(LayerOp layer, FloatType narrow, WorkingCopies &copies)
      : layer(layer), narrow(narrow), copies(copies) {
    if (auto own = layer->getAttrOfType<DictionaryAttr>(precision::kPrecisions))
      precisions = own;
  }

  void run() {
    if (narrow)
      narrowInterface();
    SmallVector<Operation *> ops;
    for (Operation &op : layer.getBlock().without_terminator())
      ops.push_back(&op);
    for (Operation *op : ops)
      narrowOp(op);
    takeTypesOfBody(layer);
  }

private:
  /// v in a narrow type: what it was widened from, a working copy, or a rounding.
  Value narrowed(Operation *user, Value v, FloatType as) {
    if (!isF32(v))
      return v;
    if (auto cast = v.getDefiningOp<CastOp>();
        cast && cast.getX().getType() == typeOf(v).withElement(as))
      return cast.getX();
    if (BlockArgument param = precision::paramOf(layer, v))
      return copies.read(layer, param, formOf(as)).front();
    return NNBuilder(user->getLoc(), user).cast(v, as);
  }

  /// Gives `v` a narrow type; its readers see it widened again.
  void retype(Value v, OpBuilder builder, FloatType as) {
    v.setType(typeOf(v).withElement(as));
    if (auto merge = v.hasOneUse() ? dyn_cast<MergeOp>(*v.user_begin()) : MergeOp()) {
      builder.setInsertionPointAfter(merge);
      return retype(merge.getResult(), builder, as);
    }
    auto wide = CastOp::create(builder, v.getLoc(), typeOf(v).withElement(builder.getF32Type()), v);
    v.replaceAllUsesExcept(wide, wide);
  }

  /// Whether a layer hands the value on and gets a cotangent back: an argument's cotangent is a
  /// result.
  bool isTrained(StringRef name, Role cotangent, bool ofArgument) {
    return (ofArgument ? layer.findResult(cotangent, name) : layer.findArg(cotangent, name))
        .has_value();
  }

  void narrowInterface() {
    for (unsigned i = 0, e = layer.getNumArguments(); i < e; ++i) {
      Role role = layer.getArgRole(i);
      BlockArgument arg = layer.getArgument(i);
      StringRef name = layer.getArgName(i);
      if (isF32(arg) && (role == Role::CotCarried || role == Role::CotInvariant ||
                         (role == Role::Carried && isTrained(name, Role::CotCarried, true)) ||
                         (role == Role::Invariant && isTrained(name, Role::CotInvariant, true))))
        retype(arg, OpBuilder::atBlockBegin(&layer.getBlock()), narrow);
    }
    for (unsigned i = 0, e = layer.getNumResults(); i < e; ++i) {
      Role role = layer.getResultRole(i);
      OpOperand &value = layer.getReturn()->getOpOperand(i);
      if (isF32(value.get()) &&
          (role == Role::CotCarried || role == Role::CotInvariant ||
           (role == Role::Carried && isTrained(layer.getResultName(i), Role::CotCarried, false))))
        value.set(narrowed(layer.getReturn(), value.get(), narrow));
    }
  }

  /// The type that an op's operands are rounded to; null for f32.
  FloatType formatOf(Operation *op) {
    auto contract = dyn_cast<ContractOp>(op);
    BlockArgument weight = contract ? precision::weightOf(layer, contract) : BlockArgument();
    auto own = weight && precisions
                   ? precisions.getAs<StringAttr>(layer.getArgName(weight.getArgNumber()))
                   : StringAttr();
    return own ? precision::narrowTypeOf(*lang::symbolizePrecision(own), own.getContext()) : narrow;
  }

  /// Whether a value is rounded wherever it is read.
  bool isRounded(Value v, FloatType as) {
    return llvm::all_of(v.getUses(), [&](OpOperand &use) {
      auto cast = dyn_cast<CastOp>(use.getOwner());
      return (cast && typeOf(cast.getResult()).getElementType() == as) ||
             (use.getOperandNumber() < numNarrowOperands(use.getOwner()) &&
              formatOf(use.getOwner()) == as);
    });
  }

  /// The parameter that is added to a product, where a GEMM of narrow operands adds it before it
  /// rounds (`fold-biases`); else null.
  OpOperand *biasOf(ContractOp contract, FloatType as) {
    if (contract.getLhsScale())
      return nullptr;
    Value product = contract.getResult();
    auto add = product.hasOneUse() ? dyn_cast<AddOp>(*product.user_begin()) : AddOp();
    if (!add || !isRounded(add.getResult(), as))
      return nullptr;
    OpOperand &bias = add->getOpOperand(add.getLhs() == product);
    if (!precision::paramOf(layer, bias.get()))
      return nullptr;
    auto type = [&](Value v) { return typeOf(v).withElement(as); };
    bool takes = rt::takesBias(type(contract.getLhs()), type(contract.getRhs()), type(bias.get()),
                               type(product));
    return takes ? &bias : nullptr;
  }

  static unsigned numNarrowOperands(Operation *op) {
    return isa<ContractOp>(op)        ? 2
           : isa<RopeOp>(op)          ? 1
           : isa<AttentionOp>(op)     ? 3
           : isa<AttentionGradOp>(op) ? 6
                                      : 0;
  }

  void narrowOp(Operation *op) {
    if (auto grad = dyn_cast<LookupGradOp>(op)) { // rows are widened as they are added
      if (auto cast = grad.getCotangent().getDefiningOp<CastOp>())
        grad.getCotangentMutable().assign(cast.getX());
      return;
    }
    unsigned narrowOperands = numNarrowOperands(op);
    FloatType as = narrowOperands ? formatOf(op) : FloatType();
    if (!as)
      return;
    BlockArgument accumulator = precision::accumulatorOf(layer, op);
    for (unsigned i = 0; i < narrowOperands; ++i)
      if (!isa<AttentionGradOp>(op) || i != 4) // lse
        op->setOperand(i, narrowed(op, op->getOperand(i), as));
    if (accumulator) // a gradient of a parameter stays f32
      return;
    if (auto contract = dyn_cast<ContractOp>(op))
      if (OpOperand *bias = biasOf(contract, as)) {
        Operation *add = bias->getOwner();
        bias->set(NNBuilder(add->getLoc(), add)
                      .cast(narrowed(add, bias->get(), as), Float32Type::get(op->getContext())));
        return;
      }
    OpBuilder after(op->getContext());
    after.setInsertionPointAfter(op);
    for (auto [i, result] : llvm::enumerate(op->getResults()))
      if (!isa<AttentionOp>(op) || i == 0) // all results but lse
        retype(result, after, as);
  }

  LayerOp layer;
  FloatType narrow;          // of the plan; null for f32
  DictionaryAttr precisions; // of weights with another one; null where there are none
  WorkingCopies &copies;
};

struct NarrowPrecisionPass : tplan::precision::impl::NarrowPrecisionPassBase<NarrowPrecisionPass> {
  void runOnOperation() final {
    const lang::Plan &plan = lang::Settings(getOperation()).plan;
    FloatType narrow = precision::narrowTypeOf(plan.precision, &getContext());
    if (!narrow && plan.partPrecisions.empty())
      return;
    SymbolTable symbols(getOperation());
    WorkingCopies copies(getOperation());
    SmallVector<RunOp> runs;
    for (auto chain : getOperation().getOps<ChainOp>())
      if (chain.getLosses())
        llvm::append_range(runs, chain.getOps<RunOp>());
    llvm::StringSet<> seen;
    for (RunOp run : runs)
      for (StringRef callee : run.getCallees().getAsValueRange<FlatSymbolRefAttr>())
        if (seen.insert(callee).second) {
          auto layer = symbols.lookup<LayerOp>(callee);
          Narrower(layer, narrow, copies).run();
          layer->removeAttr(precision::kPrecisions);
        }
    copies.finish(runs);
    for (RunOp run : runs)
      retypeRun(run, symbols);
  }

private:
  static void retypeRun(RunOp run, SymbolTable &symbols) {
    StringRef last = cast<FlatSymbolRefAttr>(run.getCallees().getValue().back()).getValue();
    auto layer = symbols.lookup<LayerOp>(last);
    unsigned at = 0;
    for (unsigned i = 0, e = layer.getNumResults(); i < e; ++i)
      if (layer.getResultRole(i) == Role::Carried)
        run.getResult(at++).setType(layer.getReturn().getOperand(i).getType());
  }
};

} // namespace
