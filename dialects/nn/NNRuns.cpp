//===- NNRuns.cpp - making layers, cutting runs of them -------------------===//
#include "dialects/nn/NNRuns.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tplan::nn;

LayerOp tplan::nn::createLayer(OpBuilder &builder, Location loc, const Twine &name) {
  auto layer = LayerOp::create(builder, loc, name.str(), builder.getFunctionType({}, {}),
                               FlatSymbolRefAttr(), PartAttr(), ArrayAttr(), ArrayAttr());
  OpBuilder body = OpBuilder::atBlockBegin(&layer.getBody().emplaceBlock());
  ReturnOp::create(body, loc, ValueRange());
  return layer;
}

LayerOp tplan::nn::createPart(OpBuilder &builder, Location loc, FlatSymbolRefAttr layer,
                              Part part) {
  LayerOp made = createLayer(builder, loc, partSymbol(layer.getValue(), part));
  made.setLayerAttr(layer);
  made.setPart(part);
  return made;
}

LayerOp tplan::nn::partOrMade(SymbolTable &symbols, PartTable<LayerOp> &parts, OpBuilder &builder,
                              Location loc, FlatSymbolRefAttr layer, Part part) {
  LayerOp known = parts.lookup(layer, part);
  if (known)
    return known;
  LayerOp made = createPart(builder, loc, layer, part);
  symbols.insert(made);
  parts.insert(made);
  return made;
}

LayerOp tplan::nn::copyLayer(SymbolTable &symbols, PartTable<LayerOp> &parts, LayerOp layer,
                             StringRef name, ArrayRef<Part> copied) {
  auto copyOf = [&](LayerOp original, const Twine &symbol) {
    LayerOp copy = original.clone();
    copy.setSymName(symbol.str());
    OpBuilder(original).insert(copy);
    symbols.insert(copy);
    return copy;
  };
  LayerOp copy = copyOf(layer, name);
  for (Part part : copied)
    if (LayerOp original = parts.lookup(layer.getWholeLayer(), part)) {
      LayerOp other = copyOf(original, partSymbol(copy.getSymName(), part));
      other.setLayerAttr(copy.getWholeLayer());
      parts.insert(other);
    }
  return copy;
}

SmallVector<Part> tplan::nn::partsBesideJoint() {
  SmallVector<Part> parts;
  for (const PartFacts &facts : kPartFacts)
    if (!takesOperands(facts.part))
      parts.push_back(facts.part);
  return parts;
}

Value tplan::nn::scalarOf(LayerOp layer, const Label &label) {
  if (auto known = layer.findArg(Role::Scalar, label.name))
    return layer.getArgument(*known);
  MLIRContext *context = layer.getContext();
  return layer.addArg(label, Tensor::get(context, {}, IntegerType::get(context, 32)),
                      layer.getLoc());
}

llvm::DenseSet<Value> tplan::nn::backwardOf(LayerOp layer) {
  llvm::DenseSet<Value> backward;
  for (unsigned i = 0, e = layer.getNumArguments(); i < e; ++i)
    if (isCotangent(layer.getArgRole(i)))
      backward.insert(layer.getArgument(i));
  for (Operation &op : layer.getBlock())
    if (llvm::any_of(op.getOperands(), [&](Value v) { return backward.contains(v); }))
      backward.insert(op.result_begin(), op.result_end());
  return backward;
}

int64_t tplan::nn::layersOf(RunOp run) { return run.getTimes() * run.getCallees().size(); }

bool tplan::nn::isListRun(RunOp run) { return layersOf(run) > 1 || run->hasAttr(kList); }

/// Layers [begin, end) of `run`: whole periods, or a piece of one period.
static RunOp piece(OpBuilder &b, RunOp run, int64_t begin, int64_t end, ValueRange carried) {
  int64_t period = run.getCallees().size(), from = begin % period;
  int64_t width = std::min(period - from, end - begin);
  auto slice = [&](ArrayAttr attr) { return b.getArrayAttr(attr.getValue().slice(from, width)); };
  // Inner values of a run have the types of what it carries in.
  bool last = end == layersOf(run);
  SmallVector<Type> results(last ? SmallVector<Type>(run->getResultTypes())
                                 : SmallVector<Type>(run.getCarried().getTypes()));
  auto piece =
      RunOp::create(b, run.getLoc(), results, slice(run.getCallees()), (end - begin) / width,
                    run.getFirstLayer() + begin, carried, run.getInvariants(),
                    slice(run.getParams()), run.getFirstInstance() + begin / period,
                    run.getStageAttr(), last ? run.getMessagesAttr() : ArrayAttr());
  for (NamedAttribute attr : run->getDiscardableAttrs())
    piece->setAttr(attr.getName(), attr.getValue());
  if (layersOf(piece) == 1)
    piece->setAttr(kList, UnitAttr::get(b.getContext()));
  return piece;
}

SmallVector<SmallVector<RunOp, 3>> tplan::nn::cutRun(RunOp run, ArrayRef<int64_t> borders) {
  OpBuilder b(run);
  int64_t period = run.getCallees().size(), begin = 0;
  SmallVector<int64_t> ends(borders);
  ends.push_back(layersOf(run));
  SmallVector<Value> carried(run.getCarried());
  SmallVector<SmallVector<RunOp, 3>> intervals;
  for (int64_t end : ends) {
    intervals.emplace_back();
    int64_t head = std::min((begin + period - 1) / period * period, end);
    int64_t body = std::max(head, end / period * period);
    for (int64_t to : {head, body, end})
      if (to > begin) {
        intervals.back().push_back(piece(b, run, begin, to, carried));
        carried = SmallVector<Value>(intervals.back().back()->getResults());
        begin = to;
      }
  }
  run->replaceAllUsesWith(carried);
  run.erase();
  return intervals;
}

void tplan::nn::takeTypesOfBody(LayerOp layer) {
  layer.setFunctionType(FunctionType::get(layer.getContext(), layer.getBlock().getArgumentTypes(),
                                          layer.getReturn().getOperandTypes()));
}

Label tplan::nn::labelOfState(MLIRContext *context, StringRef weight, StringRef slot) {
  return {Role::State, StringAttr::get(context, weight + "." + slot), std::nullopt,
          SlotAttr::get(context, slot, weight)};
}
