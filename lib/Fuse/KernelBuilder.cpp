//===- KernelBuilder.cpp - one unit as an rt.kernel -----------------------===//
//
// Inputs are what the unit's ops read from outside, outputs what others read of
// it. Element-wise nn ops become one scalar op each (ScalarBody.cpp).
//
//===----------------------------------------------------------------------===//
#include "lib/Fuse/KernelBuilder.h"
#include "dialects/dist/Kinds.h"
#include "dialects/nn/NNBuilder.h"
#include "lib/Fuse/Counts.h"
#include "lib/Fuse/ScalarBody.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::fuse;
using rt::AccessAttr;
using rt::AccessKind;

namespace {

/// Elements that a task works on: enough to pay for its start, few enough to
/// share the work evenly. A fact of shapes, never of machines.
constexpr int64_t kColumnGrain = 128, kMapColumns = 1024;

class KernelBuilder {
public:
  KernelBuilder(ModuleOp module, const Unit &unit, StringRef name)
      : unit(unit), members(unit.ops.begin(), unit.ops.end()), module(module), name(name),
        builder(module.getContext()) {}

  BuiltKernel build();

private:
  Value input(Value v, AccessAttr access);
  Value valueOf(Value v);
  Value compute(Operation *op);
  AccessAttr identity() {
    return AccessAttr::get(builder.getContext(), AccessKind::Identity, "", 0);
  }
  bool inUnit(Operation *op) { return members.contains(op); }
  void collectOutputs();
  unsigned numRows();
  rt::Skeleton skeleton();
  bool transposes();
  int64_t grain(unsigned rows);
  bool isWrittenLast(Value output);
  SmallVector<int64_t> inPlacePairs(rt::Skeleton skeleton);

  const Unit &unit;
  llvm::SmallDenseSet<Operation *> members;
  ModuleOp module;
  StringRef name;
  OpBuilder builder;
  Block *body = nullptr;
  DenseMap<Value, Value> scalars;                   // nn value -> scalar in the body
  SmallVector<std::pair<Value, AccessAttr>> inputs; // = the body's arguments
  SmallVector<Value> outputs;
};

/// The body's argument for v read with `access`, one for each distinct pair.
Value KernelBuilder::input(Value v, AccessAttr access) {
  for (auto [i, known] : llvm::enumerate(inputs))
    if (known == std::pair(v, access))
      return body->getArgument(i);
  inputs.push_back({v, access});
  return body->addArgument(typeOf(v).getElementType(), v.getLoc());
}

Value KernelBuilder::valueOf(Value v) {
  if (Value known = scalars.lookup(v))
    return known;
  Operation *op = v.getDefiningOp();
  if (op && !inUnit(op) && isCloned(op))
    return scalars[v] = compute(op);
  return input(v, identity());
}

Value KernelBuilder::compute(Operation *op) {
  MLIRContext *ctx = builder.getContext();
  if (auto rope = dyn_cast<RopeOp>(op)) {
    auto repeat = AccessAttr::get(ctx, AccessKind::Repeat, rope.getDim(), 0);
    Value x = input(rope.getX(), identity());
    Value turned = input(
        rope.getX(), AccessAttr::get(ctx, AccessKind::Rotate, rope.getDim(), rope.getInverse()));
    return buildRope(builder, op->getLoc(), x, turned, input(rope.getCos(), repeat),
                     input(rope.getSin(), repeat));
  }
  if (auto lookup = dyn_cast<LookupOp>(op)) {
    Value id = input(lookup.getIds(), identity());
    return input(lookup.getTable(), AccessAttr::get(ctx, AccessKind::Gather, lookup.getDim(),
                                                    cast<BlockArgument>(id).getArgNumber()));
  }
  SmallVector<Value> operands =
      llvm::map_to_vector(op->getOperands(), [&](Value v) { return valueOf(v); });
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    if (unit.kind == Unit::Column)
      return rt::ColReduceOp::create(builder, op->getLoc(), reduce.getKind(), operands[0]);
    if (unit.segments && typeOf(reduce.getResult()).getRank() == int64_t(*unit.segments)) {
      int64_t size = 1;
      for (DimAttr dim : ArrayRef(unit.dims).drop_front(*unit.segments))
        size *= dim.getSize();
      return rt::SegmentReduceOp::create(builder, op->getLoc(), reduce.getKind(), operands[0],
                                         size);
    }
    return rt::RowReduceOp::create(builder, op->getLoc(), reduce.getKind(), operands[0]);
  }
  if (auto partial = dyn_cast<rt::PartialReduceOp>(op))
    return rt::ColReduceOp::create(builder, op->getLoc(), partial.getKind(), operands[0]);
  return buildScalar(builder, op, operands);
}

