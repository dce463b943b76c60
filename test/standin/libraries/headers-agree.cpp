//===- headers-agree.cpp - our lists of facts equal NVIDIA's headers ---------------===//
//
// Compiled only where the headers are; to compile is the test.
//
//===----------------------------------------------------------------------===//

#include "cublaslt_api.h"
#include "nccl_api.h"

#include <cublasLt.h>
#include <nccl.h>

#include <type_traits>

using namespace standin;

namespace {

/// Whether a value of the one passes where the other is expected.
template <typename Ours, typename Theirs> constexpr bool passes() {
  using A = std::decay_t<Ours>;
  using B = std::decay_t<Theirs>;
  auto isNumber = []<typename T>(T *) { return std::is_integral_v<T> || std::is_enum_v<T>; };
  if constexpr (std::is_void_v<A> || std::is_void_v<B>)
    return std::is_void_v<A> && std::is_void_v<B>;
  else
    return sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
           isNumber((A *)nullptr) == isNumber((B *)nullptr);
}

template <typename Ours, typename Theirs> struct Agree : std::false_type {};
template <typename R, typename... A, typename S, typename... B> struct Agree<R(A...), S(B...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(A) == sizeof...(B))
      return passes<R, S>() && (passes<A, B>() && ...);
    return false;
  }();
};

} // namespace

