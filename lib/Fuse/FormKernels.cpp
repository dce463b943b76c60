//===- FormKernels.cpp - nn.layer -> rt.func over kernels and library calls ===//
//
// Units in order, each one call. Equal kernels are one symbol, over all layers and parts. What a
// function returns is written straight into the caller's memory by its last op; where that cannot
// be (an argument that is returned, one value returned twice, old memory that is still read), a
// copy does it.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/rt/EqualCode.h"
#include "dialects/rt/RT.h"
#include "lib/Fuse/Counts.h"
#include "lib/Fuse/Fuse.h"
#include "lib/Fuse/KernelBuilder.h"
#include "lib/Fuse/Replicate.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"

namespace tplan::fuse {
#define GEN_PASS_DEF_FORMKERNELSPASS
#include "lib/Fuse/Passes.h.inc"
} // namespace tplan::fuse

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::fuse;

namespace {

/// Kernels of the module, so that equal ones are made once.
class KernelTable {
public:
  explicit KernelTable(ModuleOp module) : module(module) {}

  /// The symbol of an equal kernel; `op` itself, or the earlier one and op is gone.
  FlatSymbolRefAttr intern(Operation *op) {
    llvm::hash_code hash = hash_value(op->getName());
    for (Region &region : op->getRegions())
      hash = llvm::hash_combine(hash, rt::hashCode(region));
    SmallVector<Operation *, 1> &others = kernels[hash];
    auto equal =
        llvm::find_if(others, [&](Operation *other) { return rt::equalButForName(op, other); });
    if (equal == others.end()) {
      others.push_back(op);
      return FlatSymbolRefAttr::get(op);
    }
    op->erase();
    return FlatSymbolRefAttr::get(*equal);
  }

  ModuleOp module;

private:
  DenseMap<size_t, SmallVector<Operation *, 1>> kernels; // by hash
};

class FunctionBuilder {
public:
  FunctionBuilder(LayerOp layer, KernelTable &kernels, bool merge)
      : layer(layer), kernels(kernels), builder(layer->getContext()) {
    splitReturnedConstants();
    if (merge)
      computeWhereRead(layer);
    units = formUnits(layer, merge);
  }

  void build();

private:
  std::string kernelName(StringRef what) {
    return (layer.getSymName() + "." + what + Twine(numKernels++)).str();
  }
  Value lookup(Value v) { return values.lookup(v); }
  SmallVector<Value> lookup(ArrayRef<Value> list) {
    return llvm::map_to_vector(list, [&](Value v) { return values.lookup(v); });
  }
  void splitReturnedConstants();
  void buildUnit(const Unit &unit);
  void buildSingle(const Unit &unit);
  void buildBetweenRanks(Operation *op);
  void launch(BuiltKernel built, Value onto);
  SmallVector<NamedAttribute> attentionAttrs(Operation *op, rt::AttentionPass pass);
  Operation *launchTile(Operation *op, rt::AttentionPass pass, ArrayRef<Value> inputs);
  Operation *callLibrary(Operation *op, rt::AttentionPass pass, ArrayRef<Value> inputs);
  void buildReturn();
  void numberUnits();
  bool isReadAfter(BlockArgument arg, Operation *writer);

