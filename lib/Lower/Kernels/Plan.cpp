//===- Kernels/Plan.cpp - loops, strides, rates and passes of a kernel ----===//
//
// Order: strides by name, collapse, then the body from top to bottom. What depends on
// the target comes last, and apart: vectors of a CPU here, of a GPU in Gpu/Spread.cpp.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Kernels/Plan.h"
#include "dialects/nn/Narrow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;
using nn::DimAttr;
using rt::AccessKind;

int64_t lower::lanesOf(Type element) { return 512 / element.getIntOrFloatBitWidth(); }

namespace {
/// A named loop before collapse.
struct Loop {
  StringRef name;
  int64_t size;
  bool row;
};

class Planner {
public:
  explicit Planner(rt::KernelOp op) : op(op) { plan.op = op; }
  FailureOr<KernelPlan> run();

private:
  LogicalResult operand(unsigned number, nn::Tensor type, rt::AccessAttr access);
  LogicalResult readByHalf(OperandPlan &o);
  LogicalResult outputs();
  LogicalResult body();
  LogicalResult checkOp(Operation &o);
  void collapse();
  void split();
  Strides &stridesOf(StringRef name, int64_t stride, Strides &s);
  unsigned rateOf(const OperandPlan &o);
  bool isBySegment(const Strides &s);

  rt::KernelOp op;
  KernelPlan plan;
  SmallVector<Loop> loops;
  /// Strides along `loops`, kept in Strides::rows until `split`.
  SmallVector<Strides *> all;
};
} // namespace

/// Adds the stride of a dimension; a loop of size 1 never moves.
Strides &Planner::stridesOf(StringRef name, int64_t stride, Strides &s) {
  for (auto [i, loop] : llvm::enumerate(loops))
    if (loop.name == name && loop.size > 1)
      s.rows[i] = stride;
  return s;
}

LogicalResult Planner::operand(unsigned number, nn::Tensor type, rt::AccessAttr access) {
  OperandPlan &o = plan.operands[number];
  o.type = type, o.access = access;
  o.strides.rows.assign(loops.size(), 0);
  AccessKind kind = access.getKind();
  bool input = number < op.getNumInputs();
  bool byHalf = input && (kind == AccessKind::Rotate || kind == AccessKind::Repeat);
  if (kind != AccessKind::Identity && kind != (input ? AccessKind::Gather : AccessKind::Scatter) &&
      !byHalf)
    return op.emitOpError(input ? "reads no input by access " : "writes no output by access ")
           << rt::stringifyAccessKind(kind);
  if (kind == AccessKind::Gather || kind == AccessKind::Scatter) {
    if (access.getBy() < 0 || access.getBy() >= op.getNumInputs())
      return op.emitOpError("takes ids from an input that is not there: ") << access.getBy();
    o.id = plan.block().getArgument(access.getBy());
    if (!o.id.getType().isInteger(32) ||
        cast<rt::AccessAttr>(op.getAccesses()[access.getBy()]).getKind() != AccessKind::Identity)
      return op.emitOpError("ids must be i32, read in place; found input ")
             << access.getBy() << " of type " << o.id.getType();
  }
  if (kind != AccessKind::Identity && !o.isRepeat() && !type.has(access.getDim()))
    return op.emitOpError("access goes along a dimension that the operand lacks: ")
           << access.getDim();
  int64_t stride = 1;
  for (DimAttr dim : llvm::reverse(type.getDims())) {
    bool repeated = o.isRepeat() && dim == type.getDims().back();
    StringRef name = repeated ? access.getDim() : dim.getName();
    bool loop = llvm::any_of(loops, [&](Loop &l) { return l.name == name; });
    if ((kind == AccessKind::Gather || kind == AccessKind::Scatter) && name == access.getDim())
      o.idStride = stride;
    else if (loop)
      stridesOf(name, stride, o.strides);
    else if (name == rt::kTaskDim && !input)
      o.taskStride = stride;
    stride *= dim.getSize();
  }
  all.push_back(&o.strides);
  return byHalf ? readByHalf(o) : success();
}

