//===- NarrowPrecision.cpp - precision bf16, precision f16 ----------------===//
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
// What f16 needs besides, a scaled loss, is made by add-updates and step-kernels.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/nn/NNRuns.h"
#include "dialects/rt/RT.h"
#include "lib/Precision/Precision.h"
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

/// One joint layer.
class Narrower {
public:
  Narrower(LayerOp layer, FloatType narrow) : layer(layer), narrow(narrow) {}

  void run() {
    narrowInterface();
    SmallVector<Operation *> ops;
    for (Operation &op : layer.getBlock().without_terminator())
      ops.push_back(&op);
    for (Operation *op : ops)
      narrowOp(op);
    layer.setFunctionType(FunctionType::get(layer.getContext(), layer.getBlock().getArgumentTypes(),
                                            layer.getReturn().getOperandTypes()));
  }

  SmallVector<std::string> copied; // parameters read as working copies

private:
  /// v in the narrow type: what it was widened from, a working copy, or a rounding.
  Value narrowed(Operation *user, Value v) {
    if (!isF32(v))
      return v;
    if (auto cast = v.getDefiningOp<CastOp>(); cast && cast.getX().getType() == narrowType(v))
      return cast.getX();
    if (auto arg = dyn_cast<BlockArgument>(v);
        arg && layer.getArgRole(arg.getArgNumber()) == Role::Param)
      return workingCopy(arg);
    return NNBuilder(user->getLoc(), user).cast(v, narrow);
  }

  Tensor narrowType(Value v) { return typeOf(v).withElement(narrow); }

  Value workingCopy(BlockArgument arg) {
    Value &copy = copies[arg];
    if (!copy) {
      std::string name = layer.getArgName(arg.getArgNumber()).str();
      copy = layer.addArg(Role::Param, copyName(name, narrow), narrowType(arg), arg.getLoc());
      copied.push_back(name);
    }
    return copy;
  }

  /// Gives `v` its narrow type; its readers see it widened again.
  void retype(Value v, OpBuilder builder) {
    v.setType(narrowType(v));
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
        retype(arg, OpBuilder::atBlockBegin(&layer.getBlock()));
    }
    for (unsigned i = 0, e = layer.getNumResults(); i < e; ++i) {
      Role role = layer.getResultRole(i);
      OpOperand &value = layer.getReturn()->getOpOperand(i);
      if (isF32(value.get()) &&
          (role == Role::CotCarried || role == Role::CotInvariant ||
           (role == Role::Carried && isTrained(layer.getResultName(i), Role::CotCarried, false))))
        value.set(narrowed(layer.getReturn(), value.get()));
    }
  }

  /// A gradient of a parameter stays f32: it is read by additions onto accumulators.
  static bool isParamGradient(Operation *op) {
    return op->hasOneUse() && isa<AddOp>(*op->user_begin()) && [&] {
      Value sum = cast<AddOp>(*op->user_begin()).getLhs();
      while (auto add = sum.getDefiningOp<AddOp>())
        sum = add.getLhs();
      auto arg = dyn_cast<BlockArgument>(sum);
      auto layer = cast<LayerOp>(op->getParentOp());
      return arg && layer.getArgRole(arg.getArgNumber()) == Role::CotParam;
    }();
  }

  /// Whether a value is rounded wherever it is read.
  bool isRounded(Value v) {
    return llvm::all_of(v.getUses(), [&](OpOperand &use) {
      auto cast = dyn_cast<CastOp>(use.getOwner());
      return (cast && typeOf(cast.getResult()).getElementType() == narrow) ||
             use.getOperandNumber() < numNarrowOperands(use.getOwner());
    });
  }

  /// The parameter that is added to a product, where a GEMM of narrow operands adds it before it
  /// rounds (`fold-biases`); else null.
  OpOperand *biasOf(ContractOp contract) {
    Value product = contract.getResult();
    auto add = product.hasOneUse() ? dyn_cast<AddOp>(*product.user_begin()) : AddOp();
    if (!add || !isRounded(add.getResult()))
      return nullptr;
    OpOperand &bias = add->getOpOperand(add.getLhs() == product);
    auto arg = dyn_cast<BlockArgument>(bias.get());
    if (!arg || layer.getArgRole(arg.getArgNumber()) != Role::Param)
      return nullptr;
    bool takes = rt::takesBias(narrowType(contract.getLhs()), narrowType(contract.getRhs()),
                               narrowType(arg), narrowType(product));
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
    if (!narrowOperands)
      return;
    for (unsigned i = 0; i < narrowOperands; ++i)
      if (!isa<AttentionGradOp>(op) || i != 4) // lse
        op->setOperand(i, narrowed(op, op->getOperand(i)));
    if (isParamGradient(op))
      return;
    if (auto contract = dyn_cast<ContractOp>(op))
      if (OpOperand *bias = biasOf(contract)) {
        Operation *add = bias->getOwner();
        bias->set(NNBuilder(add->getLoc(), add)
                      .cast(narrowed(add, bias->get()), Float32Type::get(op->getContext())));
        return;
      }
    OpBuilder after(op->getContext());
    after.setInsertionPointAfter(op);
    for (auto [i, result] : llvm::enumerate(op->getResults()))
      if (!isa<AttentionOp>(op) || i == 0) // all results but lse
        retype(result, after);
  }

  LayerOp layer;
  FloatType narrow;
  DenseMap<Value, Value> copies;
};

