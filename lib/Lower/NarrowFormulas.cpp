//===- NarrowFormulas.cpp - how narrow types become f32 and back ----------===//
//
// One function each way for each type of dialects/nn/Narrow.def, on vectors and on one number, and
// a row that names them.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/NarrowFormulas.h"
#include "lib/Lower/Arithmetic.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

//===----------------------------------------------------------------------===//
// bf16
//===----------------------------------------------------------------------===//

/// bf16 is the upper half of an f32.
static Value extendBf16(ImplicitLocOpBuilder &b, Value half, Type f32, Type) {
  Numbers wide(b, f32);
  Num bits{arith::ExtUIOp::create(b, wide.like(b.getI32Type()), half), &b};
  return wide.asReal(shl(bits, wide.integer(16))).v;
}

/// f32 to bf16, to nearest even: half of the last place is added, less one bit where
/// the last place is even.
static Value truncateToBf16(ImplicitLocOpBuilder &b, Value x, Type) {
  Numbers f(b, x.getType());
  Num value{x, &b}, nan = compare(arith::CmpFPredicate::UNO, value, value);
  Num bits = select(nan, f.integer(0x7FC00000), f.asBits(value));
  Num even = isZero(iand(bits, f.integer(0x10000)), f.integer(0));
  Num rounded = iadd(bits, select(even, f.integer(0x7FFF), f.integer(0x8000)));
  Value top = arith::ShRUIOp::create(b, rounded.v, f.integer(16).v);
  return arith::TruncIOp::create(b, f.like(b.getI16Type()), top);
}

//===----------------------------------------------------------------------===//
// f16: the formulas of runtime/support/f16.h
//===----------------------------------------------------------------------===//

/// What is left of a denormal after the shift is a denormal of f32, so a product puts both in
/// their place.
static Value extendF16(ImplicitLocOpBuilder &b, Value half, Type f32, Type) {
  Numbers f(b, f32);
  Num bits{arith::ExtUIOp::create(b, f.like(b.getI32Type()), half), &b};
  Num magnitude = shl(iand(bits, f.integer(0x7FFF)), f.integer(13));
  Num finite = f.asBits(f.asReal(magnitude) * f.real(0x1p112));
  Num special = ior(magnitude, f.integer(0x7F800000));
  Num isSpecial{
      arith::CmpIOp::create(b, arith::CmpIPredicate::uge, magnitude.v, f.integer(0x7C00 << 13).v),
      &b};
  Num sign = shl(iand(bits, f.integer(0x8000)), f.integer(16));
  return f.asReal(ior(select(isSpecial, special, finite), sign)).v;
}

/// To nearest even: below 2^-14 by a sum with 0.5, which has its last place where the denormals
/// have theirs; above by half of the last place.
static Value truncateToF16(ImplicitLocOpBuilder &b, Value x, Type) {
  Numbers f(b, x.getType());
  auto less = [&](Num i, int64_t bound) -> Num {
    return {arith::CmpIOp::create(b, arith::CmpIPredicate::ult, i.v, f.integer(bound).v), &b};
  };
  auto shr = [&](Num i, int64_t n) -> Num {
    return {arith::ShRUIOp::create(b, i.v, f.integer(n).v), &b};
  };
  Num raw = f.asBits({x, &b}), bits = iand(raw, f.integer(0x7FFFFFFF));
  Num odd = iand(shr(bits, 13), f.integer(1));
  Num normal = shr(iadd(iadd(bits, odd), f.integer(0xFFF - (int64_t(112) << 23))), 13);
  Num small = isub(f.asBits(f.asReal(bits) + f.real(0.5)), f.integer(0x3F000000));
  Num finite = select(less(bits, 0x38800000), small, normal);
  Num infinite = select(less(bits, 0x7F800001), f.integer(0x7C00), f.integer(0x7E00));
  Num half = select(less(bits, 0x477FF000), finite, infinite);
  half = ior(half, iand(shr(raw, 16), f.integer(0x8000)));
  return arith::TruncIOp::create(b, f.like(b.getI16Type()), half.v);
}