LogicalResult Planner::readByHalf(OperandPlan &o) {
  StringRef dim = o.access.getDim();
  DimAttr last = o.type.getDims().empty() ? DimAttr() : o.type.getDims().back();
  auto loop = llvm::find_if(loops, [&](Loop &l) { return l.name == dim; });
  if (o.isRepeat() && (!last || loop == loops.end() || loop->size != 2 * last.getSize()))
    return op.emitOpError("repeats the last dimension along a loop of twice its size; found ")
           << o.type << " along " << dim;
  if (!o.isRepeat() && (last.getName() != dim || last.getSize() % 2))
    return op.emitOpError("rotates only the last dimension, of even size; found ")
           << dim << " of " << o.type;
  o.half = loop->size / 2;
  o.along.rows.assign(loops.size(), 0);
  stridesOf(dim, 1, o.along);
  all.push_back(&o.along);
  return success();
}

/// Loops that every operand walks as one become one. Rows and columns stay
/// apart, except in a map where everything becomes a single loop.
void Planner::collapse() {
  auto merges = [&](unsigned i, bool across) {
    return (across || loops[i].row == loops[i + 1].row) && llvm::all_of(all, [&](Strides *s) {
             return s->rows[i] == s->rows[i + 1] * loops[i + 1].size;
           });
  };
  auto merge = [&](unsigned i) {
    loops[i + 1].size *= loops[i].size;
    loops.erase(loops.begin() + i);
    for (Strides *s : all)
      s->rows.erase(s->rows.begin() + i);
  };
  for (unsigned i = 0; i < loops.size();) {
    if (loops[i].size != 1) {
      ++i;
      continue;
    }
    loops.erase(loops.begin() + i);
    for (Strides *s : all)
      s->rows.erase(s->rows.begin() + i);
  }
  bool map = op.getSkeleton() == rt::Skeleton::Map && !plan.boundedRows;
  bool whole = map;
  for (unsigned i = 0; i + 1 < loops.size(); ++i)
    whole &= merges(i, true);
  for (unsigned i = loops.size(); i-- > 1;)
    if (merges(i - 1, whole))
      merge(i - 1);
  if (map && (loops.size() == 1 || llvm::all_of(loops, [](Loop &l) { return l.row; }))) {
    // Without columns the innermost loop takes their place.
    if (!loops.empty())
      loops.back().row = false;
    plan.flat = loops.size() <= 1;
  }
}

/// Strides along all loops become strides along rows and columns.
void Planner::split() {
  for (Loop &loop : loops) {
    (loop.row ? plan.rows : plan.cols).push_back(loop.size);
    (loop.row ? plan.numRows : plan.numCols) *= loop.size;
  }
  for (Strides *s : all) {
    s->cols.assign(s->rows.begin() + plan.rows.size(), s->rows.end());
    s->rows.truncate(plan.rows.size());
  }
}

unsigned Planner::rateOf(const OperandPlan &o) {
  unsigned rate = o.strides.rate() | (o.half ? o.along.rate() : 0);
  if (o.id)
    rate |= plan.operands[o.id.getArgNumber()].strides.rate();
  return rate;
}

/// Whether an operand has one element for whole segments.
bool Planner::isBySegment(const Strides &s) {
  int64_t run = 1;
  for (auto [size, stride] : llvm::zip(llvm::reverse(plan.cols), llvm::reverse(s.cols))) {
    if (stride)
      break;
    run *= size;
  }
  return plan.segment && s.alongCols() && run % plan.segment == 0;
}

