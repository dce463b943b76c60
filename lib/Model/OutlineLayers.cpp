//===- OutlineLayers.cpp - the model as a chain of layer functions --------===//
//
// The model's body is cut at its lists: each list is a run of one function per
// kind, each stretch of code between lists a function that runs once. The length
// of the chain does not depend on the depth of the model.
//
// One decision: a value trained through that several runs read is forked by a
// layer of its own, so that every cotangent of a chain value has one writer.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/nn/NNRuns.h"
#include "dialects/tplan/Tplan.h"
#include "lib/Model/LayerBuilder.h"
#include "lib/Model/Model.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

namespace tplan::model {
#define GEN_PASS_DEF_OUTLINELAYERSPASS
#include "lib/Model/Passes.h.inc"
} // namespace tplan::model

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using tplan::model::countTerms;
using tplan::model::isRematerialized;
using tplan::model::LayerBuilder;
using tplan::model::Losses;

namespace {

//===----------------------------------------------------------------------===//
// The chain
//===----------------------------------------------------------------------===//

class Outliner {
public:
  Outliner(lang::ModelOp model)
      : model(model), module(model->getParentOfType<ModuleOp>()), symbols(module),
        chainBuilder(model) {}

  LogicalResult run();

private:
  using Ops = SmallVector<Operation *>;
  /// A segment, and which operand of its list (0 for a stretch of code).
  using Read = std::pair<unsigned, unsigned>;

  void copyForLists();
  void cutIntoSegments();
  void markTrained();
  SmallVector<Value> valuesRead(ArrayRef<Operation *> segment);
  bool isCarried(Value v);
  void forkSharedValues(unsigned at);
  void outlineStretch(ArrayRef<Operation *> ops, unsigned at);
  LogicalResult outlineList(lang::ForOp loop, unsigned at);
  LogicalResult outlineCounts();
  FlatSymbolRefAttr bindParam(lang::WeightOp weight, Twine symbol, Twine path, int64_t count,
                              int64_t first, int64_t step, int64_t idStep);
  SmallVector<Value> addRun(ArrayRef<Attribute> callees, int64_t times, ArrayRef<Value> carried,
                            ArrayRef<Value> invariants, ArrayRef<Attribute> params, Location loc,
                            bool ofList = false);
  std::string freshName(StringRef base);
  Value chainValue(Value v) { return chain.lookup(v); }
  /// What a read of `v` gets: its own copy where the value is forked.
  Value passed(Value v, Read read) {
    auto copy = forked.find({v, read});
    return copy == forked.end() ? chainValue(v) : copy->second;
  }
  bool isTrained(Value v) const { return trained.contains(v); }

