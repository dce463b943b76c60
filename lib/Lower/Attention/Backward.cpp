//===- Attention/Backward.cpp - cotangents of q, k and v ------------------===//
//
// One task is one key head of a batch, with all query heads of its group. Keys
// lie in the lanes:
//
//   for each tile of keys, ascending:
//     for each query head of the group, for each tile of queries, ascending,
//     unless the mask is empty there:
//       p[query][key] = exp(scale * Q K^T - lse);  hidden ones are 0
//       dS = p * (dO V^T - delta) * scale
//       dV^T += dO^T p;  dK^T += Q^T dS
//       dQ += dS K, in memory
//
// One decision: one sweep with five products, not two sweeps with seven. So d_q adds up in memory,
// which costs a read and a write of a tile for each 64 keys: a hundredth of the products. Where d_q
// is bf16 it adds up in the f32 workspace.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Attention/Mask.h"
#include "lib/Lower/Attention/Score.h"
#include "lib/Lower/Attention/Tiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

/// Scores become probabilities, d_p becomes d_s.
static void emitScoreGrads(TileCode &c, const Scratch &scores, const Scratch &dScores,
                           const Rows &lse, const Rows &delta, nn::AttentionAttr spec) {
  double infinity = std::numeric_limits<double>::infinity();
  c.loop(c.index(0), lse.count, 1, [&](Value i) {
    Value shift = c.loadScalar(lse.operand->memory, c.add(lse.offset, c.mul(i, lse.stride)));
    // A row that sees no key has lse = -inf and scores of -inf only: their exp shall be 0.
    Value none =
        arith::CmpFOp::create(c, arith::CmpFPredicate::OEQ, shift, c.number(c.sum, -infinity));
    shift = c.splat(arith::SelectOp::create(c, none, c.number(c.sum, 0), shift));
    Value less =
        c.splat(c.loadScalar(delta.operand->memory, c.add(delta.offset, c.mul(i, delta.stride))));
    c.loop(c.index(0), c.index(scores.cols), c.lanes, [&](Value j) {
      Value at = c.add(c.mul(i, scores.rowStride), j);
      Value score = c.load(scores.memory, at);
      Value p = c.exp(arith::SubFOp::create(c, score, shift));
      Value d = arith::SubFOp::create(c, c.load(dScores.memory, at), less);
      Value slope = emitScoreDerivative(c, spec, c.vec, [&] { return score; });
      d = arith::MulFOp::create(c, arith::MulFOp::create(c, p, d), slope);
      c.store(p, scores.memory, at);
      c.store(d, dScores.memory, at);
    });
  });
}