LogicalResult Planner::checkOp(Operation &o) {
  if (isa<rt::PositionOp, rt::RowReduceOp, rt::SegmentReduceOp, rt::ColReduceOp, rt::YieldOp,
          arith::ConstantOp>(o)) {
    Type type = o.getNumResults() ? o.getResult(0).getType() : Type();
    if (isa<rt::RowReduceOp, rt::SegmentReduceOp, rt::ColReduceOp>(o) && nn::isNarrow(type))
      return o.emitOpError("reduces in f32 or f64, add arith.extf; found ") << type;
    if (auto position = dyn_cast<rt::PositionOp>(o))
      if (llvm::none_of(loops, [&](Loop &l) { return l.name == position.getDim(); }))
        return o.emitOpError("position along a dimension that is no loop: ") << position.getDim();
    return success();
  }
  if (!OpTrait::hasElementwiseMappableTraits(&o))
    return o.emitOpError("has no form on vectors, so no place in a kernel body");
  auto narrow = llvm::find_if(o.getOperandTypes(), nn::isNarrow);
  if (narrow != o.operand_type_end() && !isa<arith::ExtFOp, arith::SelectOp>(o))
    return o.emitOpError("computes in a narrow type, add arith.extf and arith.truncf around it; "
                         "found ")
           << *narrow;
  return success();
}

LogicalResult Planner::body() {
  Block &block = plan.block();
  for (Operation &o : block)
    if (auto reduce = dyn_cast<rt::SegmentReduceOp>(o))
      plan.segment = reduce.getSize();
  for (BlockArgument arg : block.getArguments()) {
    const OperandPlan &o = plan.operands[arg.getArgNumber()];
    plan.values[arg].rate = rateOf(o);
    plan.values[arg].inSegment = !o.id && !o.half && isBySegment(o.strides);
  }
  unsigned lastElement = 0;
  for (Operation &o : block.without_terminator()) {
    ValuePlan v;
    bool varies = false; // within a segment
    for (Value operand : o.getOperands()) {
      const ValuePlan &from = plan.at(operand);
      v.rate |= from.rate, v.final |= from.final;
      v.pass = std::max(v.pass, from.pass);
      v.afterSegments |= from.afterSegments;
      v.inSegment |= from.inSegment, varies |= from.rate & PerColumn && !from.inSegment;
    }
    v.inSegment &= !varies;
    if (isa<rt::SegmentReduceOp, rt::RowReduceOp>(o))
      plan.nestsSegments |= v.afterSegments;
    if (isa<rt::SegmentReduceOp>(o))
      v.inSegment = v.afterSegments = true, v.rate |= PerElement;
    if (isa<rt::PositionOp>(o))
      v.rate = plan.positions[&o].rate();
    if (isa<rt::RowReduceOp>(o)) {
      v.inSegment = false;
      v.rate = PerRow; // also of uniform values: computed where rows are
      plan.reducePasses = std::max(plan.reducePasses, ++v.pass);
    }
    if (isa<rt::ColReduceOp>(o)) {
      if (v.final)
        return o.emitOpError("reduces over the rows what is known only after them");
      if (v.rate & PerColumn)
        lastElement = std::max(lastElement, v.pass);
      v.final = true, v.rate &= ~PerRow, v.pass = 0, v.inSegment = false;
    }
    if (v.final && (v.rate & PerRow))
      return o.emitOpError("mixes a sum over the rows with a value of one row");
    for (Value result : o.getResults())
      plan.values[result] = v;
  }
  for (unsigned i = 0; i < op.getNumOutputs(); ++i) {
    if (plan.writesElements(i))
      lastElement = std::max(lastElement, plan.at(plan.yielded(i)).pass);
  }
  // Elements are written in the last pass that reads the row: in place is safe.
  plan.elementPass = std::max(lastElement, plan.reducePasses ? plan.reducePasses - 1 : 0);
  return success();
}

LogicalResult Planner::outputs() {
  for (unsigned i = 0; i < op.getNumOutputs(); ++i) {
    const OperandPlan &o = plan.output(i);
    const ValuePlan &v = plan.at(plan.yielded(i));
    bool column = op.getSkeleton() == rt::Skeleton::Column;
    if (o.isScatter() && (!column || (plan.at(o.id).rate & PerColumn)))
      return op.emitOpError("scatters whole rows of a column kernel; output ")
             << i << " has ids of its own in each column, or another skeleton";
    if ((v.rate & PerColumn) && !o.strides.alongCols() && plan.numCols > 1)
      return op.emitOpError("yields a value of each column to an output "
                            "without columns: output ")
             << i;
    if (isBySegment(o.strides) && !v.inSegment)
      return op.emitOpError("yields a value of each column to an output of segments: output ") << i;
    if (v.final) {
      if (o.strides.alongRows())
        return op.emitOpError("yields a sum over the rows to an output with rows: output ") << i;
      if (!column && !o.taskStride && plan.tasks > 1)
        return op.emitOpError("needs the leading dimension each.task in output ")
               << i << ", one sum for each of the tasks: " << plan.tasks;
      continue;
    }
    int64_t moves = 1;
    for (auto [size, stride] : llvm::zip(plan.rows, o.strides.rows))
      moves *= stride ? size : 1;
    if (moves != plan.numRows && !o.isScatter())
      return op.emitOpError("writes one element from several rows: output ")
             << i << "; add rt.col_reduce";
  }
  return success();
}

