//===- AttentionGpu/Block.cpp - tiles on the threads of a block -----------===//
//
// Accesses of global and shared memory are 16 bytes where the width allows it: kernel
// arguments begin at multiples of 64 bytes, and every row at a multiple of the width.
// What lies past the last row, or past the width of a head, is read from inside and
// becomes zero.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/AttentionGpu/Block.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;
using llvm::divideCeil;

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

/// The largest power of two that divides n.
static int64_t twos(int64_t n) { return n & -n; }

BlockLayout BlockLayout::of(Type element, int64_t width) {
  BlockLayout l;
  l.width = width;
  l.bytes = nn::elementBytes(rt::sumType(element));
  l.lanes = 16 / l.bytes;
  l.columns = divideCeil(width, across);
  l.vector = std::gcd(std::gcd(l.lanes, l.columns), width);
  // Eight rows need fewer loads for each multiply-add, four leave registers for wide sums.
  l.rows = l.bytes == 4 && l.columns <= 4 ? 8 : 4;
  // With the tile of scores, 17 or 33 KiB, below the 48 KiB that every launch may have.
  int64_t budget = l.bytes == 4 ? 16 << 10 : 8 << 10;
  int64_t most = budget / (2 * side * l.bytes);
  l.depth = std::clamp<int64_t>(twos(width), 8, most);
  l.panelRows =
      std::min<int64_t>(side, llvm::bit_floor<uint64_t>(budget / (l.paddedWidth() * l.bytes)));
  // No more than leaves each thread something to read of a panel.
  l.access = std::min({twos(width), 16 / nn::elementBytes(element), side * l.depth / l.threads()});
  return l;
}

//===----------------------------------------------------------------------===//
// Threads and control flow
//===----------------------------------------------------------------------===//

BlockCode::BlockCode(Location loc, OpBuilder &b, Type sum, const BlockLayout &layout,
                     gpu::GPUFuncOp func)
    : Code(loc, b), layout(layout), sum(sum), scoreVector(VectorType::get({layout.lanes}, sum)),
      sumVector(VectorType::get({layout.vector}, sum)) {
  block = gpu::BlockIdOp::create(*this, gpu::Dimension::x);
  id = gpu::ThreadIdOp::create(*this, gpu::Dimension::x);
  tx = rem(id, layout.across);
  firstRow = mul(div(id, layout.across), layout.rows);
  panels = sharedMemory(func, sum, layout.panelSize());
  tile = sharedMemory(func, sum, layout.side * layout.pitch());
}

void BlockCode::barrier() { gpu::BarrierOp::create(*this); }

void BlockCode::when(Value condition, function_ref<void()> body) {
  if (!condition)
    return body();
  auto op = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  body();
}

Values BlockCode::unless(Value condition, ValueRange values, function_ref<Values()> body) {
  if (matchPattern(condition, m_Zero()))
    return body();
  if (matchPattern(condition, m_One()))
    return Values(values);
  auto op = scf::IfOp::create(*this, values.getTypes(), condition, /*withElseRegion=*/true);
  InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  scf::YieldOp::create(*this, values);
  setInsertionPointToStart(op.elseBlock());
  scf::YieldOp::create(*this, body());
  return Values(op.getResults());
}

Values BlockCode::steps(int64_t n, ValueRange init, function_ref<Values(Value, ValueRange)> body) {
  return n == 1 ? body(index(0), init) : fold(index(0), index(n), init, body);
}

Value BlockCode::less(Value a, Value b) {
  return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b);
}
Value BlockCode::both(Value a, Value b) {
  return a && b ? createOrFold<arith::AndIOp>(a, b) : a ? a : b;
}
Value BlockCode::toI32(Value x) { return createOrFold<arith::IndexCastOp>(getI32Type(), x); }
Value BlockCode::splat(Value scalar, VectorType type) {
  return vector::BroadcastOp::create(*this, type, scalar);
}
Value BlockCode::lane(Value vector, int64_t i) {
  return vector::ExtractOp::create(*this, vector, ArrayRef<int64_t>{i});
}

