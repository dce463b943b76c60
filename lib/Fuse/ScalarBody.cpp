//===- ScalarBody.cpp - element-wise nn ops on scalars --------------------===//
//
// One arith or math op each, without fast-math flags: what is fused rounds where
// the single op would. Maxima propagate NaN, so that a broken value shows.
//
//===----------------------------------------------------------------------===//
#include "lib/Fuse/ScalarBody.h"
#include "dialects/nn/NNBuilder.h"
#include "dialects/rt/RT.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

Value constantOf(OpBuilder &b, Location loc, Type type, double value) {
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, static_cast<int64_t>(value)));
}

Value convert(OpBuilder &b, Location loc, Value x, Type to);

/// With 1.5 * 2^23 added, a float has its ones in the lowest bit, and the addition has rounded it.
Value roundToByte(OpBuilder &b, Location loc, Value x) {
  Value shift = constantOf(b, loc, b.getF32Type(), 0x1.8p23);
  x = arith::AddFOp::create(b, loc, convert(b, loc, x, b.getF32Type()), shift);
  Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), x);
  return arith::TruncIOp::create(b, loc, b.getI8Type(), bits);
}

Value convert(OpBuilder &b, Location loc, Value x, Type to) {
  Type from = x.getType();
  if (from == to)
    return x;
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  unsigned fromBits = from.getIntOrFloatBitWidth(), toBits = to.getIntOrFloatBitWidth();
  if (fromFloat && toFloat) {
    return fromBits < toBits ? Value(arith::ExtFOp::create(b, loc, to, x))
                             : Value(arith::TruncFOp::create(b, loc, to, x));
  }
  if (toFloat)
    return from.isInteger(1) ? Value(arith::UIToFPOp::create(b, loc, to, x))
                             : Value(arith::SIToFPOp::create(b, loc, to, x));
  if (fromFloat && toBits == 8)
    return roundToByte(b, loc, x);
  if (fromFloat)
    return arith::FPToSIOp::create(b, loc, to, x);
  if (fromBits < toBits)
    return from.isInteger(1) ? Value(arith::ExtUIOp::create(b, loc, to, x))
                             : Value(arith::ExtSIOp::create(b, loc, to, x));
  return arith::TruncIOp::create(b, loc, to, x);
}

Value compare(OpBuilder &b, Location loc, CmpKind kind, Value x, Value y) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static constexpr std::pair<F, I> table[] = {{F::OEQ, I::eq},  {F::ONE, I::ne},  {F::OLT, I::slt},
                                              {F::OLE, I::sle}, {F::OGT, I::sgt}, {F::OGE, I::sge}};
  auto [f, i] = table[static_cast<unsigned>(kind)];
  if (isa<FloatType>(x.getType()))
    return arith::CmpFOp::create(b, loc, f, x, y);
  return arith::CmpIOp::create(b, loc, i, x, y);
}

template <typename FloatOp, typename IntOp>
Value arithmetic(OpBuilder &b, Location loc, ArrayRef<Value> x) {
  if (isa<FloatType>(x[0].getType()))
    return FloatOp::create(b, loc, x[0], x[1]);
  return IntOp::create(b, loc, x[0], x[1]);
}

/// The low halves of bytes move together: of pairs, then of pairs of pairs, then of all; or, the
/// other way round, apart.
Value moveHalves(OpBuilder &b, Location loc, Value x, bool together) {
  Type i64 = b.getI64Type();
  auto constant = [&](uint64_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(static_cast<int64_t>(value)));
  };
  struct Step {
    int64_t by;
    uint64_t apart, together; // bits that are used before and after
  };
  static constexpr Step steps[] = {{4, 0x0F0F0F0F0F0F0F0F, 0x00FF00FF00FF00FF},
                                   {8, 0x00FF00FF00FF00FF, 0x0000FFFF0000FFFF},
                                   {16, 0x0000FFFF0000FFFF, 0x00000000FFFFFFFF}};
  Value v = together ? x : arith::ExtUIOp::create(b, loc, i64, x).getResult();
  for (int i = 0; i < 3; ++i) {
    const Step &step = steps[together ? i : 2 - i];
    Value by = constant(step.by);
    Value moved = together ? arith::ShRUIOp::create(b, loc, v, by).getResult()
                           : arith::ShLIOp::create(b, loc, v, by).getResult();
    v = arith::AndIOp::create(b, loc, arith::OrIOp::create(b, loc, v, moved),
                              constant(together ? step.together : step.apart));
  }
  return together ? arith::TruncIOp::create(b, loc, b.getI32Type(), v).getResult() : v;
}

