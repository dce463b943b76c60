//===- ExpandRandom.cpp - random words in arithmetic ----------------------===//
//
// One decision: the ten rounds are a loop, not straight code. Written out, 64-bit products that
// feed each other are most of the time that LLVM takes for a kernel with dropout.
//
//===----------------------------------------------------------------------===//
#include "dialects/rt/RT.h"
#include "lib/Lower/Lower.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tplan::lower {
#define GEN_PASS_DEF_EXPANDRANDOMPASS
#include "lib/Lower/Passes.h.inc"
} // namespace tplan::lower

using namespace mlir;
using namespace tplan;

namespace {
constexpr int64_t kRounds = 10;
constexpr uint32_t kMultipliers[] = {0xD2511F53, 0xCD9E8D57}, kWeyl[] = {0x9E3779B9, 0xBB67AE85};

/// A vector of one number as that number, so that a key takes no register of vectors.
Value scalarOf(Value x) {
  auto splat = x.getDefiningOp<vector::BroadcastOp>();
  return splat && !isa<VectorType>(splat.getSourceType()) ? splat.getSource() : x;
}

class Rounds {
public:
  Rounds(ImplicitLocOpBuilder &b, Type type) : b(b), type(type) {}

  /// The four words that a counter gives.
  ValueRange of(ArrayRef<Value> counter, Value key0, Value key1) {
    SmallVector<Value> init(counter);
    init.append({scalarOf(key0), scalarOf(key1)});
    auto loop = scf::ForOp::create(b, index(0), index(kRounds), index(1), init);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(b, round(loop.getRegionIterArgs()));
    return loop.getResults().take_front(4);
  }

  Value number(Type of, uint32_t n) {
    TypedAttr value = b.getI32IntegerAttr(static_cast<int32_t>(n));
    if (auto vector = dyn_cast<VectorType>(of))
      value = DenseElementsAttr::get(vector, value);
    return arith::ConstantOp::create(b, value);
  }

private:
  SmallVector<Value> round(ValueRange x) {
    auto p0 = arith::MulUIExtendedOp::create(b, number(type, kMultipliers[0]), x[0]);
    auto p1 = arith::MulUIExtendedOp::create(b, number(type, kMultipliers[1]), x[2]);
    return {mix(p1.getHigh(), x[1], x[4]),
            p1.getLow(),
            mix(p0.getHigh(), x[3], x[5]),
            p0.getLow(),
            arith::AddIOp::create(b, x[4], number(x[4].getType(), kWeyl[0])),
            arith::AddIOp::create(b, x[5], number(x[5].getType(), kWeyl[1]))};
  }

  Value mix(Value high, Value word, Value key) {
    if (key.getType() != type)
      key = vector::BroadcastOp::create(b, type, key);
    return arith::XOrIOp::create(b, arith::XOrIOp::create(b, high, word), key);
  }

  Value index(int64_t n) { return arith::ConstantIndexOp::create(b, n); }

  ImplicitLocOpBuilder &b;
  Type type; // i32, or a vector of them
};

struct ExpandRandomPass : tplan::lower::impl::ExpandRandomPassBase<ExpandRandomPass> {
  void runOnOperation() override {
    SmallVector<rt::RandomOp> ops;
    getOperation().walk([&](rt::RandomOp op) { ops.push_back(op); });
    for (rt::RandomOp op : ops)
      expand(op);
  }

private:
  static void expand(rt::RandomOp op) {
    ImplicitLocOpBuilder b(op.getLoc(), op);
    Rounds rounds(b, op.getType());
    ValueRange words =
        rounds.of({op.getCounter0(), op.getCounter1(), op.getCounter2(), op.getCounter3()},
                  op.getKey0(), op.getKey1());
    Value word = words[3];
    for (int i = 2; i >= 0; --i) {
      Value is = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, op.getWord(),
                                       rounds.number(op.getType(), i));
      word = arith::SelectOp::create(b, is, words[i], word);
    }
    op.replaceAllUsesWith(word);
    op.erase();
  }
};
} // namespace
