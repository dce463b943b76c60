//===- ExpandNarrow.cpp - bf16 and f16 in integers --------------------------===//
//
// Kernels load and store bf16 and f16 and compute in f32. Conversions become arithmetic, or the
// instructions of a machine that has them, and then every bf16 and f16 is an i16.
//
// One decision: LLVM sees no bf16, and sees f16 only between a conversion and the integer that it
// comes from or goes to. What LLVM makes of these types depends on the machine: calls of functions
// that no library has (a gather of bf16 with AVX-512 alone, f16 below x86-64-v3), an end of the
// process (runs of 9 bf16), instructions that flush denormals. Where LLVM turns an operation on f16
// into one on f32 between conversions, the bits are the same, because f32 has more than twice the
// bits of f16 plus two.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/Narrow.h"
#include "dialects/tplan/Settings.h"
#include "lib/Lower/Arithmetic.h"
#include "lib/Lower/Lower.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AttrTypeSubElements.h"

namespace tplan::lower {
#define GEN_PASS_DEF_EXPANDNARROWPASS
#include "lib/Lower/Passes.h.inc"
} // namespace tplan::lower

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

/// bf16 is the upper half of an f32.
static Value extendBf16(ImplicitLocOpBuilder &b, Value half, Type f32) {
  Numbers wide(b, f32);
  Num bits{arith::ExtUIOp::create(b, wide.like(b.getI32Type()), half), &b};
  return wide.asReal(shl(bits, wide.integer(16))).v;
}

/// f32 to bf16, to nearest even: half of the last place is added, less one bit where
/// the last place is even.
static Value truncateToBf16(ImplicitLocOpBuilder &b, Value x) {
  Numbers f(b, x.getType());
  Num value{x, &b}, nan = compare(arith::CmpFPredicate::UNO, value, value);
  Num bits = select(nan, f.integer(0x7FC00000), f.asBits(value));
  Num even = isZero(iand(bits, f.integer(0x10000)), f.integer(0));
  Num rounded = iadd(bits, select(even, f.integer(0x7FFF), f.integer(0x8000)));
  Value top = arith::ShRUIOp::create(b, rounded.v, f.integer(16).v);
  return arith::TruncIOp::create(b, f.like(b.getI16Type()), top);
}

/// f64 to a narrow type through f32 rounded to odd, so that the second rounding sees whether
/// the first was exact. Source: Boldo and Melquiond, "Emulation of FMA and correctly
/// rounded sums", 2008.
static Value truncateToOdd(ImplicitLocOpBuilder &b, Value x) {
  Numbers full(b, x.getType()), narrow(b, full.like(b.getF32Type()));
  Num wide{x, &b};
  Num near{arith::TruncFOp::create(b, narrow.type, x), &b};
  Num back{arith::ExtFOp::create(b, x.getType(), near.v), &b};
  Num raw = narrow.asBits(near), one = narrow.integer(1), none = narrow.integer(0);
  // Where the value was rounded away from zero, one step back; then the low bit is
  // set where it was inexact. Infinities from finite values come back too.
  Num away = full.magnitude(back) > full.magnitude(wide);
  Num toZero = isub(raw, select(away, one, none));
  Num inexact = compare(arith::CmpFPredicate::ONE, back, wide);
  return narrow.asReal(ior(toZero, select(inexact, one, none))).v;
}

//===----------------------------------------------------------------------===//
// f16: the formulas of runtime/support/f16.h
//===----------------------------------------------------------------------===//

