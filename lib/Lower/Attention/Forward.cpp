//===- Attention/Forward.cpp - softmax(scale * q k^T + mask) v, online ----===//
//
// One task is one block of queries of one head. Queries lie in the lanes of
// vectors, so the row state (maximum m, sum l) is one vector per 16 queries and
// no step of the softmax crosses lanes:
//
//   for each tile of keys, ascending, unless the mask is empty there:
//     s[key][query] = scale * K Q^T;  hidden scores become -inf
//     m' = max(m, max over keys of s);  alpha = exp(m - m')
//     p = exp(s - m');  l = l * alpha + sum over keys of p
//     o[width][query] = o * alpha + V^T p
//   out = o / l;  lse = m + log(l)
//
// Source: Dao, "FlashAttention-2", 2023, with rows and lanes changed about.
//===----------------------------------------------------------------------===//
#include "lib/Lower/Attention/Mask.h"
#include "lib/Lower/Attention/Score.h"
#include "lib/Lower/Attention/Tiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <limits>

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {
/// Row state: one element per query.
struct State {
  Scratch max, sum, alpha;
};
} // namespace

/// Folds a tile of scores into the state and replaces it by probabilities.
static void emitSoftmax(TileCode &c, const Scratch &scores, const State &state, Value keys) {
  c.loop(c.index(0), c.index(scores.panels()), 1, [&](Value panel) {
    Value lane = c.mul(panel, scores.panel), base = c.mul(panel, scores.panelStride);
    int64_t vectors = scores.panel / c.lanes;
    auto each = [&](function_ref<Value(int64_t)> make) {
      return llvm::map_to_vector(llvm::seq<int64_t>(0, vectors), make);
    };
    auto place = [&](Value key, int64_t v) {
      return c.add(base, c.add(c.mul(key, scores.rowStride), v * c.lanes));
    };
    auto old = each([&](int64_t v) { return c.load(state.max.memory, c.add(lane, v * c.lanes)); });
    auto max = c.fold(c.index(0), keys, old, [&](Value key, ValueRange m) {
      return each([&](int64_t v) { return c.larger(c.load(scores.memory, place(key, v)), m[v]); });
    });
    // A row that has seen no key keeps m = -inf; 0 in its place gives exp(-inf) = 0.
    auto shift = each([&](int64_t v) {
      Value none =
          arith::CmpFOp::create(c, arith::CmpFPredicate::OEQ, max[v], c.number(c.vec, -kInfinity));
      return arith::SelectOp::create(c, none, c.number(c.vec, 0), max[v]).getResult();
    });
    auto sum = each([&](int64_t v) {
      Value at = c.add(lane, v * c.lanes);
      Value alpha = c.exp(arith::SubFOp::create(c, old[v], shift[v]));
      c.store(max[v], state.max.memory, at);
      c.store(alpha, state.alpha.memory, at);
      return arith::MulFOp::create(c, c.load(state.sum.memory, at), alpha).getResult();
    });
    sum = c.fold(c.index(0), keys, sum, [&](Value key, ValueRange l) {
      return each([&](int64_t v) {
        Value s = c.load(scores.memory, place(key, v));
        Value p = c.exp(arith::SubFOp::create(c, s, shift[v]));
        c.store(p, scores.memory, place(key, v));
        return arith::AddFOp::create(c, l[v], p).getResult();
      });
    });
    for (int64_t v = 0; v < vectors; ++v)
      c.store(sum[v], state.sum.memory, c.add(lane, v * c.lanes));
  });
}

/// o becomes o / l, or 0 in rows that saw no key; the sums become lse.
static void emitFinish(TileCode &c, const Scratch &out, const State &state) {
  c.loop(c.index(0), c.index(out.panels()), 1, [&](Value panel) {
    for (int64_t v = 0; v < out.panel; v += c.lanes) {
      Value lane = c.add(c.mul(panel, out.panel), v);
      Value l = c.load(state.sum.memory, lane), zero = c.number(c.vec, 0);
      Value none = arith::CmpFOp::create(c, arith::CmpFPredicate::OEQ, l, zero);
      c.loop(c.index(0), c.index(out.rows), 1, [&](Value d) {
        Value at = c.add(c.mul(panel, out.panelStride), c.add(c.mul(d, out.rowStride), v));
        Value o = arith::DivFOp::create(c, c.load(out.memory, at), l);
        c.store(arith::SelectOp::create(c, none, zero, o), out.memory, at);
      });
      Value one = c.number(c.vec, 1);
      Value log = math::LogOp::create(c, arith::SelectOp::create(c, none, one, l));
      Value lse = arith::AddFOp::create(c, c.load(state.max.memory, lane), log);
      Value hidden = c.number(c.vec, -kInfinity);
      c.store(arith::SelectOp::create(c, none, hidden, lse), state.sum.memory, lane);
    }
  });
}