FailureOr<KernelPlan> Planner::run() {
  auto addLoops = [&](ArrayAttr dims, bool row) {
    for (auto dim : dims.getAsRange<DimAttr>())
      loops.push_back({dim.getName(), dim.getSize(), row});
  };
  addLoops(op.getRows(), true);
  addLoops(op.getCols(), false);
  for (auto [i, attr] : llvm::enumerate(op.getRows().getAsRange<DimAttr>()))
    if (attr.getBounded()) {
      if (i)
        return op.emitOpError("only the outermost row loop may have a run-time "
                              "count, found ")
               << attr.getName();
      plan.boundedRows = op.getNumRows() / std::max<int64_t>(1, attr.getSize());
    }
  for (DimAttr dim : op.getCols().getAsRange<DimAttr>())
    if (dim.getBounded())
      return op.emitOpError("columns are static, found a bound: ") << dim.getName();
  if (op.getNumRows() < 1 || op.getNumCols() < 1)
    return op.emitOpError("has an empty loop");
  for (Operation &o : plan.block())
    if (failed(checkOp(o)))
      return failure();

  plan.grain = op.getGrain(), plan.tasks = op.getNumTasks();
  FunctionType type = op.getFunctionType();
  SmallVector<Type> types(type.getInputs());
  llvm::append_range(types, type.getResults());
  plan.operands.resize(types.size());
  for (auto [i, t] : llvm::enumerate(types))
    if (failed(operand(i, cast<nn::Tensor>(t), cast<rt::AccessAttr>(op.getAccesses()[i]))))
      return failure();
  for (Operation &o : plan.block())
    if (auto position = dyn_cast<rt::PositionOp>(o))
      plan.positions[&o].rows.assign(loops.size(), 0);
  for (auto &[o, strides] : plan.positions) { // the map has reached its size: addresses hold
    stridesOf(cast<rt::PositionOp>(o).getDim(), 1, strides);
    all.push_back(&strides);
  }
  collapse();
  split();
  if (failed(body()) || failed(outputs()))
    return failure();
  return std::move(plan);
}

FailureOr<KernelPlan> KernelPlan::get(rt::KernelOp op) { return Planner(op).run(); }

SmallVector<rt::RowReduceOp> KernelPlan::reductionsOf(unsigned pass) const {
  SmallVector<rt::RowReduceOp> found;
  for (Operation &o : block())
    if (auto r = dyn_cast<rt::RowReduceOp>(o); r && at(r.getX()).pass == pass)
      found.push_back(r);
  return found;
}

//===----------------------------------------------------------------------===//
// Vectors of a CPU
//===----------------------------------------------------------------------===//

/// 64 bytes of the type that rows are reduced in: so the order of a reduction
/// does not depend on what else the kernel holds. Wider values take several
/// registers.
static void chooseLanes(KernelPlan &plan) {
  bool f64 = false, f32Reduce = false;
  for (auto &[value, v] : plan.values) { // any order: a set of facts
    auto reduce = value.getDefiningOp<rt::RowReduceOp>();
    f64 |= value.getType().isF64() && ((v.rate & PerColumn) || reduce);
    f32Reduce |= reduce && value.getType().isF32();
  }
  plan.lanes = f64 && !f32Reduce ? 8 : 16;
  if (plan.segment && plan.nestsSegments) {
    plan.lanes = plan.segment; // a vector holds one
    return;
  }
  // Vectors that cross no middle are read as they lie.
  for (const OperandPlan &o : plan.operands)
    while (o.half && o.along.alongCols() && !plan.reducePasses && o.half % plan.lanes &&
           plan.lanes > 4)
      plan.lanes /= 2;
}