  LayerOp layer;
  KernelTable &kernels;
  SmallVector<Unit> units;
  OpBuilder builder;
  DenseMap<Value, Value> values; // nn -> rt
  DenseMap<Operation *, unsigned> unitOf;
  DenseMap<Value, unsigned> lastReader;
  unsigned numKernels = 0;
};

/// A constant returned twice (two gradients set to zero) is written twice, each by
/// the kernel that suits it, rather than once and copied.
void FunctionBuilder::splitReturnedConstants() {
  DenseSet<Value> returned;
  for (OpOperand &operand : layer.getReturn()->getOpOperands()) {
    Operation *op = operand.get().getDefiningOp();
    if (!op || returned.insert(operand.get()).second || !isCloned(op))
      continue;
    OpBuilder atOp(op);
    operand.set(atOp.clone(*op)->getResult(0));
  }
}

void FunctionBuilder::launch(BuiltKernel built, Value onto) {
  SmallVector<Value> inputs = lookup(built.inputs);
  SmallVector<Type> types(built.kernel.getFunctionType().getResults());
  Location loc = built.kernel.getLoc();
  FlatSymbolRefAttr symbol = kernels.intern(built.kernel);
  auto call = rt::LaunchOp::create(builder, loc, types, symbol, inputs, onto, Value(),
                                   builder.getDenseI64ArrayAttr(built.inPlace));
  for (auto [output, result] : llvm::zip(built.outputs, call.getResults()))
    values[output] = result;
}

/// What the op, and the kernel or call that is made of it, have in common.
SmallVector<NamedAttribute> FunctionBuilder::attentionAttrs(Operation *op, rt::AttentionPass pass) {
  SmallVector<NamedAttribute> attrs;
  for (StringRef name : {"spec", "q_pieces", "k_pieces"})
    if (Attribute attr = op->getPropertiesAsAttribute()
                             ? op->getInherentAttr(name).value_or(Attribute())
                             : op->getAttr(name))
      attrs.push_back(builder.getNamedAttr(name, attr));
  attrs.push_back(builder.getNamedAttr("pass", rt::AttentionPassAttr::get(op->getContext(), pass)));
  return attrs;
}

Operation *FunctionBuilder::callLibrary(Operation *op, rt::AttentionPass pass,
                                        ArrayRef<Value> inputs) {
  SmallVector<NamedAttribute> attrs = attentionAttrs(op, pass);
  if (auto chunk = op->getAttrOfType<IntegerAttr>(kLibrary))
    attrs.push_back(builder.getNamedAttr("chunk", chunk));
  return rt::AttentionOp::create(builder, op->getLoc(), op->getResultTypes(), lookup(inputs),
                                 attrs);
}

Operation *FunctionBuilder::launchTile(Operation *op, rt::AttentionPass pass,
                                       ArrayRef<Value> inputs) {
  OpBuilder atEnd = OpBuilder::atBlockEnd(kernels.module.getBody());
  SmallVector<NamedAttribute> attrs = attentionAttrs(op, pass);
  SmallVector<Value> args = lookup(inputs);
  SmallVector<Type> results(op->getResultTypes());
  auto dQ = cast<Tensor>(results.front());
  Type sum = rt::sumType(dQ.getElementType());
  if (pass == rt::AttentionPass::Backward && dQ.getElementType() != sum)
    results.push_back(dQ.withElement(sum)); // the workspace
  auto type = atEnd.getFunctionType(ValueRange(args).getTypes(), results);
  attrs.push_back(atEnd.getNamedAttr("function_type", TypeAttr::get(type)));
  attrs.push_back(atEnd.getNamedAttr("sym_name", atEnd.getStringAttr(kernelName("attention"))));
  auto tile = rt::TileOp::create(atEnd, op->getLoc(), TypeRange(), ValueRange(), attrs);
  Operation *call = rt::LaunchOp::create(builder, op->getLoc(), results, kernels.intern(tile), args,
                                         Value(), Value(), builder.getDenseI64ArrayAttr({}));
  if (Attribute why = op->getAttr(kGeneratedFor))
    call->setAttr(kGeneratedFor, why);
  return call;
}

void FunctionBuilder::buildSingle(const Unit &unit) {
  Operation *op = unit.ops.front(), *last = unit.ops.back();
  Value onto = unit.ops.size() > 1 ? lookup(cast<AddOp>(last).getLhs()) : Value();
  if (auto contract = dyn_cast<ContractOp>(op)) {
    auto matmul = rt::MatmulOp::create(builder, op->getLoc(), last->getResult(0).getType(),
                                       lookup(contract.getLhs()), lookup(contract.getRhs()), onto);
    if (contract.getLhsScale()) {
      matmul.getLhsScaleMutable().assign(lookup(contract.getLhsScale()));
      matmul.getRhsScaleMutable().assign(lookup(contract.getRhsScale()));
      matmul.setFolded(contract.getFolded());
    }
    values[last->getResult(0)] = matmul;
  } else if (auto matmul = dyn_cast<rt::MatmulOp>(op)) { // with a bias, by fold-biases
    values[matmul.getResult()] =
        rt::MatmulOp::create(builder, op->getLoc(), matmul.getType(), lookup(matmul.getLhs()),
                             lookup(matmul.getRhs()), Value(), lookup(matmul.getBias()));
  } else if (auto grad = dyn_cast<LookupGradOp>(op)) {
    launch(buildScatter(kernels.module, grad, kernelName("scatter")), onto);
    values[last->getResult(0)] = lookup(grad.getResult());
  } else if (auto attention = dyn_cast<AttentionOp>(op)) {
    SmallVector<Value> inputs = {attention.getQ(), attention.getK(), attention.getV()};
    llvm::append_range(inputs, attention.getQStarts());
    llvm::append_range(inputs, attention.getKStarts());
    auto pass = rt::AttentionPass::Forward;
    Operation *call =
        op->hasAttr(kLibrary) ? callLibrary(op, pass, inputs) : launchTile(op, pass, inputs);
    values[attention.getOut()] = call->getResult(0);
    values[attention.getLse()] = call->getResult(1);
  } else if (auto audit = dyn_cast<AuditOp>(op)) {
    values[audit.getResult()] = rt::AuditOp::create(
        builder, op->getLoc(), audit.getType(), lookup(audit.getX()), lookup(audit.getLayer()),
        lookup(audit.getStep()), lookup(audit.getOffset()), audit.getWhatAttr(),
        audit.getAlongAttr(), audit.getWholeAttr(), audit.getAxesAttr());
  } else if (isa<dist::DistDialect>(op->getDialect())) {
    buildBetweenRanks(op);
  } else {
    auto back = cast<AttentionGradOp>(op); // d_lse holds delta since prepare-fusion
    auto pass = rt::AttentionPass::Backward;
    Value q = back.getQ(), k = back.getK(), v = back.getV(), dOut = back.getDOut(),
          lse = back.getLse();
    SmallVector<Value> inputs = {q, k, v, dOut, lse, back.getDLse()};
    llvm::append_range(inputs, back.getQStarts());
    llvm::append_range(inputs, back.getKStarts());
    Operation *call = op->hasAttr(kLibrary)
                          ? callLibrary(op, pass, {q, k, v, back.getOut(), dOut, lse})
                          : launchTile(op, pass, inputs);
    for (unsigned i = 0; i < 3; ++i)
      values[back->getResult(i)] = call->getResult(i);
  }
}

void FunctionBuilder::buildBetweenRanks(Operation *op) {
  Location loc = op->getLoc();
  Type type = op->getResult(0).getType();
  Value &result = values[op->getResult(0)];
  if (auto collective = dyn_cast<dist::CollectiveOp>(op)) {
    auto call = rt::CollectiveOp::create(builder, loc, type, Type(), collective.getKind(),
                                         lookup(collective.getX()), collective.getAxes(),
                                         collective.getReduction(), collective.getDimAttr(),
                                         collective.getToAttr(), collective.getSourcesAttr());
    for (StringRef mark : {dist::kActivation, dist::kUnasked})
      if (Attribute value = op->getAttr(mark))
        call->setAttr(mark, value);
    result = call.getResult();
  } else if (auto slice = dyn_cast<dist::SliceOp>(op)) {
    result = rt::SliceOp::create(builder, loc, type, lookup(slice.getX()), slice.getAxes(),
                                 slice.getDimAttr(), /*shift=*/0, isView(slice));
  } else if (auto reshape = dyn_cast<dist::ReshapeOp>(op)) {
    // What is returned is made in the caller's memory, so its operand is a part of that.
    ArrayAttr none = builder.getArrayAttr({});
    Value x = lookup(reshape.getX());
    if (llvm::any_of(op->getUsers(), [](Operation *user) { return isa<ReturnOp>(user); }))
      result = rt::JoinOp::create(builder, loc, type, x, none);
    else
      result = rt::SliceOp::create(builder, loc, type, x, none, StringAttr(), /*shift=*/0,
                                   /*view=*/true);
  } else if (auto place = dyn_cast<dist::PlaceOp>(op)) {
    result = rt::PlaceOp::create(builder, loc, type, lookup(place.getX()), lookup(place.getWhole()),
                                 place.getAxes());
  }
}

void FunctionBuilder::buildUnit(const Unit &unit) {
  if (unit.kind == Unit::Single)
    return buildSingle(unit);
  launch(buildKernel(kernels.module, unit, kernelName("k")), Value());
}

/// Where each op is computed, and which unit reads an argument last, through cloned ops too.
void FunctionBuilder::numberUnits() {
  for (auto [number, unit] : llvm::enumerate(units))
    for (Operation *op : unit.ops) {
      unitOf[op] = number;
      SmallVector<Value> work(op->getOperands());
      while (!work.empty()) {
        Value v = work.pop_back_val();
        if (isa<BlockArgument>(v))
          lastReader[v] = number;
        else if (isCloned(v.getDefiningOp()) || isView(v.getDefiningOp()))
          llvm::append_range(work, v.getDefiningOp()->getOperands());
      }
    }
}

/// Whether a unit after that of `writer` still reads the old content of `arg`.
bool FunctionBuilder::isReadAfter(BlockArgument arg, Operation *writer) {
  auto at = unitOf.find(writer);
  auto last = lastReader.find(arg);
  return at != unitOf.end() && last != lastReader.end() && last->second > at->second;
}

void FunctionBuilder::buildReturn() {
  SmallVector<Value> results;
  DenseSet<Value> returned;
  // The in-place rule: the result is the memory of the argument of its name.
  DenseMap<unsigned, unsigned> updated;
  for (auto [result, arg] : updatesInPlace(layer))
    updated[result] = arg;
  for (auto [i, v] : llvm::enumerate(layer.getReturn().getOperands())) {
    Value result = lookup(v);
    bool copied = !v.getDefiningOp() || !returned.insert(v).second;
    if (auto arg = updated.find(i); arg != updated.end() && v.getDefiningOp())
      copied |= isReadAfter(layer.getArgument(arg->second), v.getDefiningOp());
    if (copied)
      result = rt::CopyOp::create(builder, layer.getReturn().getLoc(), v.getType(), result);
    results.push_back(result);
  }
  rt::ReturnOp::create(builder, layer.getReturn().getLoc(), results);
}

void FunctionBuilder::build() {
  builder.setInsertionPoint(layer);
  auto func = rt::FuncOp::create(builder, layer.getLoc(), layer.getSymName(),
                                 layer.getFunctionType(), layer.getLayerAttr(), layer.getPartAttr(),
                                 layer.getArgAttrsAttr(), layer.getResAttrsAttr());
  Block *body = builder.createBlock(&func.getBody());
  for (BlockArgument arg : layer.getArguments())
    values[arg] = body->addArgument(arg.getType(), arg.getLoc());
  for (const Unit &unit : units)
    buildUnit(unit);
  numberUnits();
  buildReturn();
  addCounts(func);
}

struct FormKernelsPass : tplan::fuse::impl::FormKernelsPassBase<FormKernelsPass> {
  void runOnOperation() final {
    bool merge = fuse::isOn(getOperation());
    KernelTable kernels(getOperation());
    for (auto layer : llvm::make_early_inc_range(getOperation().getOps<LayerOp>())) {
      FunctionBuilder(layer, kernels, merge).build();
      layer.erase();
    }
  }
};

} // namespace