/// The sign and exponent of a float.
Value floorPow2(OpBuilder &b, Location loc, Value x) {
  auto type = cast<FloatType>(x.getType());
  Type bits = b.getIntegerType(type.getWidth());
  int64_t significand = (int64_t(1) << (type.getFPMantissaWidth() - 1)) - 1;
  Value kept = arith::AndIOp::create(b, loc, arith::BitcastOp::create(b, loc, bits, x),
                                     constantOf(b, loc, bits, ~significand));
  return arith::BitcastOp::create(b, loc, type, kept);
}

/// The logical position along a dimension, by the last piece that begins at or before the local
/// one.
Value position(OpBuilder &b, Location loc, DimAttr dim, ArrayRef<Value> starts,
               ArrayRef<int64_t> pieces) {
  Type i32 = b.getI32Type();
  Value local = rt::PositionOp::create(b, loc, i32, b.getStringAttr(dim.getName()));
  if (starts.empty())
    return local;
  Value result = arith::AddIOp::create(b, loc, local, starts.front());
  int64_t begin = pieces.front();
  for (auto [start, size] : llvm::zip(starts.drop_front(), pieces.drop_front())) {
    Value first = constantOf(b, loc, i32, begin);
    Value at = arith::AddIOp::create(b, loc, local, arith::SubIOp::create(b, loc, start, first));
    Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, local, first);
    result = arith::SelectOp::create(b, loc, inside, at, result);
    begin += size;
  }
  return result;
}

Value dropoutMask(OpBuilder &b, DropoutMaskOp op, ArrayRef<Value> scalars) {
  Location loc = op.getLoc();
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  // Linear logical index; the first dimension counts from the microbatch's offset.
  Value index;
  auto whole = op.getWhole();
  ArrayRef<Value> starts = scalars.drop_front(4);
  for (auto [d, dim] : llvm::enumerate(typeOf(op.getResult()).getDims())) {
    int64_t size = whole ? (*whole)[d] : dim.getSize();
    ArrayRef<int64_t> pieces;
    if (whole)
      pieces = cast<DenseI64ArrayAttr>((*op.getPieces())[d]).asArrayRef();
    Value at = position(b, loc, dim, starts.take_front(pieces.size()), pieces);
    starts = starts.drop_front(pieces.size());
    if (!index)
      at = arith::AddIOp::create(b, loc, at, scalars[3]);
    at = arith::ExtSIOp::create(b, loc, i64, at);
    index =
        index ? arith::AddIOp::create(
                    b, loc, arith::MulIOp::create(b, loc, index, constantOf(b, loc, i64, size)), at)
              : at;
  }
  if (!index)
    index = arith::ExtSIOp::create(b, loc, i64, scalars[3]);
  auto narrow = [&](Value x) -> Value { return arith::TruncIOp::create(b, loc, i32, x); };
  auto shift = [&](Value x, int n) -> Value {
    return arith::ShRUIOp::create(b, loc, x, constantOf(b, loc, i64, n));
  };
  Value site = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, scalars[2], constantOf(b, loc, i32, 65536)),
      constantOf(b, loc, i32, op.getSite()));
  Value lane = arith::AndIOp::create(b, loc, narrow(index), constantOf(b, loc, i32, 3));
  Value word =
      rt::RandomOp::create(b, loc, i32, /*key0=*/scalars[0], /*key1=*/site, narrow(shift(index, 2)),
                           narrow(shift(index, 34)), scalars[1], constantOf(b, loc, i32, 0), lane);

  double rate = op.getRate().convertToDouble();
  Type element = typeOf(op.getResult()).getElementType();
  auto threshold = static_cast<uint32_t>(std::ldexp(rate, 32));
  Value limit =
      arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(threshold)));
  Value keep = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, word, limit);
  return arith::SelectOp::create(b, loc, keep, constantOf(b, loc, element, 1 / (1 - rate)),
                                 constantOf(b, loc, element, 0));
}

} // namespace

