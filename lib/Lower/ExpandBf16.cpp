//===- ExpandBf16.cpp - bf16 in integers ----------------------------------===//
//
// Kernels load and store bf16 and compute in f32. Conversions become shifts and
// roundings, and then every bf16 is an i16.
//
// One decision: LLVM sees no bf16. What it makes of one follows the machine: calls of
// functions that no library has (a gather with AVX-512 alone), an end of the process
// (runs of 9), instructions that flush denormals.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Arithmetic.h"
#include "lib/Lower/Lower.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AttrTypeSubElements.h"

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

/// f64 to bf16 through f32 rounded to odd, so that the second rounding sees whether
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

/// A conversion from what is i16 by now, or to it.
static void expand(Operation *op, bool fromBf16) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  Value x = op->getOperand(0), result;
  if (fromBf16) {
    Type type = op->getResult(0).getType(), f32 = Numbers(b, type).like(b.getF32Type());
    result = extendBf16(b, x, f32);
    if (type != f32)
      result = arith::ExtFOp::create(b, type, result);
  } else {
    bool full = getElementTypeOrSelf(x.getType()).isF64();
    result = truncateToBf16(b, full ? truncateToOdd(b, x) : x);
  }
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

static AttrTypeReplacer bf16ToI16() {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](FloatType type) -> Type {
    return type.isBF16() ? Type(IntegerType::get(type.getContext(), 16)) : type;
  });
  replacer.addReplacement([](DenseElementsAttr attr) -> std::optional<Attribute> {
    if (!attr.getElementType().isBF16())
      return std::nullopt;
    return attr.bitcast(IntegerType::get(attr.getContext(), 16));
  });
  replacer.addReplacement([](FloatAttr attr) -> std::optional<Attribute> {
    if (!attr.getType().isBF16())
      return std::nullopt;
    return IntegerAttr::get(IntegerType::get(attr.getContext(), 16),
                            attr.getValue().bitcastToAPInt());
  });
  return replacer;
}

namespace {
struct ExpandBf16 : PassWrapper<ExpandBf16, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandBf16)
  StringRef getArgument() const override { return "expand-bf16"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect>();
  }

  void runOnOperation() override {
    AttrTypeReplacer replacer = bf16ToI16();
    // Code of kernels alone: functions of `rt` keep their types until the host is lowered.
    getOperation().walk([&](Operation *op) {
      if (isa<func::FuncOp, gpu::GPUFuncOp>(op))
        run(op, replacer);
    });
  }

private:
  static void run(Operation *func, AttrTypeReplacer &replacer) {
    SmallVector<std::pair<Operation *, bool>> conversions;
    func->walk([&](Operation *op) {
      if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
        return;
      bool from = getElementTypeOrSelf(op->getOperand(0)).isBF16();
      if (from || getElementTypeOrSelf(op->getResult(0)).isBF16())
        conversions.push_back({op, from});
    });
    replacer.recursivelyReplaceElementsIn(func, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
    for (auto [op, from] : conversions)
      expand(op, from);
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

std::unique_ptr<Pass> lower::createExpandBf16Pass() { return std::make_unique<ExpandBf16>(); }
