//===- Attention/Tiles.cpp - tiles on the stack and products of them ------===//
#include "lib/Lower/Attention/Tiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

Value Code::index(int64_t n) { return arith::ConstantIndexOp::create(*this, n); }
Value Code::add(Value a, Value b) { return createOrFold<arith::AddIOp>(a, b); }
Value Code::sub(Value a, Value b) { return createOrFold<arith::SubIOp>(a, b); }
Value Code::mul(Value a, int64_t b) { return createOrFold<arith::MulIOp>(a, index(b)); }
Value Code::div(Value a, int64_t b) { return createOrFold<arith::DivUIOp>(a, index(b)); }
Value Code::rem(Value a, int64_t b) { return createOrFold<arith::RemUIOp>(a, index(b)); }
Value Code::min(Value a, Value b) { return createOrFold<arith::MinSIOp>(a, b); }

Value Code::number(Type type, double value) {
  auto element = cast<FloatType>(getElementTypeOrSelf(type));
  TypedAttr attr = getFloatAttr(element, value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, attr);
  return arith::ConstantOp::create(*this, attr);
}

void Code::loop(Value from, Value to, int64_t step, function_ref<void(Value)> body) {
  auto first = getConstantIntValue(from), last = getConstantIntValue(to);
  if (first && last && *last - *first <= step) { // once
    if (*first < *last)
      body(from);
    return;
  }
  auto op = scf::ForOp::create(*this, from, to, index(step));
  InsertionGuard guard(*this);
  setInsertionPointToStart(op.getBody());
  body(op.getInductionVar());
}

SmallVector<Value> Code::fold(Value from, Value to, ValueRange init,
                              function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto op = scf::ForOp::create(*this, from, to, index(1), init);
  InsertionGuard guard(*this);
  setInsertionPointToStart(op.getBody());
  scf::YieldOp::create(*this, body(op.getInductionVar(), op.getRegionIterArgs()));
  return SmallVector<Value>(op.getResults());
}

void Code::unless(Value condition, function_ref<void()> body) {
  if (matchPattern(condition, m_Zero()))
    return body();
  if (matchPattern(condition, m_One()))
    return;
  Value yes = arith::ConstantOp::create(*this, getBoolAttr(true));
  Value inverse = arith::XOrIOp::create(*this, condition, yes);
  auto op = scf::IfOp::create(*this, inverse, /*withElseRegion=*/false);
  InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  body();
}

int64_t Operand::stride(StringRef dim) const {
  int64_t stride = 1;
  for (nn::DimAttr inner : type.getDims().drop_front(type.find(dim) + 1))
    stride *= inner.getSize();
  return stride;
}

SmallVector<Value> lower::batchIndices(Code &code, const rt::AttentionShape &shape, Value batch) {
  SmallVector<Value> indices(shape.batchDims.size());
  for (size_t i = indices.size(); i-- > 0; batch = code.div(batch, shape.batchDims[i].getSize()))
    indices[i] = i ? code.rem(batch, shape.batchDims[i].getSize()) : batch;
  return indices;
}

Value lower::batchOffset(Code &code, const rt::AttentionShape &shape, const Operand &operand,
                         ValueRange indices) {
  Value offset = code.index(0);
  for (auto [dim, i] : llvm::zip(shape.batchDims, indices))
    offset = code.add(offset, code.mul(i, operand.stride(dim.getName())));
  return offset;
}

//===----------------------------------------------------------------------===//
// Scratch and vectors
//===----------------------------------------------------------------------===//

TileCode::TileCode(Location loc, OpBuilder &b, Type sum, RegisterBlock block)
    : Code(loc, b), sum(sum), lanes(64 / nn::elementBytes(sum)), side(lanes / 2), block(block) {
  vec = VectorType::get({lanes}, sum);
}

Scratch TileCode::rowMajor(int64_t rows, int64_t cols) {
  auto type = MemRefType::get({rows * cols}, sum);
  // The widest panel that fits the registers and divides the columns.
  int64_t vectors = std::min(block.vectors, cols / lanes);
  while (cols / lanes % vectors)
    --vectors;
  int64_t panel = vectors * lanes;
  Value memory = memref::AllocaOp::create(*this, type, getI64IntegerAttr(64));
  return {memory, rows, cols, panel, /*rowStride=*/cols, /*panelStride=*/panel};
}