/// Vectors of pairs, 64 bytes of words, where bf16 prevails: other types along the columns pay for
/// it with shuffles, short rows with long tails. Sums keep their order. It is good for narrower
/// registers, too: halves of the vectors are independent of each other.
static void choosePairs(KernelPlan &plan) {
  rt::Skeleton skeleton = plan.op.getSkeleton();
  if ((skeleton != rt::Skeleton::Map && skeleton != rt::Skeleton::Row) || plan.segment)
    return;
  for (auto &[value, v] : plan.values) // any order: a set of facts
    if (value.getType().isF64())
      return;
  int64_t lanes = 32, narrow = 0;
  if (plan.numCols < 16 * lanes)
    return;
  for (const OperandPlan &o : plan.operands) {
    if (!o.strides.alongCols())
      continue;
    Type element = o.type.getElementType();
    bool grows = o.taskStride; // sums keep the order of lanes
    if (!element.isBF16() && !element.isF32())
      return;
    narrow += element.isBF16() ? 1 : grows ? 0 : -1;
    for (auto [size, stride] : llvm::zip(plan.cols, o.strides.cols))
      if (size % lanes && plan.cols.size() > 1) // a vector may not cross what it broadcasts
        return;
    if (o.half % lanes)
      return;
  }
  if (narrow > 0)
    plan.lanes = lanes, plan.evenOdd = true;
}

/// Roughly the number of instructions for a vector of the op's results.
static int64_t costOf(Operation &op) {
  constexpr int64_t kFunction = 15, kDivision = 5, kRandom = 10 * 6 + 6; // rounds, choice
  if (isa<rt::RandomOp>(op))
    return kRandom;
  if (isa<arith::DivFOp>(op))
    return kDivision;
  return isa<math::MathDialect>(op.getDialect()) && !isa<math::FmaOp, math::AbsFOp>(op) ? kFunction
                                                                                        : 1;
}

/// Whether elements cost more than their bytes: then an ordinary store, which waits in the cache,
/// does not slow the kernel, but one past the cache does. Measured: 1.07 against 0.96 of the
/// hand-written gradient of a softmax in bf16, 0.7 against 1.2 of memcpy for an addition.
static bool isBoundByWork(const KernelPlan &plan) {
  int64_t work = 0, bytes = 0;
  for (Operation &o : plan.block().without_terminator())
    if (plan.at(o.getResult(0)).rate & PerColumn)
      work += costOf(o);
  for (const OperandPlan &o : plan.operands)
    if (o.strides.alongCols())
      bytes += nn::elementBytes(o.type.getElementType());
  return 4 * work > 9 * bytes;
}

/// Large outputs whose vectors are all aligned: whole rows of vectors, or flat. In a transpose each
/// store must be a whole cache line, because its neighbour is stored late.
static void chooseStreams(KernelPlan &plan) {
  rt::Skeleton skeleton = plan.op.getSkeleton();
  if (skeleton == rt::Skeleton::Column || isBoundByWork(plan))
    return;
  for (unsigned i = 0; i < plan.numOutputs(); ++i) {
    OperandPlan &o = plan.operands[plan.numInputs() + i];
    bool aligned = plan.numCols % plan.lanes == 0 && !plan.at(plan.yielded(i)).final;
    for (int64_t stride : o.strides.rows)
      aligned &= stride % plan.lanes == 0;
    int64_t bytes = nn::elementBytes(o.type.getElementType());
    o.streams = aligned && o.type.getBytes() >= kStreamBytes &&
                (skeleton != rt::Skeleton::Transpose || bytes * plan.lanes % 64 == 0);
  }
}

void lower::chooseVectors(KernelPlan &plan) {
  chooseLanes(plan);
  choosePairs(plan);
  chooseStreams(plan);
}