void lower::emitAttentionBackward(TileCode &c, rt::TileOp tile, ArrayRef<Operand> args,
                                  const Places &places, Value task) {
  rt::AttentionShape shape = tile.getShape();
  const Operand &q = args[0], &k = args[1], &v = args[2], &dOut = args[3], &lse = args[4],
                &delta = args[5], &dQ = args[6], &dK = args[7], &dV = args[8];
  const Operand &dQSum = args.size() > 9 ? args[9] : dQ;
  int64_t width = shape.width, padded = c.roundToLanes(width);
  int64_t perGroup = shape.heads / shape.groups;
  nn::AttentionAttr spec = tile.getSpec();
  auto score = [&](Value product) { return emitScore(c, spec, product); };
  Value group = c.rem(task, shape.groups);
  auto batch = batchIndices(c, shape, c.div(task, shape.groups));
  Value firstHead = c.mul(group, perGroup), lastHead = c.add(firstHead, perGroup);

  Scratch kT = c.panels(width, shape.keyTile), vT = c.panels(width, shape.keyTile);
  Scratch dKT = c.panels(width, shape.keyTile), dVT = c.panels(width, shape.keyTile);
  Scratch keyRows = c.rowMajor(shape.keyTile, padded);
  Scratch qRows = c.rowMajor(shape.queryTile, padded), dORows = c.rowMajor(shape.queryTile, padded);
  Scratch dQRows = c.rowMajor(shape.queryTile, padded);
  Scratch scores = c.rowMajor(shape.queryTile, shape.keyTile);
  Scratch dScores = c.rowMajor(shape.queryTile, shape.keyTile);
  Positions qPositions(c, places.queries, shape.queryTile, shape.queries);
  Positions kPositions(c, places.keys, shape.keyTile, shape.keys);

  auto rowsOf = [&](const Operand &x, StringRef dim, StringRef headDim, Value head, Value first,
                    Value count) {
    Value offset = c.add(batchOffset(c, shape, x, batch), c.mul(head, x.stride(headDim)));
    return Rows{&x, c.add(offset, c.mul(first, x.stride(dim))), x.stride(dim), count};
  };
  auto forHeadsAndQueries = [&](function_ref<void(Value, Value, Value)> body) {
    c.loop(firstHead, lastHead, 1, [&](Value head) {
      c.loop(c.index(0), c.index(shape.queries), shape.queryTile, [&](Value query) {
        Value rest = c.sub(c.index(shape.queries), query);
        body(head, query, c.min(c.index(shape.queryTile), rest));
      });
    });
  };

  c.fill(keyRows, 0); // The columns after the width stay zero.
  c.fill(dQRows, 0);
  forHeadsAndQueries([&](Value head, Value query, Value queries) {
    c.unpack(dQRows, rowsOf(dQSum, spec.getQuery(), spec.getHeads(), head, query, queries), width);
  });

  c.loop(c.index(0), c.index(shape.keys), shape.keyTile, [&](Value key) {
    Value keys = c.min(c.index(shape.keyTile), c.sub(c.index(shape.keys), key));
    auto keySide = [&](const Operand &x) {
      return rowsOf(x, spec.getKey(), spec.getGroups(), group, key, keys);
    };
    c.packTransposed(keySide(k), kT, width);
    c.packTransposed(keySide(v), vT, width);
    c.pack(keySide(k), keyRows, width);
    c.fill(dKT, 0);
    c.fill(dVT, 0);
    kPositions.fill(key);
    forHeadsAndQueries([&](Value head, Value query, Value queries) {
      auto querySide = [&](const Operand &x) {
        return rowsOf(x, spec.getQuery(), spec.getHeads(), head, query, queries);
      };
      qPositions.fill(query);
      rt::Sight<Value> sight = emitSight(c, spec.getMask(), qPositions, kPositions);
      c.unless(sight.none, [&] {
        c.pack(querySide(q), qRows, width);
        c.pack(querySide(dOut), dORows, width);
        c.product(c.rowsOf(qRows), kT, scores, shape.queryTile, c.index(width), Start::Zero, score);
        c.product(c.rowsOf(dORows), vT, dScores, shape.queryTile, c.index(width));
        c.unless(sight.all, [&] {
          emitHide(c, spec, scores, qPositions, kPositions, queries,
                   /*lanesAreQueries=*/false);
        });
        emitScoreGrads(c, scores, dScores, querySide(lse), querySide(delta), spec);
        c.product(c.columnsOf(dORows), scores, dVT, width, queries, Start::Old);
        c.product(c.columnsOf(qRows), dScores, dKT, width, queries, Start::Old);
        c.pack(querySide(dQSum), dQRows, width);
        c.product(c.rowsOf(dScores), keyRows, dQRows, shape.queryTile, keys, Start::Old);
        c.unpack(dQRows, querySide(dQSum), width);
      });
    });
    c.unpackTransposed(dKT, keySide(dK), width);
    c.unpackTransposed(dVT, keySide(dV), width);
  });

  if (&dQSum == &dQ)
    return;
  forHeadsAndQueries([&](Value head, Value query, Value queries) {
    c.pack(rowsOf(dQSum, spec.getQuery(), spec.getHeads(), head, query, queries), dQRows, width);
    c.unpack(dQRows, rowsOf(dQ, spec.getQuery(), spec.getHeads(), head, query, queries), width);
  });
}