Value fuse::buildScalar(OpBuilder &b, Operation *op, ArrayRef<Value> x) {
  Location loc = op->getLoc();
  Type element = typeOf(op->getResult(0)).getElementType();
  auto unary = [&](auto tag) -> Value { return decltype(tag)::create(b, loc, x[0]); };
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](AddOp) { return arithmetic<arith::AddFOp, arith::AddIOp>(b, loc, x); })
      .Case([&](SubOp) { return arithmetic<arith::SubFOp, arith::SubIOp>(b, loc, x); })
      .Case([&](MulOp) { return arithmetic<arith::MulFOp, arith::MulIOp>(b, loc, x); })
      .Case([&](DivOp) { return arithmetic<arith::DivFOp, arith::DivSIOp>(b, loc, x); })
      .Case([&](MaxOp) { return arithmetic<arith::MaximumFOp, arith::MaxSIOp>(b, loc, x); })
      .Case([&](MinOp) { return arithmetic<arith::MinimumFOp, arith::MinSIOp>(b, loc, x); })
      .Case([&](NegOp) { return unary(arith::NegFOp()); })
      .Case([&](ExpOp) { return unary(math::ExpOp()); })
      .Case([&](LogOp) { return unary(math::LogOp()); })
      .Case([&](TanhOp) { return unary(math::TanhOp()); })
      .Case([&](ErfOp) { return unary(math::ErfOp()); })
      .Case([&](SinOp) { return unary(math::SinOp()); })
      .Case([&](CosOp) { return unary(math::CosOp()); })
      .Case([&](RsqrtOp) { return unary(math::RsqrtOp()); })
      .Case([&](SqrtOp) { return unary(math::SqrtOp()); })
      .Case([&](FloorPow2Op) { return floorPow2(b, loc, x[0]); })
      .Case([&](BroadcastOp) { return x[0]; })
      .Case([&](CmpOp cmp) { return compare(b, loc, cmp.getKind(), x[0], x[1]); })
      .Case([&](SelectOp) -> Value { return arith::SelectOp::create(b, loc, x[0], x[1], x[2]); })
      .Case([&](PackOp) { return moveHalves(b, loc, x[0], /*together=*/true); })
      .Case([&](UnpackOp) { return moveHalves(b, loc, x[0], /*together=*/false); })
      .Case([&](CastOp) { return convert(b, loc, x[0], element); })
      .Case([&](RoundOp round) {
        return convert(b, loc, convert(b, loc, x[0], round.getAs()), element);
      })
      .Case(
          [&](ConstantOp c) { return constantOf(b, loc, element, c.getValue().convertToDouble()); })
      .Case([&](IndexOp index) -> Value {
        return position(b, loc, typeOf(index.getResult()).getDims().front(), x,
                        index.getPieces().value_or(ArrayRef<int64_t>()));
      })
      .Case([&](DropoutMaskOp mask) { return dropoutMask(b, mask, x); })
      .Default([](Operation *other) -> Value {
        llvm::report_fatal_error("no scalar body of " + other->getName().getStringRef());
      });
}

Value fuse::convertScalar(OpBuilder &b, Location loc, Value x, Type to) {
  return convert(b, loc, x, to);
}

Value fuse::buildRope(OpBuilder &b, Location loc, Value x, Value turned, Value cos, Value sin) {
  auto product = [&](Value v, Value factor) -> Value {
    return arith::MulFOp::create(b, loc, convert(b, loc, v, factor.getType()), factor);
  };
  Value sum = arith::AddFOp::create(b, loc, product(x, cos), product(turned, sin));
  return convert(b, loc, sum, x.getType());
}
