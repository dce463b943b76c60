//===- ExpandNarrow.cpp - narrow types in integers --------------------------===//
//
// Kernels load and store bf16, f16 and f8 and compute in f32. Conversions become arithmetic, or the
// instructions of a machine that has them, and then every bf16 and f16 is an i16, every f8 an i8.
//
// One decision: LLVM sees f16, and on a GPU bf16, only between a conversion and the integer that it
// comes from or goes to; on a CPU it sees no bf16. What LLVM makes of these types depends on the
// machine: calls of functions that no library has (a gather of bf16 with AVX-512 alone, f16 below
// x86-64-v3), an end of the process (runs of 9 bf16), instructions that flush denormals. Where LLVM
// turns an operation on f16 into one on f32 between conversions, the bits are the same, because f32
// has more than twice the bits of f16 plus two.
//
//===----------------------------------------------------------------------===//
#include "dialects/tplan/Settings.h"
#include "lib/Lower/Arithmetic.h"
#include "lib/Lower/Lower.h"
#include "lib/Lower/NarrowFormulas.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AttrTypeSubElements.h"

namespace tplan::lower {
#define GEN_PASS_DEF_EXPANDNARROWPASS
#include "lib/Lower/Passes.h.inc"
} // namespace tplan::lower

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

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

namespace {
/// A conversion, and which of its two types is the narrow one.
struct Conversion {
  Operation *op;
  bool fromNarrow;
  Type narrow;
};
} // namespace

/// A conversion from a narrow type, which is an integer by now, or to it.
static void expand(Operation *op, bool fromNarrow, Type narrow, const NarrowFormulas &by) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  Value x = op->getOperand(0), result;
  if (fromNarrow) {
    Type type = op->getResult(0).getType(), f32 = Numbers(b, type).like(b.getF32Type());
    result = by.extend(b, x, f32, narrow);
    if (type != f32)
      result = arith::ExtFOp::create(b, type, result);
  } else {
    bool full = getElementTypeOrSelf(x.getType()).isF64();
    result = by.truncate(b, full ? truncateToOdd(b, x) : x, narrow);
  }
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

/// The integer that holds the code of a narrow type.
static IntegerType codeOf(Type narrow) {
  return IntegerType::get(narrow.getContext(), 8 * nn::elementBytes(narrow));
}

static AttrTypeReplacer narrowToCodes() {
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [](FloatType type) -> Type { return nn::isNarrow(type) ? Type(codeOf(type)) : type; });
  replacer.addReplacement([](DenseElementsAttr attr) -> std::optional<Attribute> {
    if (!nn::isNarrow(attr.getElementType()))
      return std::nullopt;
    IntegerType code = codeOf(attr.getElementType());
    return cast<DenseFPElementsAttr>(attr).mapValues(
        code, [=](const APFloat &x) { return x.bitcastToAPInt().zext(code.getWidth()); });
  });
  replacer.addReplacement([](FloatAttr attr) -> std::optional<Attribute> {
    if (!nn::isNarrow(attr.getType()))
      return std::nullopt;
    IntegerType code = codeOf(attr.getType());
    return IntegerAttr::get(code, attr.getValue().bitcastToAPInt().zext(code.getWidth()));
  });
  return replacer;
}

namespace {
struct ExpandNarrowPass : tplan::lower::impl::ExpandNarrowPassBase<ExpandNarrowPass> {
  void runOnOperation() override {
    AttrTypeReplacer replacer = narrowToCodes();
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
    // Every GPU converts f16, and a CPU whose facts say so. The GPUs of all targets round to bf16,
    // some to f8; where no target is named, kernels for GPUs are tried on a CPU.
    const lang::Target &target = lang::targetOf(func->getParentOfType<ModuleOp>());
    bool isGpu = isa<gpu::GPUFuncOp>(func);
    for (auto [op, fromNarrow, narrow] : conversions) {
      bool byMachine = narrow.isF16()    ? isGpu || target.f16c
                       : narrow.isBF16() ? isGpu && target.isGpu()
                                         : isGpu && target.convertsF8();
      expand(op, fromNarrow, narrow, formulasOf(narrow, byMachine));
    }
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
