//===- AttentionGpu/Backward.cpp - cotangents of q, k and v ---------------===//
//
// One launch, whose blocks have roles by number. Some own a tile of keys of a key
// head and walk over the heads of its group and their queries; the others own a tile
// of queries and walk over keys. Each makes the scores again:
//
//   p = exp(scale * q k^T - lse);  hidden ones are 0
//   ds = p * (d_out v^T - delta) * scale
//   d_v += p d_out;  d_k += ds q;  d_q += ds k
//
// One decision: seven products instead of the CPU's five, and eight where a thread's
// sums of d_k and d_v together are too many registers, so that they are two roles. No
// block then adds to what another one writes: no atomics, no workspace, one order.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Attention/Score.h"
#include "lib/Lower/AttentionGpu/Walk.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {
/// What a block makes. d_q is not made with the others, because its rows are queries.
struct Role {
  bool dQ, dK, dV;
};

class BackwardGpu {
public:
  BackwardGpu(BlockCode &c, rt::TileOp op, ArrayRef<Operand> args, const Places &places)
      : c(c), walk(c, op, places), q(args[0]), k(args[1]), v(args[2]), dOut(args[3]), lse(args[4]),
        delta(args[5]), dQ(args[6]), dK(args[7]), dV(args[8]) {}
  void run();

private:
  void ownQueries(Value block);
  void ownKeys(Value block, Role role);
  void probabilities(const SideTile &owned, const SideTile &streamed, Value allSeen);
  Values scoreGrads(const SideTile &owned, const SideTile &streamed);
  Value ofRow(const Operand &x, const SideTile &queries, Value row);
  Values ofColumns(const Operand &x, const SideTile &streamed);

  BlockCode &c;
  Walk walk;
  const Operand &q, &k, &v, &dOut, &lse, &delta, &dQ, &dK, &dV;
};
} // namespace

static SmallVector<Role> rolesOf(const BlockLayout &layout) {
  constexpr int64_t most = 64; // with scores and what is being loaded, all that is there
  if (2 * layout.sumRegisters() <= most)
    return {{false, true, true}, {true, false, false}};
  return {{false, false, true}, {false, true, false}, {true, false, false}};
}

static int64_t blocksOf(rt::TileOp op, Role role) {
  rt::AttentionShape shape = op.getShape();
  int64_t side = BlockLayout::side;
  return shape.batch * (role.dQ ? shape.heads * llvm::divideCeil(shape.queries, side)
                                : shape.groups * llvm::divideCeil(shape.keys, side));
}

/// lse or delta of a query of the tile.
Value BackwardGpu::ofRow(const Operand &x, const SideTile &queries, Value row) {
  TileRows rows = walk.rowsOf(x, queries);
  if (rows.ragged)
    row = c.min(row, c.sub(rows.count, c.index(1)));
  return c.loadScalar(x.memory, c.add(rows.offset, c.mul(row, rows.stride)));
}

/// lse or delta of the queries in the thread's columns; none where its rows are queries.
Values BackwardGpu::ofColumns(const Operand &x, const SideTile &streamed) {
  Values columns;
  for (int64_t v = 0; v < c.layout.scoreVectors() && streamed.side->isQuery; ++v) {
    Values lanes;
    for (int64_t j = 0; j < c.layout.lanes; ++j)
      lanes.push_back(ofRow(x, streamed, c.add(c.column(v), j)));
    columns.push_back(vector::FromElementsOp::create(c, c.scoreVector, lanes));
  }
  return columns;
}

/// Puts the probabilities into the tile.
void BackwardGpu::probabilities(const SideTile &owned, const SideTile &streamed, Value allSeen) {
  bool ownsQueries = owned.side->isQuery;
  const Operand &mine = ownsQueries ? q : k, &theirs = ownsQueries ? k : q;
  c.keep(walk.scores(walk.rowsOf(mine, owned), walk.rowsOf(theirs, streamed)));
  walk.hide(owned, streamed, allSeen);
  Values columns = ofColumns(lse, streamed);
  c.forRows([&](Value i, MutableArrayRef<Value> scores) {
    Values shifts = columns;
    if (ownsQueries)
      shifts.assign(scores.size(), c.splat(ofRow(lse, owned, c.row(i)), c.scoreVector));
    for (auto [x, shift] : llvm::zip(scores, shifts)) {
      // A row that sees no key has lse = -inf and scores of -inf only: their exp shall be 0.
      Value none = arith::CmpFOp::create(c, arith::CmpFPredicate::OEQ, shift,
                                         c.number(c.scoreVector, -kInfinity));
      Value less = arith::SelectOp::create(c, none, c.number(c.scoreVector, 0), shift);
      x = math::ExpOp::create(c, arith::SubFOp::create(c, x, less));
    }
  });
}