static Value extendF16ByMachine(ImplicitLocOpBuilder &b, Value half, Type f32, Type) {
  Type f16 = Numbers(b, f32).like(b.getF16Type());
  Value number = arith::BitcastOp::create(b, f16, half);
  return arith::ExtFOp::create(b, f32, number);
}

/// A NaN becomes 0x7FFF, where the formula of bf16 makes 0x7FC0.
static Value truncateByMachine(ImplicitLocOpBuilder &b, Value x, Type narrow) {
  Numbers f(b, x.getType());
  Value half = arith::TruncFOp::create(b, f.like(narrow), x);
  return arith::BitcastOp::create(b, f.like(b.getI16Type()), half);
}

//===----------------------------------------------------------------------===//
// Types of up to 8 bits, such as E4M3 and E5M2: the formulas of runtime/support/f8.h, by what LLVM
// knows of a type
//===----------------------------------------------------------------------===//

namespace {
/// A format: its bits, of these its mantissa, the bias of its exponent, and the code of the largest
/// number; those which follow are infinity, if it has that, then NaN, if it has that.
struct SmallFormat {
  int64_t bits, mantissa, bias, largest;
  bool hasInfinity, hasNaN;
  int64_t shift() const { return 23 - mantissa; } // of a mantissa in f32
  int64_t sign() const { return int64_t(1) << (bits - 1); }
};
} // namespace

static SmallFormat formatOf(Type narrow) {
  using Float = llvm::APFloat;
  const llvm::fltSemantics &facts = cast<FloatType>(narrow).getFloatSemantics();
  return {Float::semanticsSizeInBits(facts),
          Float::semanticsPrecision(facts) - 1,
          1 - Float::semanticsMinExponent(facts),
          static_cast<int64_t>(Float::getLargest(facts).bitcastToAPInt().getZExtValue()),
          Float::semanticsHasInf(facts),
          Float::semanticsHasNaN(facts)};
}

static Num atLeast(Num i, Num bound) {
  return {arith::CmpIOp::create(*i.b, arith::CmpIPredicate::uge, i.v, bound.v), i.b};
}

static Value extendSmall(ImplicitLocOpBuilder &b, Value code, Type f32, Type narrow) {
  SmallFormat format = formatOf(narrow);
  Numbers f(b, f32);
  Num bits{arith::ExtUIOp::create(b, f.like(b.getI32Type()), code), &b};
  Num magnitude = iand(bits, f.integer(format.sign() - 1));
  Num shifted = shl(magnitude, f.integer(format.shift()));
  Num number = f.asBits(f.asReal(shifted) * f.real(std::ldexp(1.0, 127 - format.bias)));
  if (format.hasNaN) {
    Num special = format.hasInfinity ? ior(shifted, f.integer(0x7F800000)) : f.integer(0x7FC00000);
    number = select(atLeast(magnitude, f.integer(format.largest + 1)), special, number);
  }
  Num sign = shl(iand(bits, f.integer(format.sign())), f.integer(32 - format.bits));
  return f.asReal(ior(number, sign)).v;
}

