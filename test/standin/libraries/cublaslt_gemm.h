//===- cublaslt_gemm.h - the arithmetic of the stand-in for cuBLASLt -------------===//
//
// Decision: algorithms differ only in the order of sums over k, so that a run with another
// algorithm than the chosen one has other bits; and one rounds its partial sums, for callers that
// have not said how these may be reduced.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_CUBLASLT_GEMM_H
#define TPLAN_TEST_STANDIN_CUBLASLT_GEMM_H

#include "cublaslt_problem.h"

namespace standin::lt {

enum Method {
  ascending = 0, // one sum
  halves = 1,    // two sums, the second added to the first
  blocks = 2,    // a sum for every blockOfK, added in turn
  rounded = 3,   // as halves, in the type of D, where that is narrower
  methods = 4,
  exactMethods = rounded,
};
constexpr bool isInHalves(Method method) { return method == halves || method == rounded; }
constexpr int64_t blockOfK = 16;

/// Memory of the host.
struct Operands {
  const char *a, *b, *c; // c is null where beta is 0
  char *d, *bias, *aux, *workspace;
  const float *aScale, *bScale; // null: 1
};

size_t workspaceOf(Method method, const Problem &problem);

void multiply(Method method, const Problem &problem, double alpha, double beta,
              const Operands &operands);

} // namespace standin::lt

#endif // TPLAN_TEST_STANDIN_CUBLASLT_GEMM_H