void KernelBuilder::collectOutputs() {
  for (Operation *op : unit.ops)
    if (llvm::any_of(op->getUsers(), [&](Operation *user) { return !inUnit(user); }))
      outputs.push_back(op->getResult(0));
}

/// How many of the unit's dimensions are rows. A map may choose: its columns are the longest run of
/// last dimensions that every operand has completely or not at all, short enough to leave several
/// tasks.
unsigned KernelBuilder::numRows() {
  if (unit.rows)
    return *unit.rows;
  unsigned n = unit.dims.size();
  if (n == 0)
    return 0;
  bool bounded = unit.dims.front().getBounded(); // then it is a row
  unsigned rows = std::max<unsigned>(n - 1, bounded);
  int64_t columns = rows < n ? unit.dims[rows].getSize() : 1;
  auto keepsRun = [&](Tensor type, unsigned from) {
    ArrayRef<DimAttr> run = ArrayRef(unit.dims).drop_front(from);
    bool whole = type.getDims().size() >= run.size() && type.getDims().take_back(run.size()) == run;
    return whole || llvm::none_of(run, [&](DimAttr d) { return type.has(d.getName()); });
  };
  while (rows > bounded && columns < kMapColumns) {
    bool all = llvm::all_of(inputs, [&](auto &in) {
      return in.second.getKind() == AccessKind::Identity && keepsRun(typeOf(in.first), rows - 1);
    });
    // Positions and broadcasts inside the body know single dimensions.
    all &= llvm::none_of(*body, [](Operation &op) { return isa<rt::PositionOp>(op); });
    if (!all)
      break;
    columns *= unit.dims[--rows].getSize();
  }
  return rows;
}

rt::Skeleton KernelBuilder::skeleton() {
  if (unit.kind == Unit::Column)
    return rt::Skeleton::Column;
  if (unit.rows)
    return rt::Skeleton::Row;
  return transposes() ? rt::Skeleton::Transpose : rt::Skeleton::Map;
}

/// Whether an input has its elements in another order than the unit, which squares then turn.
bool KernelBuilder::transposes() {
  if (unit.dims.empty() || unit.dims.front().getBounded() || unit.dims.back().getSize() == 1)
    return false;
  DimAttr last = unit.dims.back();
  auto hasLast = [&](Value v) { return typeOf(v).has(last.getName()); };
  return llvm::all_of(outputs, hasLast) && llvm::any_of(inputs, [&](auto &in) {
           if (in.second.getKind() != AccessKind::Identity || !hasLast(in.first))
             return false;
           // Dimensions of one position have no order.
           auto innermost = llvm::find_if(llvm::reverse(typeOf(in.first).getDims()),
                                          [](DimAttr dim) { return dim.getSize() > 1; });
           return *innermost != last;
         });
}

int64_t KernelBuilder::grain(unsigned rows) {
  if (unit.kind == Unit::Column)
    return kColumnGrain;
  for (Operation *op : unit.ops)
    if (auto partial = dyn_cast<rt::PartialReduceOp>(op))
      return partial.getGrain();
  int64_t columns = 1;
  for (DimAttr dim : ArrayRef(unit.dims).drop_front(rows))
    columns *= dim.getSize();
  return std::max<int64_t>(1, rt::kTaskElements / std::max<int64_t>(1, columns));
}

/// The argument whose memory the caller wants `output` in, if any.
Value takenOver(Value output) {
  auto layer = cast<LayerOp>(output.getDefiningOp()->getParentOp());
  // What is gathered into a weight may take over the rank's own block of it.
  if (output.hasOneUse())
    if (auto gather = dyn_cast<dist::CollectiveOp>(*output.getUsers().begin());
        gather && dist::factsOf(gather.getKind()).completes())
      output = gather.getResult();
  for (auto [r, v] : llvm::enumerate(layer.getReturn().getOperands()))
    for (unsigned a = 0, e = layer.getNumArguments(); v == output && a < e; ++a)
      if (layer.isInPlace(a, r))
        return layer.getArgument(a);
  return {};
}

/// Whether the last pass over a row writes an output: it depends on every sum or maximum of the
/// row.
bool KernelBuilder::isWrittenLast(Value output) {
  llvm::SetVector<Operation *> sources;
  sources.insert(output.getDefiningOp());
  for (size_t i = 0; i < sources.size(); ++i)
    for (Value v : sources[i]->getOperands())
      if (Operation *op = v.getDefiningOp(); op && inUnit(op))
        sources.insert(op);
  return llvm::all_of(unit.ops, [&](Operation *op) {
    return !isa<ReduceOp, rt::PartialReduceOp>(op) || (isa<ReduceOp>(op) && sources.contains(op));
  });
}