Scratch TileCode::panels(int64_t rows, int64_t cols) {
  Scratch result = rowMajor(rows, cols);
  result.rowStride = result.panel;
  result.panelStride = rows * result.panel;
  return result;
}

void TileCode::fill(const Scratch &scratch, double value) {
  Value x = number(vec, value);
  loop(index(0), index(scratch.rows * scratch.cols), lanes,
       [&](Value at) { store(x, scratch.memory, at); });
}

Value TileCode::load(Value memory, Value at, int64_t n) {
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  Value x = vector::LoadOp::create(*this, VectorType::get({n}, element), memory, at);
  if (element.isInteger() || element == sum)
    return x;
  return arith::ExtFOp::create(*this, VectorType::get({n}, sum), x);
}

void TileCode::store(Value x, Value memory, Value at) {
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  auto type = cast<VectorType>(x.getType());
  if (type.getElementType() != element)
    x = arith::TruncFOp::create(*this, VectorType::get(type.getShape(), element), x);
  vector::StoreOp::create(*this, x, memory, at);
}

Value TileCode::loadScalar(Value memory, Value at) {
  Value x = memref::LoadOp::create(*this, memory, at);
  return x.getType() == sum || x.getType().isInteger() ? x : arith::ExtFOp::create(*this, sum, x);
}

Value TileCode::splat(Value scalar) {
  return vector::BroadcastOp::create(*this, VectorType::get({lanes}, scalar.getType()), scalar);
}

Value TileCode::exp(Value x) { return math::ExpOp::create(*this, x); }