struct NarrowPrecisionPass : tplan::precision::impl::NarrowPrecisionPassBase<NarrowPrecisionPass> {
  void runOnOperation() final {
    narrow = precision::narrowTypeOf(getOperation());
    if (!narrow)
      return;
    copyOf.clear();
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
        Narrower narrower(symbols.lookup<LayerOp>(callee), narrow);
        narrower.run();
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
  FloatType narrow;
  DenseMap<Attribute, ParamOp> copyOf; // the working copy of a master, by symbols

  /// Layers by name, and the parameters of which their runs bind a working copy.
  using Copied = llvm::StringMap<SmallVector<std::string>>;

  /// A working copy is a parameter of its own, bound beside its master.
  void bindCopies(RunOp run, SymbolTable &symbols, const Copied &copied) {
    SmallVector<Attribute> params;
    for (auto [callee, bound] : llvm::zip(run.getCallees().getAsValueRange<FlatSymbolRefAttr>(),
                                          run.getParams().getAsRange<DictionaryAttr>())) {
      NamedAttrList list(bound);
      for (const std::string &name : copied.lookup(callee)) {
        auto master = symbols.lookup<ParamOp>(cast<FlatSymbolRefAttr>(bound.get(name)).getValue());
        list.set(copyName(name, narrow), FlatSymbolRefAttr::get(addCopyOf(master, symbols)));
      }
      params.push_back(list.getDictionary(&getContext()));
    }
    run.setParamsAttr(ArrayAttr::get(&getContext(), params));
  }

  ParamOp addCopyOf(ParamOp master, SymbolTable &symbols) {
    ParamOp &copy = copyOf[FlatSymbolRefAttr::get(master)];
    if (copy)
      return copy;
    copy = master.clone();
    copy.setSymName(copyName(master.getSymName(), narrow));
    copy.setPath(copyName(master.getPath(), narrow));
    copy.setKind(ParamKind::Copy);
    copy.setCopyOfAttr(FlatSymbolRefAttr::get(master));
    copy.setType(cast<Tensor>(master.getType()).withElement(narrow));
    OpBuilder(master).insert(copy);
    symbols.insert(copy);
    return copy;
  }

  /// The name under which a layer that binds a master binds its working copy, or null.
  StringAttr nameOfCopy(DictionaryAttr bound, Attribute master) {
    ParamOp copy = copyOf.lookup(master);
    for (NamedAttribute entry : bound)
      if (copy && entry.getValue() == FlatSymbolRefAttr::get(copy))
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
          if (!copyOf.contains(entry.getValue()) || nameOfCopy(bound, entry.getValue()) ||
              !updates(parts.lookup(callee, Part::Update), name))
            continue;
          copied[callee.getValue()].push_back(name.str());
          changed = true;
        }
    return changed;
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
        StringAttr copy = update.getResultRole(i) == Role::Param
                              ? nameOfCopy(bound, bound.get(name))
                              : StringAttr();
        if (!copy)
          continue;
        Value master = update.getReturn().getOperand(i);
        writeCopy(update, copy, master);
        writeCopy(prepare, copy,
                  prepare.addArg(Role::Param, name, master.getType(), master.getLoc()));
      }
      if (prepare.getNumResults()) {
        symbols.insert(prepare);
        parts.insert(prepare);
      } else {
        prepare.erase();
      }
    }
  }

  void writeCopy(LayerOp layer, StringRef copy, Value master) {
    NNBuilder b(master.getLoc(), layer.getReturn());
    layer.addResult(Role::Param, copy, b.cast(master, narrow));
  }
};

} // namespace