/// An output may take over the memory of an input that is read only at the same place: of the input
/// that it updates, else of a temporary. A row kernel reads its inputs again in later passes, so in
/// it only an output that is written once for each row may do so, or an update that the last pass
/// writes.
SmallVector<int64_t> KernelBuilder::inPlacePairs(rt::Skeleton skeleton) {
  SmallVector<int64_t> pairs;
  llvm::SmallDenseSet<unsigned> taken;
  for (auto [o, output] : llvm::enumerate(outputs)) {
    bool oncePerRow = typeOf(output).getRank() < static_cast<int64_t>(unit.dims.size());
    Value updated = takenOver(output);
    bool isRow = skeleton == rt::Skeleton::Row;
    if (skeleton != rt::Skeleton::Map && !oncePerRow &&
        !(isRow && updated && isWrittenLast(output)))
      continue;
    for (auto [i, in] : llvm::enumerate(inputs)) {
      bool alone = llvm::count_if(inputs, [&](auto &x) { return x.first == in.first; }) == 1;
      auto slice = in.first.getDefiningOp<dist::SliceOp>();
      bool isPart = slice || in.first.getDefiningOp<dist::ReshapeOp>();
      // A slice is a part of other memory: it is no temporary, but the update of its owner may
      // write there.
      bool wanted = updated ? in.first == updated || (slice && slice.getX() == updated)
                            : in.first.getDefiningOp() && !isPart;
      if (wanted && in.first.getType() == output.getType() && in.second == identity() && alone &&
          taken.insert(i).second) {
        pairs.append({int64_t(i), int64_t(o)});
        break;
      }
    }
  }
  return pairs;
}

BuiltKernel KernelBuilder::build() {
  Region region;
  body = new Block();
  region.push_back(body);
  builder.setInsertionPointToEnd(body);
  for (Operation *op : unit.ops)
    scalars[op->getResult(0)] = compute(op);
  collectOutputs();
  SmallVector<Value> yields =
      llvm::map_to_vector(outputs, [&](Value v) { return scalars.lookup(v); });
  Location loc = unit.ops.back()->getLoc();
  rt::YieldOp::create(builder, loc, yields);

  SmallVector<Attribute> accesses;
  BuiltKernel built;
  for (auto &[v, access] : inputs) {
    built.inputs.push_back(v);
    accesses.push_back(access);
  }
  accesses.append(outputs.size(), identity());
  built.outputs = outputs;

  unsigned rows = numRows();
  auto dims = [&](ArrayRef<DimAttr> list) {
    return builder.getArrayAttr(SmallVector<Attribute>(list.begin(), list.end()));
  };
  rt::Skeleton kind = skeleton();
  built.inPlace = inPlacePairs(kind);
  builder.setInsertionPointToEnd(module.getBody());
  built.kernel = rt::KernelOp::create(
      builder, loc, name, kind, dims(ArrayRef(unit.dims).take_front(rows)),
      dims(ArrayRef(unit.dims).drop_front(rows)), grain(rows),
      builder.getFunctionType(ValueRange(built.inputs).getTypes(), ValueRange(outputs).getTypes()),
      builder.getArrayAttr(accesses));
  built.kernel.getBody().takeBody(region);
  if (!unit.dims.empty() && unit.dims.front().getBounded() && canMakeRows(built.kernel))
    makeRows(built.kernel);
  return built;
}

} // namespace

BuiltKernel fuse::buildKernel(ModuleOp module, const Unit &unit, StringRef name) {
  return KernelBuilder(module, unit, name).build();
}

BuiltKernel fuse::buildScatter(ModuleOp module, LookupGradOp op, StringRef name) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  MLIRContext *ctx = module.getContext();
  Tensor x = typeOf(op.getCotangent()), ids = typeOf(op.getIds()), table = typeOf(op.getResult());
  auto dims = [&](ArrayRef<DimAttr> list) {
    return builder.getArrayAttr(SmallVector<Attribute>(list.begin(), list.end()));
  };
  Attribute identity = AccessAttr::get(ctx, AccessKind::Identity, "", 0);
  BuiltKernel built;
  built.inputs = {op.getCotangent(), op.getIds()};
  built.outputs = {op.getResult()};
  built.kernel = rt::KernelOp::create(
      builder, op.getLoc(), name, rt::Skeleton::Column, dims(ids.getDims()),
      dims(x.getDims().drop_front(ids.getRank())), kColumnGrain,
      builder.getFunctionType({x, ids}, {table}),
      builder.getArrayAttr(
          {identity, identity, AccessAttr::get(ctx, AccessKind::Scatter, op.getDim(), 1)}));
  Block *body = builder.createBlock(&built.kernel.getBody());
  Value element = body->addArgument(x.getElementType(), op.getLoc());
  body->addArgument(ids.getElementType(), op.getLoc());
  rt::YieldOp::create(builder, op.getLoc(),
                      convertScalar(builder, op.getLoc(), element, table.getElementType()));
  return built;
}