// A compare and a select, which is the machine's max; arith.maximumf takes four instructions.
Value TileCode::larger(Value a, Value b) {
  Value greater = arith::CmpFOp::create(*this, arith::CmpFPredicate::OGT, a, b);
  return arith::SelectOp::create(*this, greater, a, b);
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

void TileCode::copyRow(Value from, Value fromAt, Value to, Value toAt, int64_t width) {
  int64_t whole = width / lanes * lanes;
  loop(index(0), index(whole), lanes,
       [&](Value i) { store(load(from, add(fromAt, i)), to, add(toAt, i)); });
  if (whole < width)
    store(load(from, add(fromAt, whole), width - whole), to, add(toAt, whole));
}

void TileCode::pack(const Rows &rows, const Scratch &to, int64_t width) {
  loop(index(0), rows.count, 1, [&](Value i) {
    Value from = add(rows.offset, mul(i, rows.stride));
    copyRow(rows.operand->memory, from, to.memory, mul(i, to.rowStride), width);
  });
  Value zero = number(vec, 0);
  loop(rows.count, index(to.rows), 1, [&](Value i) {
    loop(index(0), index(to.cols), lanes,
         [&](Value j) { store(zero, to.memory, add(mul(i, to.rowStride), j)); });
  });
}

void TileCode::unpack(const Scratch &from, const Rows &rows, int64_t width) {
  loop(index(0), rows.count, 1, [&](Value i) {
    Value to = add(rows.offset, mul(i, rows.stride));
    copyRow(from.memory, mul(i, from.rowStride), rows.operand->memory, to, width);
  });
}

/// Exchanges rows and columns of a square, halving blocks of it: at each step the
/// upper right and the lower left of each block change places.
SmallVector<Value> TileCode::transpose(SmallVector<Value> rows) {
  for (int64_t half = side / 2; half; half /= 2) {
    SmallVector<int64_t> left, right;
    for (int64_t j = 0; j < side; ++j) {
      left.push_back(j & half ? side + j - half : j);
      right.push_back(j & half ? side + j : j + half);
    }
    for (int64_t i = 0; i < side; ++i) {
      if (i & half)
        continue;
      Value upper = rows[i], lower = rows[i + half];
      rows[i] = vector::ShuffleOp::create(*this, upper, lower, left);
      rows[i + half] = vector::ShuffleOp::create(*this, upper, lower, right);
    }
  }
  return rows;
}

/// Calls `square` for each side x side part of the rows, with the row number of
/// its first column, the first element and the number of elements in the width.
void TileCode::forSquares(Value rows, int64_t width,
                          function_ref<void(Value, Value, int64_t)> square) {
  int64_t whole = width / side * side;
  loop(index(0), rows, side, [&](Value i) {
    loop(index(0), index(whole), side, [&](Value d) { square(i, d, side); });
    if (whole < width)
      square(i, index(whole), width - whole);
  });
}

void TileCode::packTransposed(const Rows &rows, const Scratch &to, int64_t width) {
  Value last = sub(rows.count, index(1));
  forSquares(index(to.cols), width, [&](Value i, Value d, int64_t n) {
    SmallVector<Value> square;
    for (int64_t r = 0; r < side; ++r) {
      Value row = min(add(i, r), last);
      Value x = load(rows.operand->memory, add(add(rows.offset, mul(row, rows.stride)), d), n);
      square.push_back(n == side ? x : widen(x));
    }
    square = transpose(square);
    Value at = add(columnAt(to, i), mul(d, to.rowStride));
    for (int64_t r = 0; r < n; ++r)
      store(square[r], to.memory, add(at, r * to.rowStride));
  });
}

void TileCode::unpackTransposed(const Scratch &from, const Rows &rows, int64_t width) {
  Value last = sub(rows.count, index(1));
  forSquares(rows.count, width, [&](Value i, Value d, int64_t n) {
    Value at = add(columnAt(from, i), mul(d, from.rowStride));
    SmallVector<Value> square(side, number(VectorType::get({side}, sum), 0));
    for (int64_t r = 0; r < n; ++r)
      square[r] = load(from.memory, add(at, r * from.rowStride), side);
    square = transpose(square);
    // Rows after the last one are written to it, and it is written over them.
    for (int64_t r = side; r-- > 0;) {
      Value row = min(add(i, r), last);
      Value x =
          n == side ? square[r] : vector::ExtractStridedSliceOp::create(*this, square[r], 0, n, 1);
      store(x, rows.operand->memory, add(add(rows.offset, mul(row, rows.stride)), d));
    }
  });
}

/// Where column i of row 0 lies.
Value TileCode::columnAt(const Scratch &s, Value i) {
  return add(mul(div(i, s.panel), s.panelStride), rem(i, s.panel));
}

/// A short vector with zeros after it.
Value TileCode::widen(Value x) {
  Value zero = number(VectorType::get({side}, sum), 0);
  return vector::InsertStridedSliceOp::create(*this, x, zero, 0, 1);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void TileCode::product(const Coefficients &a, const Scratch &b, const Scratch &c, int64_t m,
                       Value k, Start start, Finish finish, Value columns) {
  loop(index(0), index(c.panels()), 1, [&](Value panel) {
    int64_t whole = m / block.rows * block.rows;
    loop(index(0), index(whole), block.rows,
         [&](Value i) { productRows(a, b, c, panel, i, block.rows, k, start, finish, columns); });
    if (whole < m)
      productRows(a, b, c, panel, index(whole), m - whole, k, start, finish, columns);
  });
}

void TileCode::productRows(const Coefficients &a, const Scratch &b, const Scratch &c, Value panel,
                           Value m, int64_t rows, Value k, Start start, Finish finish,
                           Value columns) {
  int64_t vectors = c.panel / lanes;
  Value bAt = mul(panel, b.panelStride), aAt = mul(m, a.mStride);
  Value cAt = add(mul(panel, c.panelStride), mul(m, c.rowStride));
  auto place = [&](int64_t r, int64_t v) { return add(cAt, r * c.rowStride + v * lanes); };

  SmallVector<Value> sums, factors;
  for (int64_t v = 0; v < vectors && start == Start::ScaledOld; ++v)
    factors.push_back(load(columns, add(mul(panel, c.panel), v * lanes)));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectors; ++v) {
      Value first = start == Start::Zero ? number(vec, 0) : load(c.memory, place(r, v));
      if (start == Start::ScaledOld)
        first = arith::MulFOp::create(*this, first, factors[v]);
      sums.push_back(first);
    }

  sums = fold(index(0), k, sums, [&](Value i, ValueRange old) {
    SmallVector<Value> bs, next;
    Value bRow = add(bAt, mul(i, b.rowStride)), aCol = add(aAt, mul(i, a.kStride));
    for (int64_t v = 0; v < vectors; ++v)
      bs.push_back(load(b.memory, add(bRow, v * lanes)));
    for (int64_t r = 0; r < rows; ++r) {
      Value x = splat(loadScalar(a.memory, add(aCol, r * a.mStride)));
      for (int64_t v = 0; v < vectors; ++v)
        next.push_back(math::FmaOp::create(*this, x, bs[v], old[r * vectors + v]));
    }
    return next;
  });

  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectors; ++v) {
      Value x = sums[r * vectors + v];
      if (finish)
        x = finish(x);
      store(x, c.memory, place(r, v));
    }
}