/// Called when the tile holds the probabilities.
Values BackwardGpu::scoreGrads(const SideTile &owned, const SideTile &streamed) {
  bool ownsQueries = owned.side->isQuery;
  const Operand &mine = ownsQueries ? dOut : v, &theirs = ownsQueries ? v : dOut;
  Values grads = c.products(walk.rowsOf(mine, owned), walk.rowsOf(theirs, streamed));
  Values columns = ofColumns(delta, streamed), p = c.kept();
  size_t vectors = c.layout.scoreVectors();
  auto ofScore = [&](const Operand &x, ArrayRef<Value> columns, size_t n) {
    return ownsQueries ? c.splat(ofRow(x, owned, c.row(c.index(n / vectors))), c.scoreVector)
                       : columns[n % vectors];
  };
  for (auto [n, d] : llvm::enumerate(grads)) {
    Value less = ofScore(delta, columns, n);
    Value x = arith::MulFOp::create(c, p[n], arith::SubFOp::create(c, d, less));
    // The score is no longer in the tile: it is lse + log p, and -inf where p is 0.
    Value slope = emitScoreDerivative(c, walk.op.getSpec(), c.scoreVector, [&]() -> Value {
      Value shift = ofScore(lse, ofColumns(lse, streamed), n);
      return arith::AddFOp::create(c, shift, math::LogOp::create(c, p[n]));
    });
    d = arith::MulFOp::create(c, x, slope);
  }
  return grads;
}

void BackwardGpu::ownQueries(Value block) {
  SideTile queries = walk.owned(walk.queries, walk.shape.heads, block);
  Value group = c.div(queries.head, walk.shape.heads / walk.shape.groups);
  Values sums = walk.forTiles(queries, walk.keys, group, c.noSums(),
                              [&](const SideTile &keys, Value allSeen, ValueRange sums) {
                                probabilities(queries, keys, allSeen);
                                c.keep(scoreGrads(queries, keys));
                                return c.accumulate(walk.rowsOf(k, keys), sums);
                              });
  c.write(sums, walk.rowsOf(dQ, queries));
}

void BackwardGpu::ownKeys(Value block, Role role) {
  SideTile keys = walk.owned(walk.keys, walk.shape.groups, block);
  int64_t perGroup = walk.shape.heads / walk.shape.groups;
  size_t each = c.noSums().size(), ofDV = role.dV ? each : 0;
  auto step = [&](const SideTile &queries, Value allSeen, ValueRange carried) {
    Values dVSums(carried.take_front(ofDV)), dKSums(carried.drop_front(ofDV));
    probabilities(keys, queries, allSeen);
    if (role.dV)
      dVSums = c.accumulate(walk.rowsOf(dOut, queries), dVSums);
    if (role.dK) {
      c.keep(scoreGrads(keys, queries));
      dKSums = c.accumulate(walk.rowsOf(q, queries), dKSums);
    }
    dVSums.append(dKSums);
    return dVSums;
  };
  Values init(ofDV + (role.dK ? each : 0), c.number(c.sumVector, 0));
  Values sums = c.steps(perGroup, init, [&](Value number, ValueRange outer) {
    Value head = c.add(c.mul(keys.head, perGroup), number);
    return walk.forTiles(keys, walk.queries, head, outer, step);
  });
  if (role.dV)
    c.write(ValueRange(sums).take_front(each), walk.rowsOf(dV, keys));
  if (role.dK)
    c.write(ValueRange(sums).drop_front(ofDV), walk.rowsOf(dK, keys));
}

void BackwardGpu::run() {
  Value block = c.block;
  for (Role role : rolesOf(c.layout)) {
    // In blocks of earlier roles the number goes below zero: unsigned, that is large.
    int64_t blocks = blocksOf(walk.op, role);
    Value mine = arith::CmpIOp::create(c, arith::CmpIPredicate::ult, block, c.index(blocks));
    c.when(mine, [&] { role.dQ ? ownQueries(block) : ownKeys(block, role); });
    block = c.sub(block, c.index(blocks));
  }
}

int64_t lower::backwardBlocks(rt::TileOp op, const BlockLayout &layout) {
  int64_t blocks = 0;
  for (Role role : rolesOf(layout))
    blocks += blocksOf(op, role);
  return blocks;
}

void lower::emitAttentionBackwardGpu(BlockCode &code, rt::TileOp op, ArrayRef<Operand> args,
                                     const Places &places) {
  BackwardGpu(code, op, args, places).run();
}
