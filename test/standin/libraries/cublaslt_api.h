//===- cublaslt_api.h - the interface of cuBLASLt 13, as far as the stand-in has it ---===//
//
// Values and layouts as cublasLt.h, cublas_api.h and library_types.h have them;
// headers-agree.cpp compares where these exist.
//
// Decision: functions are a list, so that one text declares, compares and loads them.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_CUBLASLT_API_H
#define TPLAN_TEST_STANDIN_CUBLASLT_API_H

#include <cstddef>
#include <cstdint>

namespace standin::lt {

enum Status {
  success = 0,
  notInitialized = 1,
  allocFailed = 3,
  invalidValue = 7,
  archMismatch = 8,
  mappingError = 11,
  executionFailed = 13,
  internalError = 14,
  notSupported = 15,
  licenseError = 16,
};

enum Type { typeF32 = 0, typeF64 = 1, typeF16 = 2, typeBf16 = 14, typeE4M3 = 28, typeE5M2 = 29 };

enum ComputeType {
  compute32F = 68,
  compute32FPedantic = 69,
  compute64F = 70,
  compute64FPedantic = 71,
  compute32FFastTf32 = 77,
};

enum Operation { opN = 0, opT = 1, opC = 2 };
enum Fill { fillFull = 2 };
enum PointerMode { pointerHost = 0, pointerDevice = 1 };
enum Order { orderCol = 0, orderRow = 1 };

enum LayoutAttribute {
  layoutType = 0,
  layoutOrder = 1,
  layoutRows = 2,
  layoutCols = 3,
  layoutLd = 4,
  layoutBatchCount = 5,
  layoutBatchOffset = 6,
  layoutPlaneOffset = 7,
  layoutBatchMode = 8,
};

enum DescAttribute {
  descComputeType = 0,
  descScaleType = 1,
  descPointerMode = 2,
  descTransA = 3,
  descTransB = 4,
  descTransC = 5,
  descFillMode = 6,
  descEpilogue = 7,
  descBiasPointer = 8,
  descBiasBatchStride = 10,
  descAuxPointer = 11,
  descAuxLd = 12,
  descAuxBatchStride = 13,
  descAlphaVectorBatchStride = 14,
  descSmCountTarget = 15,
  descAScalePointer = 17,
  descBScalePointer = 18,
  descCScalePointer = 19,
  descDScalePointer = 20,
  descAmaxDPointer = 21,
  descAuxDataType = 22,
  descAuxScalePointer = 23,
  descAuxAmaxPointer = 24,
  descFastAccum = 25,
  descBiasDataType = 26,
  descAScaleMode = 31,
  descBScaleMode = 32,
  descCScaleMode = 33,
  descDScaleMode = 34,
  descAuxScaleMode = 35,
  descDOutScalePointer = 36,
  descDOutScaleMode = 37,
  descEmulation = 38,
};

/// How scales lie, of a matrix whose elements along k are side by side: one; one for each row; one
/// for each 128 elements of k of each row, those of rows side by side; one for 128 x 128, those
/// along k side by side, in lines of a multiple of four.
enum ScaleMode {
  scaleScalar = 0,
  scaleVec16 = 1,
  scaleVec32 = 2,
  scaleOuterVec = 3,
  scaleVec128 = 4,
  scaleBlock128 = 5,
};

enum Epilogue {
  epilogueDefault = 1,
  epilogueRelu = 2,
  epilogueBias = 4,
  epilogueReluBias = 6,
  epilogueGelu = 32,
  epilogueGeluBias = 36,
  epilogueGeluAux = 160,
  epilogueGeluAuxBias = 164,
  epilogueDgelu = 192,
  epilogueDgeluBgrad = 208,
  epilogueBgradA = 256,
  epilogueBgradB = 512,
};

enum PreferenceAttribute {
  preferSearchMode = 0,
  preferMaxWorkspaceBytes = 1,
  preferReductionSchemeMask = 3,
  preferMinAlignmentA = 5,
  preferMinAlignmentB = 6,
  preferMinAlignmentC = 7,
  preferMinAlignmentD = 8,
  preferMaxWavesCount = 9,
  preferImplMask = 12,
};

enum Search { searchBestFit = 0 };
enum ReductionScheme {
  schemeNone = 0,
  schemeComputeType = 2,
  schemeOutputType = 4,
  schemeMask = 7
};

enum ConfigAttribute {
  configId = 0,
  configTileId = 1,
  configSplitKNum = 2,
  configReductionScheme = 3,
  configCtaSwizzling = 4,
  configCustomOption = 5,
  configStagesId = 6,
  configInnerShapeId = 7,
  configClusterShapeId = 8,
};

/// May be stored, and restored for the same version of the library.
struct Algo {
  uint64_t data[8];
};

struct HeuristicResult {
  Algo algo;
  size_t workspaceSize;
  int state;
  float wavesCount;
  int reserved[4];
};

struct Context;
struct Desc;
struct Layout;
struct Preference;
using Handle = Context *;

constexpr size_t version = 130100;

// clang-format off
#define STANDIN_LT_FUNCTIONS(FUNCTION)                                                             \
  FUNCTION(int, cublasLtCreate, (Handle *))                                                        \
  FUNCTION(int, cublasLtDestroy, (Handle))                                                         \
  FUNCTION(size_t, cublasLtGetVersion, (void))                                                     \
  FUNCTION(const char *, cublasLtGetStatusName, (int))                                             \
  FUNCTION(const char *, cublasLtGetStatusString, (int))                                           \
  FUNCTION(int, cublasLtMatmulDescCreate, (Desc **, int compute, int scale))                       \
  FUNCTION(int, cublasLtMatmulDescDestroy, (Desc *))                                               \
  FUNCTION(int, cublasLtMatmulDescSetAttribute, (Desc *, int, const void *, size_t))               \
  FUNCTION(int, cublasLtMatmulDescGetAttribute, (Desc *, int, void *, size_t, size_t *))           \
  FUNCTION(int, cublasLtMatrixLayoutCreate,                                                        \
           (Layout **, int type, uint64_t rows, uint64_t cols, int64_t ld))                        \
  FUNCTION(int, cublasLtMatrixLayoutDestroy, (Layout *))                                           \
  FUNCTION(int, cublasLtMatrixLayoutSetAttribute, (Layout *, int, const void *, size_t))           \
  FUNCTION(int, cublasLtMatrixLayoutGetAttribute, (Layout *, int, void *, size_t, size_t *))       \
  FUNCTION(int, cublasLtMatmulPreferenceCreate, (Preference **))                                   \
  FUNCTION(int, cublasLtMatmulPreferenceDestroy, (Preference *))                                   \
  FUNCTION(int, cublasLtMatmulPreferenceSetAttribute, (Preference *, int, const void *, size_t))   \
  FUNCTION(int, cublasLtMatmulPreferenceGetAttribute,                                              \
           (Preference *, int, void *, size_t, size_t *))                                          \
  FUNCTION(int, cublasLtMatmulAlgoGetHeuristic,                                                    \
           (Handle, Desc *, Layout *a, Layout *b, Layout *c, Layout *d, Preference *,              \
            int requested, HeuristicResult *, int *found))                                         \
  FUNCTION(int, cublasLtMatmulAlgoInit,                                                            \
           (Handle, int compute, int scale, int a, int b, int c, int d, int id, Algo *))           \
  FUNCTION(int, cublasLtMatmulAlgoCheck,                                                           \
           (Handle, Desc *, Layout *a, Layout *b, Layout *c, Layout *d, const Algo *,              \
            HeuristicResult *))                                                                    \
  FUNCTION(int, cublasLtMatmulAlgoConfigSetAttribute, (Algo *, int, const void *, size_t))         \
  FUNCTION(int, cublasLtMatmulAlgoConfigGetAttribute,                                              \
           (const Algo *, int, void *, size_t, size_t *))                                          \
  FUNCTION(int, cublasLtMatmul,                                                                    \
           (Handle, Desc *, const void *alpha, const void *a, Layout *, const void *b, Layout *,   \
            const void *beta, const void *c, Layout *, void *d, Layout *, const Algo *,            \
            void *workspace, size_t workspaceBytes, void *stream))
// clang-format on

} // namespace standin::lt

#endif // TPLAN_TEST_STANDIN_CUBLASLT_API_H