#define COMPARE(RESULT, NAME, ARGUMENTS)                                                           \
  static_assert(Agree<RESULT ARGUMENTS, decltype(::NAME)>::value, #NAME);
#define SAME(OURS, THEIRS) static_assert((long long)(OURS) == (long long)(THEIRS), #THEIRS);

namespace standin::lt {
STANDIN_LT_FUNCTIONS(COMPARE)

SAME(version, CUBLAS_VERSION)
SAME(success, CUBLAS_STATUS_SUCCESS)
SAME(notInitialized, CUBLAS_STATUS_NOT_INITIALIZED)
SAME(allocFailed, CUBLAS_STATUS_ALLOC_FAILED)
SAME(invalidValue, CUBLAS_STATUS_INVALID_VALUE)
SAME(archMismatch, CUBLAS_STATUS_ARCH_MISMATCH)
SAME(mappingError, CUBLAS_STATUS_MAPPING_ERROR)
SAME(executionFailed, CUBLAS_STATUS_EXECUTION_FAILED)
SAME(internalError, CUBLAS_STATUS_INTERNAL_ERROR)
SAME(notSupported, CUBLAS_STATUS_NOT_SUPPORTED)
SAME(licenseError, CUBLAS_STATUS_LICENSE_ERROR)

SAME(typeF32, CUDA_R_32F)
SAME(typeF64, CUDA_R_64F)
SAME(typeF16, CUDA_R_16F)
SAME(typeBf16, CUDA_R_16BF)
SAME(compute32F, CUBLAS_COMPUTE_32F)
SAME(compute32FPedantic, CUBLAS_COMPUTE_32F_PEDANTIC)
SAME(compute64F, CUBLAS_COMPUTE_64F)
SAME(compute64FPedantic, CUBLAS_COMPUTE_64F_PEDANTIC)
SAME(compute32FFastTf32, CUBLAS_COMPUTE_32F_FAST_TF32)
SAME(opN, CUBLAS_OP_N)
SAME(opT, CUBLAS_OP_T)
SAME(opC, CUBLAS_OP_C)
SAME(fillFull, CUBLAS_FILL_MODE_FULL)
SAME(pointerHost, CUBLASLT_POINTER_MODE_HOST)
SAME(pointerDevice, CUBLASLT_POINTER_MODE_DEVICE)
SAME(orderCol, CUBLASLT_ORDER_COL)
SAME(orderRow, CUBLASLT_ORDER_ROW)

SAME(layoutType, CUBLASLT_MATRIX_LAYOUT_TYPE)
SAME(layoutOrder, CUBLASLT_MATRIX_LAYOUT_ORDER)
SAME(layoutRows, CUBLASLT_MATRIX_LAYOUT_ROWS)
SAME(layoutCols, CUBLASLT_MATRIX_LAYOUT_COLS)
SAME(layoutLd, CUBLASLT_MATRIX_LAYOUT_LD)
SAME(layoutBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
SAME(layoutBatchOffset, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
SAME(layoutPlaneOffset, CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET)
SAME(layoutBatchMode, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE)

SAME(descComputeType, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE)
SAME(descScaleType, CUBLASLT_MATMUL_DESC_SCALE_TYPE)
SAME(descPointerMode, CUBLASLT_MATMUL_DESC_POINTER_MODE)
SAME(descTransA, CUBLASLT_MATMUL_DESC_TRANSA)
SAME(descTransB, CUBLASLT_MATMUL_DESC_TRANSB)
SAME(descTransC, CUBLASLT_MATMUL_DESC_TRANSC)
SAME(descFillMode, CUBLASLT_MATMUL_DESC_FILL_MODE)
SAME(descEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE)
SAME(descBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER)
SAME(descBiasBatchStride, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE)
SAME(descAuxPointer, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER)
SAME(descAuxLd, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD)
SAME(descAuxBatchStride, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE)
SAME(descAlphaVectorBatchStride, CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE)
SAME(descSmCountTarget, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET)
SAME(descAScalePointer, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER)
SAME(descBScalePointer, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER)
SAME(descCScalePointer, CUBLASLT_MATMUL_DESC_C_SCALE_POINTER)
SAME(descDScalePointer, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER)
SAME(descAmaxDPointer, CUBLASLT_MATMUL_DESC_AMAX_D_POINTER)
SAME(descAuxDataType, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE)
SAME(descAuxScalePointer, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER)
SAME(descAuxAmaxPointer, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER)
SAME(descFastAccum, CUBLASLT_MATMUL_DESC_FAST_ACCUM)
SAME(descBiasDataType, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE)
SAME(descAScaleMode, CUBLASLT_MATMUL_DESC_A_SCALE_MODE)
SAME(descBScaleMode, CUBLASLT_MATMUL_DESC_B_SCALE_MODE)
SAME(descCScaleMode, CUBLASLT_MATMUL_DESC_C_SCALE_MODE)
SAME(descDScaleMode, CUBLASLT_MATMUL_DESC_D_SCALE_MODE)
SAME(descAuxScaleMode, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE)
SAME(descDOutScalePointer, CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER)
SAME(descDOutScaleMode, CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE)
SAME(descEmulation, CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR)

SAME(epilogueDefault, CUBLASLT_EPILOGUE_DEFAULT)
SAME(epilogueRelu, CUBLASLT_EPILOGUE_RELU)
SAME(epilogueBias, CUBLASLT_EPILOGUE_BIAS)
SAME(epilogueReluBias, CUBLASLT_EPILOGUE_RELU_BIAS)
SAME(epilogueGelu, CUBLASLT_EPILOGUE_GELU)
SAME(epilogueGeluBias, CUBLASLT_EPILOGUE_GELU_BIAS)
SAME(epilogueGeluAux, CUBLASLT_EPILOGUE_GELU_AUX)
SAME(epilogueGeluAuxBias, CUBLASLT_EPILOGUE_GELU_AUX_BIAS)
SAME(epilogueDgelu, CUBLASLT_EPILOGUE_DGELU)
SAME(epilogueDgeluBgrad, CUBLASLT_EPILOGUE_DGELU_BGRAD)
SAME(epilogueBgradA, CUBLASLT_EPILOGUE_BGRADA)
SAME(epilogueBgradB, CUBLASLT_EPILOGUE_BGRADB)

SAME(preferSearchMode, CUBLASLT_MATMUL_PREF_SEARCH_MODE)
SAME(preferMaxWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
SAME(preferReductionSchemeMask, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
SAME(preferMinAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES)
SAME(preferMinAlignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES)
SAME(preferMinAlignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES)
SAME(preferMinAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES)
SAME(preferMaxWavesCount, CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT)
SAME(preferImplMask, CUBLASLT_MATMUL_PREF_IMPL_MASK)
SAME(searchBestFit, CUBLASLT_SEARCH_BEST_FIT)
SAME(schemeNone, CUBLASLT_REDUCTION_SCHEME_NONE)
SAME(schemeComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)
SAME(schemeMask, CUBLASLT_REDUCTION_SCHEME_MASK)

SAME(configId, CUBLASLT_ALGO_CONFIG_ID)
SAME(configTileId, CUBLASLT_ALGO_CONFIG_TILE_ID)
SAME(configSplitKNum, CUBLASLT_ALGO_CONFIG_SPLITK_NUM)
SAME(configReductionScheme, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME)
SAME(configCtaSwizzling, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING)
SAME(configCustomOption, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION)
SAME(configStagesId, CUBLASLT_ALGO_CONFIG_STAGES_ID)
SAME(configInnerShapeId, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID)
SAME(configClusterShapeId, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID)

SAME(sizeof(Algo), sizeof(cublasLtMatmulAlgo_t))
SAME(sizeof(HeuristicResult), sizeof(cublasLtMatmulHeuristicResult_t))
SAME(offsetof(HeuristicResult, workspaceSize),
     offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize))
SAME(offsetof(HeuristicResult, state), offsetof(cublasLtMatmulHeuristicResult_t, state))
SAME(offsetof(HeuristicResult, wavesCount), offsetof(cublasLtMatmulHeuristicResult_t, wavesCount))
} // namespace standin::lt

namespace standin::nccl {
STANDIN_NCCL_FUNCTIONS(COMPARE)

SAME(version, NCCL_VERSION_CODE)
SAME(success, ncclSuccess)
SAME(unhandledCudaError, ncclUnhandledCudaError)
SAME(systemError, ncclSystemError)
SAME(internalError, ncclInternalError)
SAME(invalidArgument, ncclInvalidArgument)
SAME(invalidUsage, ncclInvalidUsage)
SAME(remoteError, ncclRemoteError)
SAME(inProgress, ncclInProgress)
SAME(int8, ncclInt8)
SAME(uint8, ncclUint8)
SAME(int32, ncclInt32)
SAME(uint32, ncclUint32)
SAME(int64, ncclInt64)
SAME(uint64, ncclUint64)
SAME(float16, ncclFloat16)
SAME(float32, ncclFloat32)
SAME(float64, ncclFloat64)
SAME(bfloat16, ncclBfloat16)
SAME(sum, ncclSum)
SAME(prod, ncclProd)
SAME(max, ncclMax)
SAME(min, ncclMin)
SAME(avg, ncclAvg)
SAME(reductions, ncclNumOps)
SAME(undefined, NCCL_CONFIG_UNDEF_INT)
SAME(noColor, NCCL_SPLIT_NOCOLOR)
SAME(sizeof(UniqueId), sizeof(ncclUniqueId))

SAME(sizeof(Config), sizeof(ncclConfig_t))
#define SAME_FIELD(FIELD) SAME(offsetof(Config, FIELD), offsetof(ncclConfig_t, FIELD))
SAME_FIELD(magic)
SAME_FIELD(version)
SAME_FIELD(blocking)
SAME_FIELD(cgaClusterSize)
SAME_FIELD(minCTAs)
SAME_FIELD(maxCTAs)
SAME_FIELD(netName)
SAME_FIELD(splitShare)
SAME_FIELD(trafficClass)
SAME_FIELD(commName)
SAME_FIELD(collnetEnable)
SAME_FIELD(CTAPolicy)
SAME_FIELD(shrinkShare)
SAME_FIELD(nvlsCTAs)
SAME_FIELD(nChannelsPerNetPeer)
SAME_FIELD(nvlinkCentricSched)
constexpr ncclConfig_t initializer = NCCL_CONFIG_INITIALIZER;
SAME(initializer.magic, configMagic)
SAME(initializer.size, sizeof(Config))
SAME(initializer.version, Config().version)
SAME(initializer.blocking, Config().blocking)
} // namespace standin::nccl