Values BlockCode::noSums() {
  return Values(layout.rows * layout.sumVectors(), number(sumVector, 0));
}
Value BlockCode::column(int64_t v) {
  return add(mul(tx, layout.lanes), v * layout.across * layout.lanes);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value BlockCode::loadScalar(Value memory, Value at) {
  return memref::LoadOp::create(*this, memory, at);
}

static llvm::MaybeAlign alignmentOf(VectorType type) {
  int64_t bytes = type.getNumElements() * nn::elementBytes(type.getElementType());
  return llvm::MaybeAlign(std::min<int64_t>(16, bytes));
}

Value BlockCode::loadVector(Value memory, Value at, VectorType type) {
  return vector::LoadOp::create(*this, type, memory, at, /*nontemporal=*/false, alignmentOf(type));
}

void BlockCode::storeVector(Value x, Value memory, Value at) {
  vector::StoreOp::create(*this, x, memory, at, /*nontemporal=*/false,
                          alignmentOf(cast<VectorType>(x.getType())));
}

Value BlockCode::widen(Value x) {
  auto type = cast<VectorType>(x.getType());
  return type.getElementType() == sum
             ? x
             : arith::ExtFOp::create(*this, VectorType::get(type.getShape(), sum), x).getResult();
}

/// A vector of a row, at d of the width; zero past the last row, and where `inside` (null:
/// always) does not hold.
Value BlockCode::loadHead(const TileRows &rows, Value row, Value d, Value inside) {
  if (rows.ragged) {
    inside = both(inside, less(row, rows.count));
    row = min(row, sub(rows.count, index(1)));
  }
  auto type = VectorType::get({layout.access}, rows.operand->type.getElementType());
  Value at = add(add(rows.offset, mul(row, rows.stride)), d);
  Value x = loadVector(rows.operand->memory, at, type);
  return inside ? arith::SelectOp::create(*this, inside, x, number(type, 0)).getResult() : x;
}

void BlockCode::write(ValueRange sums, const TileRows &to) {
  const BlockLayout &l = layout;
  auto type = VectorType::get({l.vector}, to.operand->type.getElementType());
  for (int64_t i = 0; i < l.rows; ++i) {
    Value at = add(to.offset, mul(row(index(i)), to.stride));
    when(to.ragged ? less(row(index(i)), to.count) : Value(), [&] {
      for (int64_t v = 0; v < l.sumVectors(); ++v) {
        Value d = mul(add(tx, v * l.across), l.vector), x = sums[i * l.sumVectors() + v];
        if (type != x.getType())
          x = arith::TruncFOp::create(*this, type, x);
        bool whole = (v + 1) * l.across * l.vector <= l.width;
        when(whole ? Value() : less(d, index(l.width)),
             [&] { storeVector(x, to.operand->memory, add(at, d)); });
      }
    });
  }
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// What the thread reads of a panel of `depth` from d on. Neighbours are at neighbouring rows: so
/// they write side by side when the panel is turned.
Values BlockCode::loadTurned(const TileRows &rows, Value d) {
  const BlockLayout &l = layout;
  Value row = rem(id, l.side), first = div(id, l.side);
  Values loaded;
  for (int64_t n = 0; n * l.access * l.threads() < l.side * l.depth; ++n) {
    Value at = add(d, mul(add(first, n * l.threads() / l.side), l.access)), inside;
    if (l.width % l.depth) {
      inside = less(at, index(l.width));
      at = min(at, index(l.width - l.access));
    }
    loaded.push_back(loadHead(rows, row, at, inside));
  }
  return loaded;
}

/// Element (row, d) at d * side + row.
void BlockCode::storeTurned(ValueRange loaded, int64_t at) {
  const BlockLayout &l = layout;
  Value row = rem(id, l.side), first = div(id, l.side);
  for (auto [n, x] : llvm::enumerate(loaded)) {
    Value wide = widen(x);
    Value to = add(mul(add(first, n * l.threads() / l.side), l.access * l.side), add(row, at));
    for (int64_t e = 0; e < l.access; ++e)
      memref::StoreOp::create(*this, lane(wide, e), panels, add(to, e * l.side));
  }
}

Values BlockCode::addOuterProduct(Value d, ValueRange sums) {
  const BlockLayout &l = layout;
  Value at = mul(d, l.side);
  Values left, right, next;
  for (int64_t i = 0; i < l.rows; i += l.lanes)
    left.push_back(loadVector(panels, add(at, row(index(i))), scoreVector));
  for (int64_t v = 0; v < l.scoreVectors(); ++v)
    right.push_back(loadVector(panels, add(at, add(column(v), l.side * l.depth)), scoreVector));
  for (int64_t i = 0; i < l.rows; ++i) {
    Value x = splat(lane(left[i / l.lanes], i % l.lanes), scoreVector);
    for (int64_t v = 0; v < l.scoreVectors(); ++v)
      next.push_back(math::FmaOp::create(*this, x, right[v], sums[i * l.scoreVectors() + v]));
  }
  return next;
}

Values BlockCode::products(const TileRows &owned, const TileRows &streamed) {
  const BlockLayout &l = layout;
  Values zero(numScores(), number(scoreVector, 0));
  return steps(divideCeil(l.width, l.depth), zero, [&](Value step, ValueRange sums) {
    Value d = mul(step, l.depth);
    Values left = loadTurned(owned, d), right = loadTurned(streamed, d);
    barrier();
    storeTurned(left, 0);
    storeTurned(right, l.side * l.depth);
    barrier();
    return steps(l.depth, sums, [&](Value i, ValueRange old) { return addOuterProduct(i, old); });
  });
}

Value BlockCode::scoreAt(Value i, int64_t v) { return add(mul(row(i), layout.pitch()), column(v)); }

void BlockCode::keep(ValueRange scores) {
  for (auto [n, x] : llvm::enumerate(scores))
    storeVector(x, tile, scoreAt(index(n / layout.scoreVectors()), n % layout.scoreVectors()));
}

Values BlockCode::keptRow(Value i) {
  Values row;
  for (int64_t v = 0; v < layout.scoreVectors(); ++v)
    row.push_back(loadVector(tile, scoreAt(i, v), scoreVector));
  return row;
}

Values BlockCode::kept() {
  Values scores;
  for (int64_t i = 0; i < layout.rows; ++i)
    scores.append(keptRow(index(i)));
  return scores;
}

void BlockCode::forRows(function_ref<void(Value, MutableArrayRef<Value>)> body) {
  loop(index(0), index(layout.rows), 1, [&](Value i) {
    Values row = keptRow(i);
    body(i, row);
    for (auto [v, x] : llvm::enumerate(row))
      storeVector(x, tile, scoreAt(i, v));
  });
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Rows of the tile from `first` on, each as it is in memory, read by up to 16 threads. Where they
/// fit a few registers, they are loaded before the barrier, while other warps still multiply.
void BlockCode::fillPanel(const TileRows &rows, Value first) {
  const BlockLayout &l = layout;
  int64_t vectors = l.width / l.access;
  int64_t abreast = std::min<int64_t>(16, llvm::PowerOf2Ceil(vectors));
  int64_t atOnce = l.threads() / abreast;
  struct Piece {
    Value x, to, inside;
  };
  auto read = [&](Value line) {
    SmallVector<Piece> pieces;
    for (int64_t g = 0; g < vectors; g += abreast) {
      Value row = line, d = mul(add(rem(id, abreast), g), l.access), inside;
      Value to = add(mul(row, l.paddedWidth()), d);
      if (atOnce > l.panelRows) {
        inside = less(row, index(l.panelRows));
        row = min(row, index(l.panelRows - 1));
      }
      if (g + abreast > vectors) {
        inside = both(inside, less(d, index(l.width)));
        d = min(d, index(l.width - l.access));
      }
      pieces.push_back({loadHead(rows, add(first, row), d, Value()), to, inside});
    }
    return pieces;
  };
  auto put = [&](ArrayRef<Piece> pieces) {
    for (const Piece &piece : pieces)
      when(piece.inside, [&] { storeVector(widen(piece.x), panels, piece.to); });
  };
  Value line = div(id, abreast);
  constexpr int64_t kAhead = 16;
  if (divideCeil(vectors, abreast) * divideCeil(l.panelRows, atOnce) > kAhead) {
    barrier();
    loop(index(0), index(l.panelRows), atOnce, [&](Value m) { put(read(add(line, m))); });
  } else {
    SmallVector<Piece> pieces;
    for (int64_t m = 0; m < l.panelRows; m += atOnce)
      pieces.append(read(add(line, m)));
    barrier();
    put(pieces);
  }
  barrier();
}

/// Rows begin .. begin + lanes of the panel, whose scores are in the tile from inTile on.
Values BlockCode::addPanelRows(Value begin, Value inTile, ValueRange sums) {
  const BlockLayout &l = layout;
  Values left, next(sums);
  for (int64_t i = 0; i < l.rows; ++i)
    left.push_back(loadVector(tile, add(mul(row(index(i)), l.pitch()), inTile), scoreVector));
  for (int64_t j = 0; j < l.lanes; ++j) {
    Value at = mul(add(begin, j), l.paddedWidth());
    for (int64_t v = 0; v < l.sumVectors(); ++v) {
      Value d = mul(add(tx, v * l.across), l.vector);
      Value y = loadVector(panels, add(at, d), sumVector);
      for (int64_t i = 0; i < l.rows; ++i) {
        Value &sum = next[i * l.sumVectors() + v];
        sum = math::FmaOp::create(*this, splat(lane(left[i], j), sumVector), y, sum);
      }
    }
  }
  return next;
}

Values BlockCode::accumulate(const TileRows &streamed, ValueRange sums) {
  const BlockLayout &l = layout;
  return steps(l.side / l.panelRows, sums, [&](Value step, ValueRange outer) {
    Value first = mul(step, l.panelRows);
    fillPanel(streamed, first);
    return steps(l.panelRows / l.lanes, outer, [&](Value i, ValueRange old) {
      Value begin = mul(i, l.lanes);
      return addPanelRows(begin, add(first, begin), old);
    });
  });
}
