//===- Kernels/Transpose.cpp - operands with another innermost dimension --===//
//
// Squares of lanes x lanes elements: an operand whose innermost dimension is the
// last row loop is read (or written) along that loop and turned in registers by
// exchanging one bit of the row number with one of the lane at a time.
//
// One decision: a task owns whole rows of squares, its share of them, so that only
// the end of the row loop leaves a narrower square.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Kernels/Skeletons.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

/// Squares side by side that a task goes down together: runs of four lines in both
/// operands, so that pages and lines are used while they are near.
static constexpr int64_t kBand = 4;

/// The transposed square, given by its rows.
static Values transpose(ImplicitLocOpBuilder &b, Values rows) {
  int64_t n = rows.size();
  for (int64_t bit = n / 2; bit; bit /= 2)
    for (int64_t i = 0; i < n; ++i) {
      if (i & bit)
        continue;
      SmallVector<int64_t> upper(n), lower(n); // lanes of (row i, row i + bit)
      for (int64_t l = 0; l < n; ++l) {
        upper[l] = l & bit ? n + (l ^ bit) : l;
        lower[l] = l & bit ? n + l : l ^ bit;
      }
      Value x = rows[i], y = rows[i + bit];
      rows[i] = vector::ShuffleOp::create(b, x, y, upper);
      rows[i + bit] = vector::ShuffleOp::create(b, x, y, lower);
    }
  return rows;
}

namespace {
class TransposeEmitter {
public:
  TransposeEmitter(Body &body) : body(body), plan(body.plan), b(body.b), n(plan.lanes) {}
  LogicalResult run();

private:
  void band(Body &outside, Span squares, Value from, int64_t width);
  void square(Body &at, ArrayRef<Value> outer, Value first, int64_t height, Value col,
              int64_t width);
  Values readSquare(Body &at, unsigned number, Value col, int64_t height, int64_t width);
  void writeSquare(Body &at, unsigned output, Values rows, Value col, int64_t height,
                   int64_t width);
  SmallVector<Value> offsets(Body &at, const OperandPlan &o, Value col, int64_t width);

  Body &body;
  const KernelPlan &plan;
  ImplicitLocOpBuilder &b;
  int64_t n;
};
} // namespace

/// Where the operand's run along the row loop begins, for each column.
SmallVector<Value> TransposeEmitter::offsets(Body &at, const OperandPlan &o, Value col,
                                             int64_t width) {
  SmallVector<Value> all;
  for (int64_t j = 0; j < width; ++j) {
    Body column = at;
    column.atColumn(arith::AddIOp::create(b, col, at.index(j)), 1);
    all.push_back(column.offset(o));
  }
  return all;
}

Values TransposeEmitter::readSquare(Body &at, unsigned number, Value col, int64_t height,
                                    int64_t width) {
  const OperandPlan &o = plan.operands[number];
  Type element = stored(o.type.getElementType());
  Values rows;
  for (Value from : offsets(at, o, col, width))
    rows.push_back(at.load(at.memory[number], from, element, height));
  auto type = VectorType::get({n}, element);
  while (static_cast<int64_t>(rows.size()) < n)
    rows.push_back(arith::ConstantOp::create(b, b.getZeroAttr(type)));
  return transpose(b, rows);
}

void TransposeEmitter::writeSquare(Body &at, unsigned output, Values rows, Value col,
                                   int64_t height, int64_t width) {
  const OperandPlan &o = plan.output(output);
  while (static_cast<int64_t>(rows.size()) < n)
    rows.push_back(rows.back());
  rows = transpose(b, rows);
  for (auto [j, to] : llvm::enumerate(offsets(at, o, col, width)))
    at.store(at.memory[plan.numInputs() + output], to, rows[j], height, o.streams);
}

