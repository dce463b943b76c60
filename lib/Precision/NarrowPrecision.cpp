//===- NarrowPrecision.cpp - narrow-precision: bf16 and f16 ----------------===//
//
// What is rounded to the narrow type, and nothing else: operands and results of contractions and
// attention, results of rotary embeddings, and what layers hand to each other (one to the next, or
// to all layers of a list), with its cotangents. Arithmetic between them, softmax, losses,
// gradients of parameters and the optimizer stay f32; sums of products are f32 inside. A product to
// which only a bias is added is rounded together with it, once, and the bias is a working copy.
//
// One decision: parameters stay f32 (the master weights); contractions read a
// narrow working copy, a parameter of its own that the update part writes.
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
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace tplan::precision {
#define GEN_PASS_DEF_NARROWPRECISIONPASS
#include "lib/Precision/Passes.h.inc"
} // namespace tplan::precision

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

/// What a working copy is called, for people to read: `q.weight.bf16`.
std::string copyName(StringRef master, FloatType narrow) {
  return (master + "." + nn::elementName(narrow)).str();
}

bool isF32(Value v) { return typeOf(v).getElementType().isF32(); }

/// A weight of a layer by its name there, and the type of a working copy that is read of it.
using CopiedAs = std::pair<std::string, FloatType>;

/// One joint layer.
class Narrower {
public:
  Narrower(LayerOp layer, FloatType narrow) : layer(layer), narrow(narrow) {
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
    layer.setFunctionType(FunctionType::get(layer.getContext(), layer.getBlock().getArgumentTypes(),
                                            layer.getReturn().getOperandTypes()));
  }

  SmallVector<CopiedAs> copied; // parameters read as working copies

private:
  bool isParam(Value v) {
    auto arg = dyn_cast<BlockArgument>(v);
    return arg && layer.getArgRole(arg.getArgNumber()) == Role::Param;
  }

  /// v in a narrow type: what it was widened from, a working copy, or a rounding.
  Value narrowed(Operation *user, Value v, FloatType as) {
    if (!isF32(v))
      return v;
    if (auto cast = v.getDefiningOp<CastOp>();
        cast && cast.getX().getType() == typeOf(v).withElement(as))
      return cast.getX();
    if (isParam(v))
      return workingCopy(cast<BlockArgument>(v), as);
    return NNBuilder(user->getLoc(), user).cast(v, as);
  }

  Value workingCopy(BlockArgument arg, FloatType as) {
    Value &copy = copies[{arg, as}];
    if (!copy) {
      std::string name = layer.getArgName(arg.getArgNumber()).str();
      copy =
          layer.addArg(Role::Param, copyName(name, as), typeOf(arg).withElement(as), arg.getLoc());
      copied.push_back({name, as});
    }
    return copy;
  }

