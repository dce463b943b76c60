//===- AttentionGpu/Forward.cpp - softmax(scale * q k^T + mask) v, online --===//
//
// A block owns a tile of queries of one head and walks over tiles of keys:
//
//   s = scale * Q K^T;  hidden scores become -inf
//   m' = max(m, row's max of s);  alpha = exp(m - m')
//   p = exp(s - m');  l = l * alpha + row's sum of p
//   o = o * alpha + P V
//
// One decision: l stays apart on the 16 threads of a row until the last key. A thread
// adds its columns of a tile ascending, the tiles ascending, and in the end
// neighbouring threads are added first: an order of shapes alone.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/AttentionGpu/Walk.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <limits>

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {
/// What a thread carries from tile to tile: m and l of each of its rows, and sums.
struct State {
  Values max, sum, out;

  static State of(ValueRange values, size_t rows) {
    return {Values(values.take_front(rows)), Values(values.slice(rows, rows)),
            Values(values.drop_front(2 * rows))};
  }
  Values values() const {
    Values all(max);
    all.append(sum);
    all.append(out);
    return all;
  }
};

class ForwardGpu {
public:
  ForwardGpu(BlockCode &c, rt::TileOp op, ArrayRef<Operand> args, const Places &places)
      : c(c), walk(c, op, places), args(args) {}
  void run();

private:
  void softmax(MutableArrayRef<Value> scores, State &state);
  void finish(State &state, const SideTile &queries);
  Value larger(Value a, Value b);
  Value acrossRow(Value x, function_ref<Value(Value, Value)> combine);
  Value orZero(Value max);

  BlockCode &c;
  Walk walk;
  ArrayRef<Operand> args;
};
} // namespace

// A compare and a select, as on the CPU: b where either is NaN.
Value ForwardGpu::larger(Value a, Value b) {
  Value greater = arith::CmpFOp::create(c, arith::CmpFPredicate::OGT, a, b);
  return arith::SelectOp::create(c, greater, a, b);
}

/// Over the threads of a row; all get it.
Value ForwardGpu::acrossRow(Value x, function_ref<Value(Value, Value)> combine) {
  for (int64_t distance = 1; distance < BlockLayout::across; distance *= 2)
    x = combine(x, exchange(c, x, distance));
  return x;
}

/// A row that has seen no key keeps m = -inf; 0 in its place gives exp(-inf) = 0.
Value ForwardGpu::orZero(Value max) {
  Value none =
      arith::CmpFOp::create(c, arith::CmpFPredicate::OEQ, max, c.number(c.sum, -kInfinity));
  return arith::SelectOp::create(c, none, c.number(c.sum, 0), max);
}

/// Folds a tile of scores into the state and replaces it by probabilities.
void ForwardGpu::softmax(MutableArrayRef<Value> scores, State &state) {
  int64_t vectors = c.layout.scoreVectors(), sums = c.layout.sumVectors();
  for (int64_t i = 0; i < c.layout.rows; ++i) {
    MutableArrayRef<Value> row = scores.slice(i * vectors, vectors);
    Value most = row[0];
    for (Value x : row.drop_front())
      most = larger(x, most);
    Value max = state.max[i];
    for (int64_t j = 0; j < c.layout.lanes; ++j)
      max = larger(c.lane(most, j), max);
    max = acrossRow(max, [&](Value a, Value b) { return larger(a, b); });
    Value shift = orZero(max), added;
    Value alpha = math::ExpOp::create(c, arith::SubFOp::create(c, state.max[i], shift));
    for (Value &x : row) {
      x = math::ExpOp::create(c, arith::SubFOp::create(c, x, c.splat(shift, c.scoreVector)));
      for (int64_t j = 0; j < c.layout.lanes; ++j)
        added = added ? arith::AddFOp::create(c, added, c.lane(x, j)).getResult() : c.lane(x, j);
    }
    state.max[i] = max;
    state.sum[i] = arith::AddFOp::create(c, arith::MulFOp::create(c, state.sum[i], alpha), added);
    for (Value &x : MutableArrayRef(state.out).slice(i * sums, sums))
      x = arith::MulFOp::create(c, x, c.splat(alpha, c.sumVector));
  }
}

/// out = o / l, or 0 in rows that saw no key; lse = m + log l.
void ForwardGpu::finish(State &state, const SideTile &queries) {
  int64_t sums = c.layout.sumVectors();
  TileRows lse = walk.rowsOf(args[4], queries);
  Value writes = arith::CmpIOp::create(c, arith::CmpIPredicate::eq, c.tx, c.index(0));
  for (int64_t i = 0; i < c.layout.rows; ++i) {
    Value l = acrossRow(state.sum[i],
                        [&](Value a, Value b) -> Value { return arith::AddFOp::create(c, a, b); });
    Value none = arith::CmpFOp::create(c, arith::CmpFPredicate::OEQ, l, c.number(c.sum, 0));
    for (Value &x : MutableArrayRef(state.out).slice(i * sums, sums)) {
      Value y = arith::DivFOp::create(c, x, c.splat(l, c.sumVector));
      x = arith::SelectOp::create(c, none, c.number(c.sumVector, 0), y);
    }
    Value log = math::LogOp::create(c, arith::SelectOp::create(c, none, c.number(c.sum, 1), l));
    Value x = arith::AddFOp::create(c, state.max[i], log);
    x = arith::SelectOp::create(c, none, c.number(c.sum, -kInfinity), x);
    Value inside = lse.ragged ? c.less(c.row(c.index(i)), lse.count) : Value();
    c.when(c.both(writes, inside), [&] {
      Value at = c.add(lse.offset, c.mul(c.row(c.index(i)), lse.stride));
      memref::StoreOp::create(c, x, lse.operand->memory, at);
    });
  }
  c.write(state.out, walk.rowsOf(args[3], queries));
}

void ForwardGpu::run() {
  const Operand &q = args[0], &k = args[1], &v = args[2];
  SideTile queries = walk.owned(walk.queries, walk.shape.heads, c.block);
  Value group = c.div(queries.head, walk.shape.heads / walk.shape.groups);
  size_t rows = c.layout.rows;
  State state{Values(rows, c.number(c.sum, -kInfinity)), Values(rows, c.number(c.sum, 0)),
              c.noSums()};
  Values last = walk.forTiles(queries, walk.keys, group, state.values(),
                              [&](const SideTile &keys, Value allSeen, ValueRange carried) {
                                State state = State::of(carried, rows);
                                c.keep(walk.scores(walk.rowsOf(q, queries), walk.rowsOf(k, keys)));
                                walk.hide(queries, keys, allSeen);
                                Values scores = c.kept();
                                softmax(scores, state);
                                c.keep(scores);
                                state.out = c.accumulate(walk.rowsOf(v, keys), state.out);
                                return state.values();
                              });
  State done = State::of(last, rows);
  finish(done, queries);
}

int64_t lower::forwardBlocks(rt::TileOp op) {
  rt::AttentionShape shape = op.getShape();
  return shape.batch * shape.heads * llvm::divideCeil(shape.queries, BlockLayout::side);
}

void lower::emitAttentionForwardGpu(BlockCode &code, rt::TileOp op, ArrayRef<Operand> args,
                                    const Places &places) {
  ForwardGpu(code, op, args, places).run();
}
