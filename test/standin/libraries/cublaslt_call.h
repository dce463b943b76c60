//===- cublaslt_call.h - a call of cublasLtMatmul on its way through a stream -----===//
#ifndef TPLAN_TEST_STANDIN_CUBLASLT_CALL_H
#define TPLAN_TEST_STANDIN_CUBLASLT_CALL_H

#include "cublaslt_algorithm.h"

#include <memory>

namespace standin::lt {

/// Addresses are those of the device.
struct Call {
  Problem problem;
  Algorithm algorithm;
  double alpha, beta;
  const void *a, *b, *c;
  void *d, *bias, *aux, *workspace;
  const void *aScale, *bScale;
  size_t workspaceBytes;
  bool isKept; // for graphs that run it again
};

/// Whether all of its memory is there, aligned, and apart.
Verdict checkMemory(const Call &call);
Verdict enqueue(std::unique_ptr<Call> call, void *stream);

/// Complains where it is not success; its status.
int report(const char *function, const Verdict &verdict);

} // namespace standin::lt

#endif // TPLAN_TEST_STANDIN_CUBLASLT_CALL_H