void lower::emitAttentionForward(TileCode &c, rt::TileOp tile, ArrayRef<Operand> args,
                                 const Places &places, Value task) {
  rt::AttentionShape shape = tile.getShape();
  const Operand &q = args[0], &k = args[1], &v = args[2], &out = args[3], &lse = args[4];
  int64_t width = shape.width, blocks = shape.getQueryTiles();
  nn::AttentionAttr spec = tile.getSpec();
  auto score = [&](Value product) { return emitScore(c, spec, product); };

  Value block = c.rem(task, blocks), row = c.div(task, blocks);
  Value head = c.rem(row, shape.heads);
  Value group = c.div(head, shape.heads / shape.groups);
  auto batch = batchIndices(c, shape, c.div(row, shape.heads));
  Value query = c.mul(block, shape.queryTile);
  Value queries = c.min(c.index(shape.queryTile), c.sub(c.index(shape.queries), query));

  Scratch qT = c.panels(width, shape.queryTile);
  Scratch keyRows = c.rowMajor(shape.keyTile, c.roundToLanes(width));
  Scratch scores = c.panels(shape.keyTile, shape.queryTile);
  Scratch sums = c.panels(width, shape.queryTile);
  State state{c.rowMajor(1, shape.queryTile), c.rowMajor(1, shape.queryTile),
              c.rowMajor(1, shape.queryTile)};
  Positions qPositions(c, places.queries, shape.queryTile, shape.queries);
  Positions kPositions(c, places.keys, shape.keyTile, shape.keys);

  auto rowsOf = [&](const Operand &x, StringRef dim, StringRef headDim, Value head, Value first,
                    Value count) {
    Value offset = c.add(batchOffset(c, shape, x, batch), c.mul(head, x.stride(headDim)));
    return Rows{&x, c.add(offset, c.mul(first, x.stride(dim))), x.stride(dim), count};
  };
  c.packTransposed(rowsOf(q, spec.getQuery(), spec.getHeads(), head, query, queries), qT, width);
  c.fill(state.max, -kInfinity);
  c.fill(state.sum, 0);
  c.fill(sums, 0);
  qPositions.fill(query);

  c.loop(c.index(0), c.index(shape.keys), shape.keyTile, [&](Value key) {
    Value keys = c.min(c.index(shape.keyTile), c.sub(c.index(shape.keys), key));
    kPositions.fill(key);
    rt::Sight<Value> sight = emitSight(c, spec.getMask(), qPositions, kPositions);
    c.unless(sight.none, [&] {
      c.pack(rowsOf(k, spec.getKey(), spec.getGroups(), group, key, keys), keyRows, width);
      c.product(c.rowsOf(keyRows), qT, scores, shape.keyTile, c.index(width), Start::Zero, score);
      c.unless(sight.all, [&] {
        emitHide(c, spec, scores, kPositions, qPositions, keys,
                 /*lanesAreQueries=*/true);
      });
      emitSoftmax(c, scores, state, keys);
      c.pack(rowsOf(v, spec.getKey(), spec.getGroups(), group, key, keys), keyRows, width);
      c.product(c.columnsOf(keyRows), scores, sums, width, keys, Start::ScaledOld, {},
                state.alpha.memory);
    });
  });

  emitFinish(c, sums, state);
  c.unpackTransposed(sums, rowsOf(out, spec.getQuery(), spec.getHeads(), head, query, queries),
                     width);
  Rows lseRows = rowsOf(lse, spec.getQuery(), spec.getHeads(), head, query, queries);
  c.loop(c.index(0), queries, 1, [&](Value i) {
    Value x = c.loadScalar(state.sum.memory, i);
    memref::StoreOp::create(c, x, lse.memory, c.add(lseRows.offset, c.mul(i, lseRows.stride)));
  });
}
