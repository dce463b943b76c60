//===- RT.h - the rt dialect ----------------------------------------------===//
#ifndef TPLAN_DIALECTS_RT_H
#define TPLAN_DIALECTS_RT_H

#include "dialects/nn/NN.h"

#include "dialects/rt/RTDialect.h.inc"
#include "dialects/rt/RTEnums.h.inc"
#include "dialects/rt/RTInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/rt/RTAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/rt/RTOps.h.inc"

namespace tplan::rt {
/// A contraction as a GEMM in row-major terms: C[b] (m x n) = A[b] B[b].
/// Strides and leading dimensions in elements; transposed A is stored k x m.
struct Gemm {
  int64_t m = 1, n = 1, k = 1, batch = 1;
  int64_t lda = 1, ldb = 1, ldc = 1;
  int64_t strideA = 0, strideB = 0, strideC = 0;
  bool transA = false, transB = false;
  /// The operands change places: C^T = B^T A^T, where the result has columns first.
  bool swapped = false;
};

/// The GEMM of a contraction by name, or failure where a group of dimensions is
/// not contiguous in an operand.
mlir::FailureOr<Gemm> matchGemm(nn::Tensor lhs, nn::Tensor rhs, nn::Tensor result);
} // namespace tplan::rt

#endif // TPLAN_DIALECTS_RT_H
