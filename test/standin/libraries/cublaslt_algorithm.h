//===- cublaslt_algorithm.h - what stands in the 64 bytes of an algorithm --------===//
//
// Decision: an algorithm of the heuristic remembers its problem and the alignments that it
// was asked for, and is refused for anything else. The library may take it or may not.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_CUBLASLT_ALGORITHM_H
#define TPLAN_TEST_STANDIN_CUBLASLT_ALGORITHM_H

#include "cublaslt_gemm.h"

namespace standin::lt {

enum Operand {
  operandA,
  operandB,
  operandC,
  operandD,
  operandBias,
  alignedOperands = 5, // and what is aligned as the library asks for it, not as the caller said
  alignedTo16,
  alignedTo4
};

struct Algorithm {
  uint64_t magic;
  uint64_t version;
  uint64_t problem; // 0: of cublasLtMatmulAlgoInit, for any problem of its types
  uint64_t types;
  uint32_t id;
  uint32_t splits;
  uint32_t scheme;
  uint8_t alignment[alignedOperands]; // log2 of bytes
  uint8_t unused[7];
  uint64_t checksum;

  Method method() const { return (Method)id; }
};
static_assert(sizeof(Algorithm) == sizeof(Algo));

/// STANDIN_CUBLASLT_VERSION, with which algorithms of another version are refused.
size_t currentVersion();

Algorithm makeAlgorithm(Method method, uint64_t types);
Algo seal(Algorithm algorithm);
/// The problem and alignments that were sealed, if any were, and by this version.
Verdict unseal(const Algo &algo, Algorithm &algorithm);
/// Also whether it is one for the problem.
Verdict unsealFor(const Algo &algo, const Problem &problem, Algorithm &algorithm);

/// The algorithms that fit, the fastest first by what the heuristic can know;
/// STANDIN_CUBLASLT_FIRST names another first one. Algorithms whose bits STANDIN_CUBLASLT_REFUSED
/// has are offered, but no call runs them.
int findAlgorithms(const Problem &problem, const Preference &preference, const void *bias,
                   std::span<HeuristicResult> results);

/// Microseconds that a call takes beside its work. With STANDIN_CUBLASLT_FAST=N one algorithm of
/// each problem is fast, N decides which; so clocks choose as a test wants.
int slowness(const Algorithm &algorithm, const Problem &problem);

/// 2 to this is the alignment of an address, at most 256.
int logOfAlignment(uint64_t address);

} // namespace standin::lt

#endif // TPLAN_TEST_STANDIN_CUBLASLT_ALGORITHM_H
