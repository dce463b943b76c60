//===- Unasked.cpp - changes of layout that no line of the plan asks for --===//
#include "lib/Shard/Unasked.h"
#include "dialects/nn/NNBuilder.h"
#include "dialects/nn/NNRuns.h"
#include "lib/Shard/Rules.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::shard;
using dist::Axes;
using dist::LayoutAttr;

Unasked::Unasked(ModuleOp module, const Placement &placement) : placement(placement) {
  for (auto chain : module.getOps<ChainOp>())
    for (auto run : chain.getOps<RunOp>())
      for (Value v : isListRun(run) ? run.getCarried() : ValueRange())
        if (!stream || typeOf(v).getNumElements() > stream.getNumElements())
          stream = typeOf(v);
}

bool Unasked::isOfActivations(dist::ReshardOp reshard) {
  std::optional<Part> part = reshard->getParentOfType<LayerOp>().getPart();
  return (!part || takesOperands(*part)) && !dist::layoutOf(reshard.getX()).getRows() &&
         !dist::layoutOf(reshard.getResult()).getRows();
}

dist::UnaskedAttr Unasked::of(dist::ReshardOp reshard) const {
  if (dist::UnaskedAttr gather = ofGather(reshard))
    return gather;
  return ofSum(reshard);
}

/// Ops that read a value, through further changes of its layout.
static void addReaders(Value v, SmallVectorImpl<Operation *> &readers) {
  for (Operation *user : v.getUsers())
    if (auto reshard = dyn_cast<dist::ReshardOp>(user))
      addReaders(reshard.getResult(), readers);
    else
      readers.push_back(user);
}

/// Whether the ranks along one of these axes have different parts of an op's work.
static bool isShared(Operation *op, ArrayRef<StringAttr> axes) {
  SmallVector<Value> values(op->getOperands());
  llvm::append_range(values, op->getResults());
  return llvm::any_of(values,
                      [&](Value v) { return dist::intersects(dist::layoutOf(v).used(), axes); });
}

bool Unasked::mayBeCut(DimAttr dim, LayoutAttr layout, ArrayRef<StringAttr> axes) const {
  return !(stream && stream.has(dim.getName())) && layout.axesOf(dim.getName()).empty() &&
         dim.getSize() >= placement.mesh.sizeOf(axes);
}

/// Heads are cut as their groups are, in equal blocks, or not at all.
static void pairHeads(LayerOp layer, int64_t ranks, SmallVector<StringAttr> &dims) {
  layer.walk([&](Operation *op) {
    std::optional<Rule> rule = ruleOf(op);
    if (!rule || rule->heads.empty())
      return;
    auto isHeads = [&](StringRef name) { return name == rule->heads || name == rule->groups; };
    auto named = [&](StringAttr dim) { return isHeads(dim); };
    if (llvm::none_of(dims, named))
      return;
    llvm::erase_if(dims, named);
    SmallVector<DimAttr> both = factorsOf(op);
    llvm::erase_if(both, [&](DimAttr dim) { return !isHeads(dim.getName()); });
    if (llvm::all_of(both, [&](DimAttr dim) {
          return dim.getSize() % ranks == 0 || ranks % dim.getSize() == 0;
        }))
      for (DimAttr dim : both)
        dims.push_back(StringAttr::get(layer.getContext(), dim.getName()));
  });
}

dist::UnaskedAttr Unasked::describe(dist::Undone how, StringAttr dim, ArrayRef<StringAttr> axes,
                                    LayerOp layer, SmallVector<StringAttr> instead) const {
  pairHeads(layer, placement.mesh.sizeOf(axes), instead);
  MLIRContext *context = dim.getContext();
  return dist::UnaskedAttr::get(context, how, dim, StringAttr::get(context, placement.keyOf(dim)),
                                dist::arrayOf(context, instead));
}

dist::UnaskedAttr Unasked::ofGather(dist::ReshardOp reshard) const {
  LayoutAttr from = dist::layoutOf(reshard.getX()), to = dist::layoutOf(reshard.getResult());
  SmallVector<Operation *> readers;
  addReaders(reshard.getResult(), readers);
  for (dist::ShardAttr cut : from.getShards()) {
    Axes left = dist::difference(cut.getAxes(), to.axesOf(cut.getDim()));
    // What a layer hands on has its layout from the plan.
    if (left.empty() || llvm::any_of(readers, [&](Operation *op) {
          return isa<ReturnOp>(op) || isShared(op, left);
        }))
      continue;
    SmallVector<StringAttr> instead;
    for (Operation *op : readers) {
      std::optional<Rule> rule = ruleOf(op);
      for (DimAttr dim : rule ? factorsOf(op) : SmallVector<DimAttr>())
        if (auto name = StringAttr::get(op->getContext(), dim.getName());
            name != cut.getDim() && mayBeCut(dim, to, left) &&
            !llvm::is_contained(rule->whole, dim.getName()) && !llvm::is_contained(instead, name))
          instead.push_back(name);
    }
    return describe(dist::Undone::Gathers, cut.getDim(), left, reshard->getParentOfType<LayerOp>(),
                    instead);
  }
  return {};
}

/// The dimension over which an op in front of v has summed, cut over one of these axes.
static StringAttr summedDim(Value v, ArrayRef<StringAttr> axes) {
  llvm::SetVector<Operation *> work;
  if (Operation *op = v.getDefiningOp())
    work.insert(op);
  for (unsigned i = 0; i < work.size(); ++i)
    for (Value operand : work[i]->getOperands()) {
      for (dist::ShardAttr cut : dist::layoutOf(operand).getShards())
        if (dist::intersects(cut.getAxes(), axes))
          return cut.getDim();
      if (Operation *op = operand.getDefiningOp();
          op && dist::intersects(dist::layoutOf(operand).getSum(), axes))
        work.insert(op);
    }
  return {};
}

dist::UnaskedAttr Unasked::ofSum(dist::ReshardOp reshard) const {
  LayoutAttr from = dist::layoutOf(reshard.getX()), to = dist::layoutOf(reshard.getResult());
  Axes made = dist::difference(from.getSum(), to.getSum());
  Tensor type = typeOf(reshard.getX());
  if (made.empty() || !stream || type.getNumElements() <= stream.getNumElements())
    return {};
  for (DimAttr dim : type.getDims())
    if (mayBeCut(dim, to, made))
      if (StringAttr summed = summedDim(reshard.getX(), made))
        return describe(dist::Undone::Sums, summed, made, reshard->getParentOfType<LayerOp>(),
                        {StringAttr::get(type.getContext(), dim.getName())});
  return {};
}