/// To nearest even, as with f16; what is larger than the largest number becomes that number, and
/// NaN the last code, or that number where there is no NaN.
static Value truncateToSmall(ImplicitLocOpBuilder &b, Value x, Type narrow) {
  SmallFormat format = formatOf(narrow);
  Numbers f(b, x.getType());
  auto shr = [&](Num i, int64_t n) -> Num {
    return {arith::ShRUIOp::create(b, i.v, f.integer(n).v), &b};
  };
  int64_t shift = format.shift(), half = (int64_t(1) << (shift - 1)) - 1;
  int64_t smallest = (128 - format.bias) << 23, magic = (128 - format.bias + shift) << 23;
  Num raw = f.asBits({x, &b}), bits = iand(raw, f.integer(0x7FFFFFFF));
  Num odd = iand(shr(bits, shift), f.integer(1));
  Num normal = shr(iadd(iadd(bits, odd), f.integer(half - ((127 - format.bias) << 23))), shift);
  Num sum = f.asReal(bits) + f.real(std::ldexp(1.0, 1 - format.bias + shift));
  Num small = isub(f.asBits(sum), f.integer(magic));
  Num finite = select(atLeast(bits, f.integer(smallest)), normal, small);
  Num largest = f.integer(format.largest);
  finite = select(atLeast(finite, largest), largest, finite);
  Num code = ior(finite, iand(shr(raw, 32 - format.bits), f.integer(format.sign())));
  Num none = f.integer(format.hasNaN ? format.sign() - 1 : format.largest);
  code = select(atLeast(bits, f.integer(0x7F800001)), none, code);
  return arith::TruncIOp::create(b, f.like(b.getI8Type()), code.v);
}

/// A number, or lane `i` of several.
static Value laneOf(ImplicitLocOpBuilder &b, Value x, int64_t i) {
  return isa<VectorType>(x.getType()) ? vector::ExtractOp::create(b, x, i).getResult() : x;
}

/// Two numbers an instruction, the first in the lower half of the result: cvt.rn.satfinite.
static Value truncateToF8ByMachine(ImplicitLocOpBuilder &b, Value x, Type narrow) {
  StringAttr intrinsic = b.getStringAttr(isa<Float8E5M2Type>(narrow) ? "llvm.nvvm.ff.to.e5m2x2.rn"
                                                                     : "llvm.nvvm.ff.to.e4m3x2.rn");
  auto type = dyn_cast<VectorType>(x.getType());
  int64_t lanes = type ? type.getNumElements() : 1;
  SmallVector<Value> pairs;
  for (int64_t i = 0; i < lanes; i += 2) {
    Value low = laneOf(b, x, i), high = i + 1 < lanes ? laneOf(b, x, i + 1) : low;
    pairs.push_back(
        LLVM::CallIntrinsicOp::create(b, b.getI16Type(), intrinsic, {high, low}).getResult(0));
  }
  auto count = static_cast<int64_t>(pairs.size());
  if (!type)
    return arith::TruncIOp::create(b, b.getI8Type(), pairs.front());
  Value all = vector::FromElementsOp::create(b, VectorType::get({count}, b.getI16Type()), pairs);
  all = vector::BitCastOp::create(b, VectorType::get({2 * count}, b.getI8Type()), all);
  if (lanes % 2)
    all = vector::ExtractStridedSliceOp::create(b, all, ArrayRef<int64_t>{0},
                                                ArrayRef<int64_t>{lanes}, ArrayRef<int64_t>{1});
  return all;
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

const NarrowFormulas &lower::formulasOf(Type narrow, bool byMachine) {
  static constexpr NarrowFormulas bf16 = {extendBf16, truncateToBf16},
                                  bf16ByMachine = {extendBf16, truncateByMachine},
                                  f16 = {extendF16, truncateToF16},
                                  f16ByMachine = {extendF16ByMachine, truncateByMachine},
                                  small = {extendSmall, truncateToSmall},
                                  f8ByMachine = {extendSmall, truncateToF8ByMachine};
  if (narrow.isBF16())
    return byMachine ? bf16ByMachine : bf16;
  if (narrow.isF16())
    return byMachine ? f16ByMachine : f16;
  if (byMachine && isa<Float8E4M3FNType, Float8E5M2Type>(narrow))
    return f8ByMachine;
  if (narrow.getIntOrFloatBitWidth() <= 8)
    return small;
  llvm::reportFatalInternalError("a narrow type without formulas: " +
                                 llvm::Twine(nn::elementName(narrow)));
}
