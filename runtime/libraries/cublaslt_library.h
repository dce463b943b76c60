//===- cublaslt_library.h - cuBLASLt, loaded at run time --------------------===//
//
// Functions, handles and numbers as cublasLt.h of CUDA 12 and 13 has them.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_LIBRARIES_CUBLASLT_LIBRARY_H
#define TPLAN_RUNTIME_LIBRARIES_CUBLASLT_LIBRARY_H

#include "runtime/libraries/cuda_driver.h"
#include "runtime/support/status.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tplan::runtime {

namespace cublaslt {
using Result = int;
struct Handle;
struct Operation; // cublasLtMatmulDesc
struct Layout;
struct Preference;

struct Algorithm {
  uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  size_t workspaceBytes;
  Result state;
  float waves;
  int reserved[4];
};

enum : int { compute32F = 68, compute64F = 70, compute32FFastTf32 = 77 };
enum : int { r32F = 0, r64F = 1, r16F = 2, r16BF = 14, r8FE4M3 = 28, r8FE5M2 = 29 };
enum : int {
  operationTransA = 3,
  operationTransB = 4,
  operationEpilogue = 7,
  operationBiasPointer = 8,
  operationScaleA = 17,
  operationScaleB = 18,
  operationFastAccumulation = 25,
  operationScaleModeA = 31,
  operationScaleModeB = 32
};
/// The scales of an operand: one, one a row, one for each 128 of a row, one for 128 x 128.
enum : int { scaleScalar = 0, scaleOuterVector = 3, scaleVector128 = 4, scaleBlock128 = 5 };
enum : int { epilogueBias = 4 };
enum : int { layoutBatchCount = 5, layoutBatchStride = 6 };
enum : int {
  preferenceWorkspace = 1,
  preferenceReductions = 3,
  preferenceAlignmentA = 5,
  preferenceAlignmentB = 6,
  preferenceAlignmentC = 7,
  preferenceAlignmentD = 8
};
enum : uint32_t { reduceInComputeType = 2 };
/// What an algorithm does, by attributes of so many bytes: its number, tiles, parts of k and how
/// they are added, the order of tiles, an option, stages, and shapes inside and among clusters.
struct AlgorithmAttribute {
  int number;
  size_t bytes;
};
inline constexpr AlgorithmAttribute algorithmNumber = {0, 4};
inline constexpr AlgorithmAttribute algorithmAttributes[] = {{1, 4}, {2, 4}, {3, 4}, {4, 4},
                                                             {5, 4}, {6, 4}, {7, 2}, {8, 2}};
enum : int { plain = 0, transposed = 1 }; // cublasOperation_t
} // namespace cublaslt

struct CublasLt {
#define TP_CUBLASLT_FUNCTIONS(FUNCTION)                                                            \
  FUNCTION(Create, cublasLtCreate, (cublaslt::Handle **))                                          \
  FUNCTION(Destroy, cublasLtDestroy, (cublaslt::Handle *))                                         \
  FUNCTION(OperationCreate, cublasLtMatmulDescCreate, (cublaslt::Operation **, int, int))          \
  FUNCTION(OperationDestroy, cublasLtMatmulDescDestroy, (cublaslt::Operation *))                   \
  FUNCTION(OperationSet, cublasLtMatmulDescSetAttribute,                                           \
           (cublaslt::Operation *, int, const void *, size_t))                                     \
  FUNCTION(LayoutCreate, cublasLtMatrixLayoutCreate,                                               \
           (cublaslt::Layout **, int, uint64_t, uint64_t, int64_t))                                \
  FUNCTION(LayoutDestroy, cublasLtMatrixLayoutDestroy, (cublaslt::Layout *))                       \
  FUNCTION(LayoutSet, cublasLtMatrixLayoutSetAttribute,                                            \
           (cublaslt::Layout *, int, const void *, size_t))                                        \
  FUNCTION(PreferenceCreate, cublasLtMatmulPreferenceCreate, (cublaslt::Preference **))            \
  FUNCTION(PreferenceDestroy, cublasLtMatmulPreferenceDestroy, (cublaslt::Preference *))           \
  FUNCTION(PreferenceSet, cublasLtMatmulPreferenceSetAttribute,                                    \
           (cublaslt::Preference *, int, const void *, size_t))                                    \
  FUNCTION(GetHeuristic, cublasLtMatmulAlgoGetHeuristic,                                           \
           (cublaslt::Handle *, cublaslt::Operation *, cublaslt::Layout *, cublaslt::Layout *,     \
            cublaslt::Layout *, cublaslt::Layout *, cublaslt::Preference *, int,                   \
            cublaslt::Heuristic *, int *))                                                         \
  FUNCTION(AlgorithmCheck, cublasLtMatmulAlgoCheck,                                                \
           (cublaslt::Handle *, cublaslt::Operation *, cublaslt::Layout *, cublaslt::Layout *,     \
            cublaslt::Layout *, cublaslt::Layout *, const cublaslt::Algorithm *,                   \
            cublaslt::Heuristic *))                                                                \
  FUNCTION(AlgorithmInit, cublasLtMatmulAlgoInit,                                                  \
           (cublaslt::Handle *, int, int, int, int, int, int, int, cublaslt::Algorithm *))         \
  FUNCTION(AlgorithmGet, cublasLtMatmulAlgoConfigGetAttribute,                                     \
           (const cublaslt::Algorithm *, int, void *, size_t, size_t *))                           \
  FUNCTION(AlgorithmSet, cublasLtMatmulAlgoConfigSetAttribute,                                     \
           (cublaslt::Algorithm *, int, const void *, size_t))                                     \
  FUNCTION(Matmul, cublasLtMatmul,                                                                 \
           (cublaslt::Handle *, cublaslt::Operation *, const void *, const void *,                 \
            cublaslt::Layout *, const void *, cublaslt::Layout *, const void *, const void *,      \
            cublaslt::Layout *, void *, cublaslt::Layout *, const cublaslt::Algorithm *, void *,   \
            size_t, cuda::StreamHandle *))
#define TP_CUBLASLT_MEMBER(NAME, SYMBOL, ARGUMENTS) cublaslt::Result(*NAME) ARGUMENTS = nullptr;
  TP_CUBLASLT_FUNCTIONS(TP_CUBLASLT_MEMBER)
#undef TP_CUBLASLT_MEMBER
  size_t (*GetVersion)(void) = nullptr;
  const char *(*StatusString)(cublaslt::Result) = nullptr;

  /// The error of a call in the library's words; success for 0.
  Status check(cublaslt::Result result, std::string_view what) const;
};

/// The library looks at this variable of the environment by itself; where it is 1, all products of
/// f32 are rounded as tf32, whatever they ask for.
inline constexpr const char *tf32Override = "NVIDIA_TF32_OVERRIDE";
bool isTf32Forced();

/// cuBLASLt as TPLAN_CUBLASLT names it, as the loader finds it, or as PyTorch brings it along.
Status loadCublasLt(const CublasLt *&library);

/// Leaves the enclosing function unless a call of the library `lt` succeeds.
#define TP_CUBLASLT(CALL) TP_TRY(lt.check(lt.CALL, #CALL))

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_LIBRARIES_CUBLASLT_LIBRARY_H
