//===- AttentionGpu/Walk.cpp - tiles that see each other ------------------===//
//
// Whether a tile is empty, full or mixed follows from the range of its positions, for
// the whole block alike; so barriers may stand where a tile is not skipped.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/AttentionGpu/Walk.h"
#include "lib/Lower/Attention/Score.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

Walk::Walk(BlockCode &code, rt::TileOp op, const Places &places)
    : op(op), shape(op.getShape()), queries{true, op.getSpec().getQuery(), op.getSpec().getHeads(),
                                            shape.queries, places.queries},
      keys{false, op.getSpec().getKey(), op.getSpec().getGroups(), shape.keys, places.keys},
      c(code) {}

SideTile Walk::owned(const Side &side, int64_t heads, Value block) {
  Value rest = c.div(block, side.tiles());
  batch = batchIndices(c, shape, c.div(rest, heads));
  return {&side, c.mul(c.rem(block, side.tiles()), BlockLayout::side), c.rem(rest, heads)};
}

TileRows Walk::rowsOf(const Operand &x, const SideTile &tile) {
  const Side &side = *tile.side;
  Value offset = c.add(batchOffset(c, shape, x, batch), c.mul(tile.head, x.stride(side.headDim)));
  int64_t stride = x.stride(side.dim);
  Value count = c.min(c.index(BlockLayout::side), c.sub(c.index(side.size), tile.first));
  return {{&x, c.add(offset, c.mul(tile.first, stride)), stride, count}, side.ragged()};
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// Ends of the pieces' parts that lie in the tile.
PositionRange Walk::rangeOf(const SideTile &tile) {
  const Side &side = *tile.side;
  auto number = [&](int64_t n) -> Value { return arith::ConstantIntOp::create(c, n, 32); };
  auto min = [&](Value a, Value b) { return c.createOrFold<arith::MinSIOp>(a, b); };
  auto max = [&](Value a, Value b) { return c.createOrFold<arith::MaxSIOp>(a, b); };
  Value begin = c.toI32(tile.first);
  Value last = c.createOrFold<arith::AddIOp>(begin, number(BlockLayout::side - 1));
  if (side.ragged())
    last = min(last, number(side.size - 1));
  if (side.pieces.empty())
    return {begin, last};
  auto shifted = [&](Value row, const Piece &piece) {
    return c.createOrFold<arith::AddIOp>(row, piece.shift);
  };
  if (side.pieces.size() == 1)
    return {shifted(begin, side.pieces.front()), shifted(last, side.pieces.front())};
  PositionRange range{number(std::numeric_limits<int32_t>::max()),
                      number(std::numeric_limits<int32_t>::min())};
  for (const Piece &piece : side.pieces) {
    Value from = max(begin, number(piece.begin)), to = min(last, number(piece.end - 1));
    Value inside = arith::CmpIOp::create(c, arith::CmpIPredicate::sle, from, to);
    Value low = min(range.min, shifted(from, piece)), high = max(range.max, shifted(to, piece));
    range.min = arith::SelectOp::create(c, inside, low, range.min);
    range.max = arith::SelectOp::create(c, inside, high, range.max);
  }
  return range;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

Values Walk::forTiles(const SideTile &owned, const Side &streamed, Value head, ValueRange init,
                      function_ref<Values(const SideTile &, Value, ValueRange)> body) {
  PositionRange mine = rangeOf(owned);
  return c.steps(streamed.tiles(), init, [&](Value number, ValueRange carried) {
    SideTile tile{&streamed, c.mul(number, BlockLayout::side), head};
    PositionRange theirs = rangeOf(tile);
    const PositionRange &q = streamed.isQuery ? theirs : mine;
    const PositionRange &k = streamed.isQuery ? mine : theirs;
    rt::Sight<Value> sight = emitSight(c, op.getSpec().getMask(), q, k);
    Value all = sight.all;
    if (streamed.ragged())
      all = c.both(all, c.less(number, c.index(streamed.tiles() - 1)));
    return c.unless(sight.none, carried, [&] { return body(tile, all, carried); });
  });
}

Values Walk::scores(const TileRows &owned, const TileRows &streamed) {
  Values result = c.products(owned, streamed);
  for (Value &x : result)
    x = emitScore(c, op.getSpec(), x);
  return result;
}

void Walk::hide(const SideTile &owned, const SideTile &streamed, Value allSeen) {
  c.unless(allSeen, [&] { hideEach(owned, streamed); });
}

void Walk::hideEach(const SideTile &owned, const SideTile &streamed) {
  const Side &side = *streamed.side;
  int64_t lanes = c.layout.lanes;
  auto type = VectorType::get({lanes}, c.getI32Type());
  auto constant = [&](int64_t n) -> Value {
    return arith::ConstantOp::create(c, DenseElementsAttr::get(type, int32_t(n)));
  };
  auto iota = llvm::to_vector(llvm::seq<int32_t>(0, lanes));
  Value steps = arith::ConstantOp::create(c, DenseElementsAttr::get(type, ArrayRef(iota)));
  Values columns, inside;
  for (int64_t v = 0; v < c.layout.scoreVectors(); ++v) {
    Value first = c.splat(c.toI32(c.add(streamed.first, c.column(v))), type);
    Value at = arith::AddIOp::create(c, first, steps);
    inside.push_back(arith::CmpIOp::create(c, arith::CmpIPredicate::slt, at, constant(side.size)));
    at = arith::MinSIOp::create(c, at, constant(side.size - 1));
    columns.push_back(positionsOf(c, side.pieces, at));
  }
  c.forRows([&](Value i, MutableArrayRef<Value> scores) {
    Value at = c.min(c.add(owned.first, c.row(i)), c.index(owned.side->size - 1));
    Value row = c.splat(positionsOf(c, owned.side->pieces, c.toI32(at)), type);
    for (auto [x, column, there] : llvm::zip(scores, columns, inside)) {
      Value q = side.isQuery ? column : row, k = side.isQuery ? row : column;
      x = emitMaskedScore(c, op.getSpec(), x, q, k, there);
    }
  });
}