void TransposeEmitter::square(Body &at, ArrayRef<Value> outer, Value first, int64_t height,
                              Value col, int64_t width) {
  at.atRow(outer, first);
  DenseMap<unsigned, Values> squares;
  for (unsigned i = 0; i < plan.numInputs(); ++i)
    if (isTurned(body, plan.operands[i]))
      squares[i] = readSquare(at, i, col, height, width);

  SmallVector<std::pair<unsigned, Values>> turnedOutputs;
  for (unsigned i = 0; i < plan.numOutputs(); ++i)
    if (isTurned(body, plan.output(i)))
      turnedOutputs.push_back({i, {}});
  for (int64_t r = 0; r < height; ++r) {
    Body row = at;
    row.atRow(outer, arith::AddIOp::create(b, first, at.index(r)));
    row.scalarsOfRate(PerRow, 0);
    row.atColumn(col, width);
    for (auto &[number, rows] : squares)
      row.setVector(plan.block().getArgument(number),
                    row.fromMemory(rows[r], plan.operands[number].type.getElementType()));
    SmallVector<std::pair<unsigned, Value>> writes;
    for (unsigned i = 0; i < plan.numOutputs(); ++i) {
      Value x = row.vector(plan.yielded(i));
      if (!isTurned(body, plan.output(i))) {
        writes.push_back({i, x});
        continue;
      }
      if (x.getType() != VectorType::get({n}, stored(plan.yielded(i).getType())))
        x = arith::ExtUIOp::create(b, VectorType::get({n}, b.getI8Type()), x);
      llvm::find_if(turnedOutputs, [&](auto &o) { return o.first == i; })->second.push_back(x);
    }
    for (auto [i, x] : writes)
      row.storeVector(i, x);
  }
  for (auto &[i, rows] : turnedOutputs)
    writeSquare(at, i, rows, col, height, width);
}

/// Columns [from, from + width) of all rows of the task's squares.
void TransposeEmitter::band(Body &outside, Span squares, Value from, int64_t width) {
  int64_t last = plan.rows.back(), blocks = (last + n - 1) / n, tail = last % n;
  loop(outside, squares.from, squares.to, 1, {}, [&](Body &at, Value q, ValueRange) {
    Value block = arith::RemUIOp::create(b, q, at.index(blocks));
    Value rest = arith::DivUIOp::create(b, q, at.index(blocks));
    SmallVector<Value> outer = delinearise(b, rest, ArrayRef(plan.rows).drop_back());
    Value first = arith::MulIOp::create(b, block, at.index(n));
    auto across = [&](int64_t height) {
      if (width < n)
        return square(at, outer, first, height, from, width);
      Value to = arith::AddIOp::create(b, from, at.index(width));
      loop(at, from, to, n, {}, [&](Body &in, Value col, ValueRange) {
        square(in, outer, first, height, col, n);
        return Values();
      });
    };
    if (!tail || blocks == 1) {
      across(tail ? tail : n);
      return Values();
    }
    Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, block, at.index(blocks - 1));
    auto branch = scf::IfOp::create(b, isLast, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    across(tail);
    b.setInsertionPointToStart(branch.elseBlock());
    across(n);
    return Values();
  });
}

LogicalResult TransposeEmitter::run() {
  int64_t last = plan.rows.back(), blocks = (last + n - 1) / n;
  int64_t total = plan.numRows / last * blocks;
  auto bound = [&](Value task) -> Value {
    Value x = arith::MulIOp::create(b, task, body.index(total));
    return arith::DivUIOp::create(b, x, body.index(plan.tasks));
  };
  Span squares{bound(body.task), bound(arith::AddIOp::create(b, body.task, body.index(1)))};
  // Bands, then what is left of whole squares, then the tail.
  int64_t wide = kBand * n, bands = plan.numCols / wide * wide;
  int64_t whole = plan.numCols / n * n;
  if (bands)
    loop(body, body.index(0), body.index(bands), wide, {}, [&](Body &at, Value from, ValueRange) {
      band(at, squares, from, wide);
      return Values();
    });
  if (whole > bands)
    band(body, squares, body.index(bands), whole - bands);
  if (plan.numCols > whole)
    band(body, squares, body.index(whole), plan.numCols - whole);
  return success();
}

bool lower::isTurned(const Body &body, const OperandPlan &o) {
  return !o.half && !o.id && body.layout(o.strides) == Body::Layout::Scattered &&
         o.strides.rows.back() == 1;
}

LogicalResult lower::emitTranspose(Body &body, Value) { return TransposeEmitter(body).run(); }