  /// Gives `v` a narrow type; its readers see it widened again.
  void retype(Value v, OpBuilder builder, FloatType as) {
    v.setType(typeOf(v).withElement(as));
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

  /// The accumulator of a parameter's gradient that the op's result is added to, or null.
  BlockArgument accumulatorOf(Operation *op) {
    auto add = op->hasOneUse() ? dyn_cast<AddOp>(*op->user_begin()) : AddOp();
    if (!add)
      return {};
    Value sum = add.getLhs();
    while (auto before = sum.getDefiningOp<AddOp>())
      sum = before.getLhs();
    auto arg = dyn_cast<BlockArgument>(sum);
    bool isGradient = arg && layer.getArgRole(arg.getArgNumber()) == Role::CotParam;
    return isGradient ? arg : BlockArgument();
  }

  /// The type that an op's operands are rounded to; null for f32.
  FloatType formatOf(Operation *op) {
    if (!isa<ContractOp>(op))
      return narrow;
    BlockArgument weight = accumulatorOf(op);
    for (Value operand : op->getOperands())
      if (isParam(operand))
        weight = cast<BlockArgument>(operand);
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
    Value product = contract.getResult();
    auto add = product.hasOneUse() ? dyn_cast<AddOp>(*product.user_begin()) : AddOp();
    if (!add || !isRounded(add.getResult(), as))
      return nullptr;
    OpOperand &bias = add->getOpOperand(add.getLhs() == product);
    if (!isParam(bias.get()))
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
    BlockArgument accumulator = accumulatorOf(op);
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
  DenseMap<std::pair<Value, Type>, Value> copies;
};

struct NarrowPrecisionPass : tplan::precision::impl::NarrowPrecisionPassBase<NarrowPrecisionPass> {
  void runOnOperation() final {
    const lang::Plan &plan = lang::Settings(getOperation()).plan;
    FloatType narrow = precision::narrowTypeOf(plan.precision, &getContext());
    if (!narrow && plan.partPrecisions.empty())
      return;
    copiesOf.clear();
    SymbolTable symbols(getOperation());
    PartTable<LayerOp> parts(getOperation());
    SmallVector<RunOp> runs;
    for (auto chain : getOperation().getOps<ChainOp>())
      if (chain.getLosses())
        llvm::append_range(runs, chain.getOps<RunOp>());
    Copied copied;
    for (RunOp run : runs)
      for (StringRef callee : run.getCallees().getAsValueRange<FlatSymbolRefAttr>()) {
        auto [names, added] = copied.try_emplace(callee);
        if (!added)
          continue;
        auto layer = symbols.lookup<LayerOp>(callee);
        Narrower narrower(layer, narrow);
        narrower.run();
        layer->removeAttr(precision::kPrecisions);
        names->second = std::move(narrower.copied);
      }
    do
      for (RunOp run : runs)
        bindCopies(run, symbols, copied);
    while (followMasters(runs, parts, copied));
    for (RunOp run : runs) {
      retypeRun(run, symbols);
      writeCopies(run, symbols, parts);
    }
  }

private:
  llvm::MapVector<Attribute, SmallVector<ParamOp, 1>> copiesOf; // working copies of a master

  /// Layers by name, and the parameters of which their runs bind a working copy.
  using Copied = llvm::StringMap<SmallVector<CopiedAs>>;

  /// A working copy is a parameter of its own, bound beside its master.
  void bindCopies(RunOp run, SymbolTable &symbols, const Copied &copied) {
    SmallVector<Attribute> params;
    for (auto [callee, bound] : llvm::zip(run.getCallees().getAsValueRange<FlatSymbolRefAttr>(),
                                          run.getParams().getAsRange<DictionaryAttr>())) {
      NamedAttrList list(bound);
      for (auto &[name, as] : copied.lookup(callee)) {
        auto master = symbols.lookup<ParamOp>(cast<FlatSymbolRefAttr>(bound.get(name)).getValue());
        list.set(copyName(name, as), FlatSymbolRefAttr::get(copyOf(master, as, symbols)));
      }
      params.push_back(list.getDictionary(&getContext()));
    }
    run.setParamsAttr(ArrayAttr::get(&getContext(), params));
  }

  /// Made when it is first asked for.
  ParamOp copyOf(ParamOp master, FloatType as, SymbolTable &symbols) {
    auto &copies = copiesOf[FlatSymbolRefAttr::get(master)];
    for (ParamOp copy : copies)
      if (cast<Tensor>(copy.getType()).getElementType() == as)
        return copy;
    ParamOp copy = master.clone();
    copy.setSymName(copyName(master.getSymName(), as));
    copy.setPath(copyName(master.getPath(), as));
    copy.setKind(ParamKind::Copy);
    copy.setCopyOfAttr(FlatSymbolRefAttr::get(master));
    copy.setType(cast<Tensor>(master.getType()).withElement(as));
    OpBuilder(master).insert(copy);
    symbols.insert(copy);
    copies.push_back(copy);
    return copy;
  }

  /// The name under which a layer binds a working copy, or null.
  static StringAttr nameOfCopy(DictionaryAttr bound, ParamOp copy) {
    for (NamedAttribute entry : bound)
      if (entry.getValue() == FlatSymbolRefAttr::get(copy))
        return entry.getName();
    return {};
  }

  /// A tied weight is updated by one layer and its copy read by another: the layer
  /// that updates binds the copy too. Whether there is more to bind.
  bool followMasters(ArrayRef<RunOp> runs, const PartTable<LayerOp> &parts, Copied &copied) {
    bool changed = false;
    for (RunOp run : runs)
      for (auto [callee, bound] : llvm::zip(run.getCallees().getAsRange<FlatSymbolRefAttr>(),
                                            run.getParams().getAsRange<DictionaryAttr>()))
        for (NamedAttribute entry : bound) {
          StringRef name = entry.getName();
          auto copies = copiesOf.find(entry.getValue());
          if (copies == copiesOf.end() || !updates(parts.lookup(callee, Part::Update), name))
            continue;
          for (ParamOp copy : copies->second) {
            if (nameOfCopy(bound, copy))
              continue;
            copied[callee.getValue()].push_back({name.str(), elementOf(copy)});
            changed = true;
          }
        }
    return changed;
  }

  static FloatType elementOf(ParamOp copy) {
    return cast<FloatType>(cast<Tensor>(copy.getType()).getElementType());
  }

  static bool updates(LayerOp update, StringRef name) {
    return update && update.findResult(Role::Param, name);
  }

  static void retypeRun(RunOp run, SymbolTable &symbols) {
    StringRef last = cast<FlatSymbolRefAttr>(run.getCallees().getValue().back()).getValue();
    auto layer = symbols.lookup<LayerOp>(last);
    unsigned at = 0;
    for (unsigned i = 0, e = layer.getNumResults(); i < e; ++i)
      if (layer.getResultRole(i) == Role::Carried)
        run.getResult(at++).setType(layer.getReturn().getOperand(i).getType());
  }

  /// Whoever updates a master writes its copy; part `prepare` does so before the first step.
  void writeCopies(RunOp run, SymbolTable &symbols, PartTable<LayerOp> &parts) {
    for (auto [callee, bound] : llvm::zip(run.getCallees().getAsRange<FlatSymbolRefAttr>(),
                                          run.getParams().getAsRange<DictionaryAttr>())) {
      LayerOp update = parts.lookup(callee, Part::Update);
      if (!update || parts.lookup(callee, Part::Prepare))
        continue;
      OpBuilder builder(update);
      LayerOp prepare = createPart(builder, update.getLoc(), callee, Part::Prepare);
      for (unsigned i = 0, e = update.getNumResults(); i < e; ++i) {
        StringRef name = update.getResultName(i);
        auto copies = update.getResultRole(i) == Role::Param ? copiesOf.find(bound.get(name))
                                                             : copiesOf.end();
        if (copies == copiesOf.end())
          continue;
        Value master = update.getReturn().getOperand(i), prepared;
        for (ParamOp copy : copies->second) {
          StringAttr its = nameOfCopy(bound, copy);
          if (!its)
            continue;
          if (!prepared)
            prepared = prepare.addArg(Role::Param, name, master.getType(), master.getLoc());
          writeCopy(update, its, master, elementOf(copy));
          writeCopy(prepare, its, prepared, elementOf(copy));
        }
      }
      if (prepare.getNumResults()) {
        symbols.insert(prepare);
        parts.insert(prepare);
      } else {
        prepare.erase();
      }
    }
  }

  static void writeCopy(LayerOp layer, StringRef copy, Value master, FloatType as) {
    NNBuilder b(master.getLoc(), layer.getReturn());
    layer.addResult(Role::Param, copy, b.cast(master, as));
  }
};

} // namespace