/// What is left of a denormal after the shift is a denormal of f32, so a product puts both in
/// their place.
static Value extendF16(ImplicitLocOpBuilder &b, Value half, Type f32) {
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
static Value truncateToF16(ImplicitLocOpBuilder &b, Value x) {
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

static Value extendByMachine(ImplicitLocOpBuilder &b, Value half, Type f32) {
  Type f16 = Numbers(b, f32).like(b.getF16Type());
  Value number = arith::BitcastOp::create(b, f16, half);
  return arith::ExtFOp::create(b, f32, number);
}

static Value truncateByMachine(ImplicitLocOpBuilder &b, Value x) {
  Numbers f(b, x.getType());
  Value half = arith::TruncFOp::create(b, f.like(b.getF16Type()), x);
  return arith::BitcastOp::create(b, f.like(b.getI16Type()), half);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
/// The conversions between f32 and an i16 that holds a number of a narrow type.
struct Formulas {
  Value (*extend)(ImplicitLocOpBuilder &, Value half, Type f32);
  Value (*truncate)(ImplicitLocOpBuilder &, Value x);
};
constexpr Formulas kBf16 = {extendBf16, truncateToBf16};
constexpr Formulas kF16 = {extendF16, truncateToF16};
constexpr Formulas kF16ByMachine = {extendByMachine, truncateByMachine};

/// Every GPU converts f16, and so does a CPU whose facts say it.
const Formulas &formulasOf(Operation *func, Type narrow) {
  if (narrow.isBF16())
    return kBf16;
  if (!narrow.isF16())
    llvm::reportFatalInternalError("expand-narrow converts bf16 and f16, and no other narrow type");
  const lang::Target &target = lang::targetOf(func->getParentOfType<ModuleOp>());
  return isa<gpu::GPUFuncOp>(func) || target.f16c ? kF16ByMachine : kF16;
}

/// A conversion, and which of its two types is the narrow one.
struct Conversion {
  Operation *op;
  bool fromNarrow;
  Type narrow;
};
} // namespace

/// A conversion from a narrow type, which is an i16 by now, or to it.
static void expand(Operation *op, bool fromNarrow, const Formulas &by) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  Value x = op->getOperand(0), result;
  if (fromNarrow) {
    Type type = op->getResult(0).getType(), f32 = Numbers(b, type).like(b.getF32Type());
    result = by.extend(b, x, f32);
    if (type != f32)
      result = arith::ExtFOp::create(b, type, result);
  } else {
    bool full = getElementTypeOrSelf(x.getType()).isF64();
    result = by.truncate(b, full ? truncateToOdd(b, x) : x);
  }
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

static AttrTypeReplacer narrowToI16() {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](FloatType type) -> Type {
    return nn::isNarrow(type) ? Type(IntegerType::get(type.getContext(), 16)) : type;
  });
  replacer.addReplacement([](DenseElementsAttr attr) -> std::optional<Attribute> {
    if (!nn::isNarrow(attr.getElementType()))
      return std::nullopt;
    return attr.bitcast(IntegerType::get(attr.getContext(), 16));
  });
  replacer.addReplacement([](FloatAttr attr) -> std::optional<Attribute> {
    if (!nn::isNarrow(attr.getType()))
      return std::nullopt;
    return IntegerAttr::get(IntegerType::get(attr.getContext(), 16),
                            attr.getValue().bitcastToAPInt());
  });
  return replacer;
}

namespace {
struct ExpandNarrowPass : tplan::lower::impl::ExpandNarrowPassBase<ExpandNarrowPass> {
  void runOnOperation() override {
    AttrTypeReplacer replacer = narrowToI16();
    // Only code of kernels is converted: functions of `rt` keep their types until the host is
    // lowered.
    getOperation().walk([&](Operation *op) {
      if (isa<func::FuncOp, gpu::GPUFuncOp>(op))
        run(op, replacer);
    });
  }

private:
  static void run(Operation *func, AttrTypeReplacer &replacer) {
    SmallVector<Conversion> conversions;
    func->walk([&](Operation *op) {
      if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
        return;
      Type from = getElementTypeOrSelf(op->getOperand(0)),
           to = getElementTypeOrSelf(op->getResult(0));
      if (nn::isNarrow(from) || nn::isNarrow(to))
        conversions.push_back({op, nn::isNarrow(from), nn::isNarrow(from) ? from : to});
    });
    replacer.recursivelyReplaceElementsIn(func, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
    for (auto [op, fromNarrow, narrow] : conversions)
      expand(op, fromNarrow, formulasOf(func, narrow));
    func->walk([](Operation *op) {
      if (isa<arith::BitcastOp, vector::BitCastOp>(op) &&
          op->getOperand(0).getType() == op->getResult(0).getType()) {
        op->getResult(0).replaceAllUsesWith(op->getOperand(0));
        op->erase();
      }
    });
  }
};
} // namespace
