//===- CheckGemms.cpp - check-gemms: a GPU's library multiplies each GEMM in f8 ---===//
//
// The library takes operands in f8 of some shapes and with some scales only
// (lib/Driver/F8Gemms.def, docs/fp8.md). What a rank has of them is known only here, so a plan
// whose axes leave other shapes is refused here, with its lines; nothing is changed silently,
// because that would change results.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/Narrow.h"
#include "dialects/rt/RT.h"
#include "dialects/tplan/Settings.h"
#include "lib/Fuse/Fuse.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

namespace tplan::fuse {
#define GEN_PASS_DEF_CHECKGEMMSPASS
#include "lib/Fuse/Passes.h.inc"
} // namespace tplan::fuse

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

constexpr int64_t kAligned = 16; // bytes

/// One operand as the library sees it: so many rows, or columns of the result.
struct Operand {
  Tensor codes;
  rt::ScaleGrid scales;
  int64_t rows;
  bool isInnermost; // what is contracted
  int64_t leading;

  /// No scale is for two sequences, so several of them have several.
  bool isOfSequences(int64_t k) const {
    bool hasPanel = scales.panel == k || scales.panel == 128;
    return !hasPanel || (scales.panel == k && scales.block > 1 && scales.block < rows);
  }
};

/// Why the library does not multiply it, or nothing.
std::string refusal(rt::MatmulOp op) {
  Tensor lhs = typeOf(op.getLhs()), rhs = typeOf(op.getRhs()), result = typeOf(op.getResult());
  rt::Gemm gemm = *rt::matchGemm(lhs, rhs, result);
  std::pair a(lhs, op.getLhsScale()), b(rhs, op.getRhsScale());
  if (gemm.swapped)
    std::swap(a, b);
  auto grid = [&](auto operand) {
    return *rt::matchScale(operand.first, typeOf(operand.second), result);
  };
  Operand operands[] = {{a.first, grid(a), gemm.m, !gemm.transA, gemm.lda},
                        {b.first, grid(b), gemm.n, gemm.transB, gemm.ldb}};
  for (const Operand &each : operands) {
    if (!each.isInnermost)
      return llvm::formatv("an operand does not have what is summed innermost: {0}", each.codes);
    if (each.leading % kAligned)
      return llvm::formatv("{0} elements that it sums are no multiple of {1}", gemm.k, kAligned);
  }
  bool hasModes =
      rt::scaleModesOf(gemm, operands[0].scales, operands[1].scales).first != rt::ScaleMode::Other;
  if (!hasModes && llvm::any_of(operands, [&](auto &each) { return each.isOfSequences(gemm.k); }))
    return "no scale is for two sequences, and it has several: a microbatch of 1 sequence has one";
  if (!hasModes)
    return "the scales of its operands are no pair that the library has";
  if (llvm::all_of(operands, [](const Operand &each) {
        return isa<Float8E5M2Type>(each.codes.getElementType());
      }))
    return "no GPU multiplies E5M2 by E5M2";
  if (int64_t bytes = gemm.n * nn::elementBytes(result.getElementType()); bytes % kAligned)
    return llvm::formatv("a row of its result has {0} bytes, which are no multiple of {1}", bytes,
                         kAligned);
  return "";
}

struct CheckGemmsPass : tplan::fuse::impl::CheckGemmsPassBase<CheckGemmsPass> {
  void runOnOperation() final {
    std::set<std::pair<const void *, std::string>> told; // once for a line
    getOperation().walk([&](rt::MatmulOp op) {
      std::string why = op.getLhsScale() ? refusal(op) : "";
      if (why.empty() || !told.insert({op.getLoc().getAsOpaquePointer(), why}).second)
        return;
      InFlightDiagnostic error =
          emitError(op.getLoc(), "a GEMM of this line is not one that a GPU computes in f8: leave "
                                 "its weight out with `except`, or lay it out otherwise; ");
      error << why;
      error.attachNote(lang::Settings(getOperation()).planLine("precision"))
          << "the precision is given here";
      signalPassFailure();
    });
    markAllAnalysesPreserved();
  }
};

} // namespace