  lang::ModelOp model;
  ModuleOp module;
  SymbolTable symbols;
  OpBuilder chainBuilder;
  Losses losses;
  SmallVector<Ops> segments;                      // a list alone, or a stretch of code
  DenseMap<Value, SmallVector<Read>> readers;     // readers of values that another segment gives
  DenseSet<Value> trained;                        // values that depend on a weight
  DenseMap<Value, Value> chain;                   // value of the model's body -> of the chain
  DenseMap<std::pair<Value, Read>, Value> forked; // ... for one read of it
  int64_t layers = 0, ids = 0;
};

std::string Outliner::freshName(StringRef base) {
  std::string name = base.str();
  for (int i = 1; symbols.lookup(name); ++i)
    name = (base + "_" + Twine(i)).str();
  return name;
}

/// A list takes only values of the chain, and weights are none: a stretch of code reads them and
/// gives copies.
void Outliner::copyForLists() {
  for (auto loop : model.getOps<lang::ForOp>())
    for (OpOperand &operand : loop->getOpOperands())
      if (auto weight = operand.get().getDefiningOp<lang::WeightOp>()) {
        NNBuilder b(loop.getLoc(), OpBuilder(loop));
        operand.set(b.scale(weight.getValue(), 1));
      }
}

/// Whether the op is cloned into whatever reads it. What a list takes is not: it must be a value of
/// the chain, which a stretch of code gives.
static bool isInlined(Operation &op) {
  return isa<lang::InputOp, lang::WeightOp>(op) ||
         (isRematerialized(&op) &&
          llvm::none_of(op.getUsers(), [](Operation *user) { return isa<lang::ForOp>(user); }));
}

void Outliner::cutIntoSegments() {
  Ops stretch;
  auto flush = [&] {
    // A stretch whose values nobody reads later has losses and outputs, or is empty.
    if (!stretch.empty())
      segments.push_back(std::exchange(stretch, {}));
  };
  for (Operation &op : *model.getBody().begin()) {
    if (isInlined(op))
      continue;
    if (isa<lang::ForOp>(op)) {
      flush();
      segments.push_back({&op});
    } else {
      stretch.push_back(&op);
    }
  }
  flush();
  for (auto [i, segment] : llvm::enumerate(segments)) {
    if (auto loop = dyn_cast<lang::ForOp>(segment.front()))
      for (OpOperand &operand : loop->getOpOperands())
        readers[operand.get()].push_back({i, operand.getOperandNumber()});
    else
      for (Value v : valuesRead(segment))
        readers[v].push_back({i, 0});
  }
}

void Outliner::markTrained() {
  auto isWeight = [](Operation &op) {
    auto weight = dyn_cast<lang::WeightOp>(op);
    return weight && !weight.isState();
  };
  for (Operation &op : *model.getBody().begin())
    if (isWeight(op) || isa<lang::ForOp>(op) ||
        llvm::any_of(op.getOperands(), [&](Value v) { return isTrained(v); }))
      trained.insert(op.result_begin(), op.result_end());
}

/// Values of inputs and other segments that a segment reads, in order.
SmallVector<Value> Outliner::valuesRead(ArrayRef<Operation *> segment) {
  llvm::SetVector<Value> read;
  DenseSet<Operation *> inside(segment.begin(), segment.end());
  for (Operation *op : segment) {
    SmallVector<Value> operands(op->getOperands());
    if (auto loss = dyn_cast<lang::LossOp>(op)) // counts are a chain of their own
      operands = {loss.getSum()};
    for (Value v : operands)
      if (!inside.contains(v.getDefiningOp()) && !isa<lang::WeightOp>(v.getDefiningOp()) &&
          !isRematerialized(v.getDefiningOp()))
        read.insert(v);
  }
  return read.takeVector();
}

SmallVector<Value> Outliner::addRun(ArrayRef<Attribute> callees, int64_t times,
                                    ArrayRef<Value> carried, ArrayRef<Value> invariants,
                                    ArrayRef<Attribute> params, Location loc, bool ofList) {
  auto first = symbols.lookup<LayerOp>(cast<FlatSymbolRefAttr>(callees.front()).getValue());
  SmallVector<Type> results;
  for (unsigned i = 0, e = first.getNumResults(); i < e; ++i)
    if (first.getResultRole(i) == Role::Carried)
      results.push_back(first.getResultTypes()[i]);
  auto run = RunOp::create(chainBuilder, loc, results, chainBuilder.getArrayAttr(callees), times,
                           layers, carried, invariants, chainBuilder.getArrayAttr(params), 0,
                           IntegerAttr(), ArrayAttr());
  layers += times * callees.size();
  if (ofList && layersOf(run) == 1)
    run->setAttr(nn::kList, UnitAttr::get(run.getContext()));
  return SmallVector<Value>(run.getResults());
}

FlatSymbolRefAttr Outliner::bindParam(lang::WeightOp weight, Twine symbol, Twine path,
                                      int64_t count, int64_t first, int64_t step, int64_t idStep) {
  std::string name = symbol.str();
  if (!symbols.lookup(name)) { // used before: a tied weight
    auto param = ParamOp::create(chainBuilder, weight.getLoc(), name, typeOf(weight.getValue()),
                                 count, path.str(), first, step, ids, idStep, weight.getInit(),
                                 weight.getKind(), FlatSymbolRefAttr());
    param->moveBefore(model);
    symbols.insert(param);
    ++ids;
  }
  return FlatSymbolRefAttr::get(module.getContext(), name);
}

/// Whether the list carries the value on: then the value gets a cotangent even where the list's
/// first layer does not train it.
bool Outliner::isCarried(Value v) {
  return llvm::any_of(v.getUses(), [](OpOperand &use) {
    auto loop = dyn_cast<lang::ForOp>(use.getOwner());
    return loop && use.getOperandNumber() < loop.getCarried().size();
  });
}

/// A trained value that is read several times, by several segments or as several
/// values of one list, goes through a layer that copies it.
void Outliner::forkSharedValues(unsigned at) {
  for (Operation *op : segments[at])
    for (Value v : op->getResults()) {
      SmallVector<Read> by = readers[v];
      if (by.size() < 2 || !(isTrained(v) || isCarried(v)))
        continue;
      LayerBuilder layer(module, freshName("fork"), v.getLoc(), losses);
      symbols.insert(layer.layer);
      layer.addInput(Role::Carried, 0, v);
      for (unsigned i = 0; i < by.size(); ++i)
        layer.addCarriedResult(i, v);
      SmallVector<Value> copies =
          addRun({FlatSymbolRefAttr::get(layer.layer)}, 1, {chainValue(v)}, {},
                 {DictionaryAttr::get(module.getContext())}, v.getLoc());
      for (auto [reader, copy] : llvm::zip(by, copies))
        forked[{v, reader}] = copy;
    }
}

void Outliner::outlineStretch(ArrayRef<Operation *> ops, unsigned at) {
  StringRef base = at == 0 ? "entry" : at + 1 == segments.size() ? "exit" : "between";
  LayerBuilder layer(module, freshName(base), ops.front()->getLoc(), losses);
  symbols.insert(layer.layer);

  SmallVector<Value> carried, invariants;
  SmallVector<Value> read = valuesRead(ops);
  for (Value v : read)
    if (isTrained(v)) {
      layer.addInput(Role::Carried, carried.size(), v);
      carried.push_back(passed(v, {at, 0}));
    }
  for (Value v : read)
    if (!isTrained(v)) {
      layer.addInput(Role::Invariant, invariants.size(), v);
      invariants.push_back(passed(v, {at, 0}));
    }
  SmallVector<Value> results;
  for (Operation *op : ops) {
    for (Value v : op->getOperands()) {
      auto weight = v.getDefiningOp<lang::WeightOp>();
      if (weight && !layer.contains(v))
        layer.clone(weight);
    }
    if (!isa<lang::LossOp>(op))
      for (Value v : op->getOperands())
        layer.lookup(v);
    layer.clone(op);
    for (Value v : op->getResults())
      if (readers.contains(v))
        results.push_back(v);
  }
  for (auto [i, v] : llvm::enumerate(results))
    layer.addCarriedResult(i, v);

  layer.finish();
  NamedAttrList params;
  for (auto [name, weight] : layer.weights)
    params.set(name, bindParam(weight, name, name, 1, 0, 1, 0));
  SmallVector<Value> out =
      addRun({FlatSymbolRefAttr::get(layer.layer)}, 1, carried, invariants,
             {params.getDictionary(module.getContext())}, ops.front()->getLoc());
  for (auto [v, value] : llvm::zip(results, out))
    chain[v] = value;
}

LogicalResult Outliner::outlineList(lang::ForOp loop, unsigned at) {
  // One layer function per kind.
  SmallVector<std::unique_ptr<LayerBuilder>> kinds;
  for (Region &region : loop.getKinds()) {
    auto layer =
        std::make_unique<LayerBuilder>(module, freshName(loop.getMember()), loop.getLoc(), losses);
    symbols.insert(layer->layer);
    for (auto [i, arg] : llvm::enumerate(region.getArguments())) {
      unsigned n = loop.getCarried().size();
      layer->addInput(i < n ? Role::Carried : Role::Invariant, i < n ? i : i - n, arg);
    }
    for (Operation &op : region.front().without_terminator()) {
      auto loss = dyn_cast<lang::LossOp>(op);
      if (loss && loss.getCount())
        return loss.emitOpError("in a list must have as many terms in every layer: ")
               << loss.getName();
      layer->clone(&op);
    }
    for (auto [i, v] : llvm::enumerate(region.front().getTerminator()->getOperands()))
      layer->addCarriedResult(i, v);
    layer->finish();
    kinds.push_back(std::move(layer));
  }

  SmallVector<Value> carried, invariants;
  for (OpOperand &operand : loop->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    (number < loop.getCarried().size() ? carried : invariants)
        .push_back(passed(operand.get(), {at, number}));
  }
  ArrayAttr runs = loop.getRuns();
  int64_t number = 0; // of the next layer in its list
  for (auto [r, attr] : llvm::enumerate(runs)) {
    auto row = llvm::map_to_vector(cast<ArrayAttr>(attr).getAsRange<IntegerAttr>(),
                                   [](IntegerAttr a) { return a.getInt(); });
    int64_t times = row.front(), period = row.size() - 1, perPeriod = 0;
    for (int64_t kind : ArrayRef(row).drop_front())
      perPeriod += kinds[kind]->weights.size();
    int64_t idsBefore = ids;
    SmallVector<Attribute> callees, params;
    for (auto [j, kind] : llvm::enumerate(ArrayRef(row).drop_front())) {
      callees.push_back(FlatSymbolRefAttr::get(kinds[kind]->layer));
      // Where a list has several runs or kinds, a number keeps the symbols distinct.
      std::string prefix = loop.getMember().str();
      if (runs.size() > 1 || period > 1)
        prefix += ".r" + std::to_string(r) + "k" + std::to_string(j);
      NamedAttrList bound;
      for (auto [name, weight] : kinds[kind]->weights)
        bound.set(name, bindParam(weight, prefix + "." + name, loop.getMember() + ".{i}." + name,
                                  times, number + j, period, perPeriod));
      params.push_back(bound.getDictionary(module.getContext()));
    }
    if (ids > idsBefore)
      ids = idsBefore + times * perPeriod;
    carried = addRun(callees, times, carried, invariants, params, loop.getLoc(), /*ofList=*/true);
    number += times * period;
  }
  for (auto [result, value] : llvm::zip(loop.getResults(), carried))
    chain[result] = value;
  return success();
}

/// Chain @counts: how many terms each loss of a microbatch has.
LogicalResult Outliner::outlineCounts() {
  SmallVector<lang::LossOp> counted = losses.counted();
  if (counted.empty())
    return success();
  LayerBuilder layer(module, freshName("count_terms"), model.getLoc(), losses);
  symbols.insert(layer.layer);

  llvm::SetVector<Value> inputs;
  for (lang::LossOp loss : counted) {
    NNBuilder b(loss.getLoc(), layer.layer.getReturn());
    Value count;
    if (loss.getCount()) {
      llvm::SetVector<Operation *> slice;
      SmallVector<Value> work = {loss.getCount()};
      while (!work.empty()) {
        Value v = work.pop_back_val();
        if (isTrained(v))
          return loss.emitOpError("has a count that depends on weights: ") << loss.getName();
        if (v.getDefiningOp<lang::InputOp>()) {
          if (inputs.insert(v))
            layer.addInput(Role::Invariant, inputs.size() - 1, v);
        } else if (slice.insert(v.getDefiningOp())) {
          llvm::append_range(work, v.getDefiningOp()->getOperands());
        }
      }
      for (Operation *op : topologicalSort(slice))
        if (!layer.contains(op->getResult(0)))
          layer.clone(op);
      count = b.cast(layer.lookup(loss.getCount()), b.getF64Type());
    } else {
      count = countTerms(b, loss, model.getBatch());
    }
    Label label = labelOfCount(b.getContext(), Role::Loss, loss.getName());
    Value before = layer.layer.addArg(label, count.getType(), loss.getLoc());
    layer.layer.addResult(label, b.add(before, count));
  }

  auto counts = ChainOp::create(chainBuilder, model.getLoc(), kCountsChain, DictionaryAttr());
  OpBuilder::InsertionGuard guard(chainBuilder);
  chainBuilder.createBlock(&counts.getBody());
  SmallVector<Value> operands;
  for (Value v : inputs) {
    auto input = v.getDefiningOp<lang::InputOp>();
    operands.push_back(InputOp::create(chainBuilder, input.getLoc(), input.getType(),
                                       input.getSource(), input.getShift(), input.getVocabulary()));
  }
  int64_t layersBefore = layers;
  addRun({FlatSymbolRefAttr::get(layer.layer)}, 1, {}, operands,
         {DictionaryAttr::get(module.getContext())}, model.getLoc());
  layers = layersBefore; // counts are no layer of the model
  return success();
}

LogicalResult Outliner::run() {
  copyForLists();
  cutIntoSegments();
  markTrained();

  if (failed(losses.collect(model)))
    return failure();
  if (losses.empty())
    return model.emitOpError("has no loss; add `loss main = ...` to ") << model.getSymName();
  auto train = ChainOp::create(chainBuilder, model.getLoc(), kTrainChain,
                               losses.weights(module.getContext()));
  {
    OpBuilder::InsertionGuard guard(chainBuilder);
    chainBuilder.createBlock(&train.getBody());
    for (auto input : model.getOps<lang::InputOp>())
      chain[input.getValue()] =
          InputOp::create(chainBuilder, input.getLoc(), input.getType(), input.getSource(),
                          input.getShift(), input.getVocabulary());
    for (unsigned at = 0; at < segments.size(); ++at) {
      if (auto loop = dyn_cast<lang::ForOp>(segments[at].front())) {
        if (failed(outlineList(loop, at)))
          return failure();
      } else {
        outlineStretch(segments[at], at);
      }
      forkSharedValues(at);
    }
  }
  if (failed(outlineCounts()))
    return failure();
  model.erase();
  return success();
}

struct OutlineLayersPass : tplan::model::impl::OutlineLayersPassBase<OutlineLayersPass> {
  void runOnOperation() final {
    auto models = llvm::to_vector(getOperation().getOps<lang::ModelOp>());
    for (lang::ModelOp model : models)
      if (failed(Outliner(model).run()))
        return signalPassFailure();
  }
};

} // namespace
