//===- cudnn_library.h - cuDNN, loaded at run time --------------------------===//
//
// Functions, handles and numbers as cudnn_graph.h of cuDNN 9 has them: of its backend, through
// which graphs of operations are described, and what they are executed with.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_LIBRARIES_CUDNN_LIBRARY_H
#define TPLAN_RUNTIME_LIBRARIES_CUDNN_LIBRARY_H

#include "runtime/libraries/cuda_driver.h"
#include "runtime/support/status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tplan::runtime {

namespace cudnn {
using Result = int;
struct Handle;
using DescriptorHandle = void *;

enum : int { float32 = 0, float16 = 2, int32 = 4, bfloat16 = 9, boolean = 11 }; // cudnnDataType_t

/// cudnnPointwiseMode_t
enum : int {
  pointwiseAdd = 0,
  pointwiseMul = 1,
  pointwiseDiv = 6,
  pointwiseSub = 9,
  pointwiseExp = 13,
  pointwiseLog = 15,
  pointwiseGreater = 302,
  pointwiseGreaterEqual = 303,
  pointwiseIndex = 501,
  pointwiseSelect = 601
};

enum : int { reduceAdd = 0, reduceMax = 3 };             // cudnnReduceTensorOp_t
enum : int { heuristicFallback = 2, heuristicA = 3 };    // cudnnBackendHeurMode_t
enum : int { noteNondeterministic = 4, mostNotes = 32 }; // cudnnBackendNumericalNote_t

/// cudnnBackendAttributeType_t
enum : int {
  typeHandle = 0,
  typeDataType = 1,
  typeBoolean = 2,
  typeInt64 = 3,
  typeVoidPointer = 6,
  typeHeuristicMode = 8,
  typeNumericalNote = 11,
  typePointwiseMode = 14,
  typeDescriptor = 15,
  typeReduction = 18,
  typeChar = 24
};

/// cudnnBackendDescriptorType_t
enum : int {
  pointwiseDescriptor = 0,
  engineDescriptor = 2,
  engineConfigDescriptor = 3,
  heuristicDescriptor = 4,
  planDescriptor = 5,
  pointwiseOperation = 13,
  graphDescriptor = 15,
  variantPackDescriptor = 16,
  tensorDescriptor = 17,
  matmulDescriptor = 18,
  matmulOperation = 19,
  reductionDescriptor = 21,
  reductionOperation = 22,
  reshapeOperation = 31,
  devicePropertiesDescriptor = 38
};

/// cudnnBackendAttributeName_t
enum : int {
  pointwiseMode = 0,
  pointwisePrecision = 1,
  pointwiseAxis = 9,
  heuristicMode = 200,
  heuristicGraph = 201,
  heuristicResults = 202,
  heuristicDeviceProperties = 204,
  engineConfigEngine = 300,
  planHandle = 400,
  planEngineConfig = 401,
  planWorkspaceBytes = 402,
  planDeviceProperties = 407,
  pointwiseOperationPointwise = 750,
  pointwiseOperationX = 751,
  pointwiseOperationB = 752,
  pointwiseOperationY = 753,
  pointwiseOperationT = 758,
  graphHandle = 800,
  graphOperations = 801,
  tensorAlignment = 900,
  tensorDataType = 901,
  tensorDimensions = 902,
  tensorStrides = 903,
  tensorUniqueId = 906,
  tensorIsVirtual = 907,
  tensorIsByValue = 908,
  variantPackUniqueIds = 1000,
  variantPackPointers = 1001,
  variantPackWorkspace = 1003,
  engineNumericalNote = 1303,
  matmulPrecision = 1500,
  matmulOperationA = 1520,
  matmulOperationB = 1521,
  matmulOperationC = 1522,
  matmulOperationMatmul = 1523,
  reductionOperator = 1600,
  reductionPrecision = 1601,
  reductionOperationX = 1610,
  reductionOperationY = 1611,
  reductionOperationReduction = 1612,
  reshapeOperationX = 2200,
  reshapeOperationY = 2201,
  devicePropertiesJson = 2702
};
} // namespace cudnn

struct Cudnn {
#define TP_CUDNN_FUNCTIONS(FUNCTION)                                                               \
  FUNCTION(Create, cudnnCreate, (cudnn::Handle **))                                                \
  FUNCTION(Destroy, cudnnDestroy, (cudnn::Handle *))                                               \
  FUNCTION(SetStream, cudnnSetStream, (cudnn::Handle *, cuda::StreamHandle *))                     \
  FUNCTION(BackendCreateDescriptor, cudnnBackendCreateDescriptor,                                  \
           (int, cudnn::DescriptorHandle *))                                                       \
  FUNCTION(BackendDestroyDescriptor, cudnnBackendDestroyDescriptor, (cudnn::DescriptorHandle))     \
  FUNCTION(BackendSetAttribute, cudnnBackendSetAttribute,                                          \
           (cudnn::DescriptorHandle, int, int, int64_t, const void *))                             \
  FUNCTION(BackendGetAttribute, cudnnBackendGetAttribute,                                          \
           (cudnn::DescriptorHandle, int, int, int64_t, int64_t *, void *))                        \
  FUNCTION(BackendFinalize, cudnnBackendFinalize, (cudnn::DescriptorHandle))                       \
  FUNCTION(BackendExecute, cudnnBackendExecute,                                                    \
           (cudnn::Handle *, cudnn::DescriptorHandle, cudnn::DescriptorHandle))
#define TP_CUDNN_MEMBER(NAME, SYMBOL, ARGUMENTS) cudnn::Result(*NAME) ARGUMENTS = nullptr;
  TP_CUDNN_FUNCTIONS(TP_CUDNN_MEMBER)
#undef TP_CUDNN_MEMBER
  size_t (*GetVersion)(void) = nullptr; // 91900 is 9.19.0
  const char *(*GetErrorString)(cudnn::Result) = nullptr;
  void (*GetLastErrorString)(char *, size_t) = nullptr; // may be missing

  std::string version() const;
  /// The error of a call in the library's words; success for 0.
  Status check(cudnn::Result result, std::string_view what) const;
};

/// cuDNN as TPLAN_CUDNN names it, as the loader finds it, or as PyTorch brings it along.
Status loadCudnn(const Cudnn *&library);

/// Leaves the enclosing function unless a call of the library `dnn` succeeds.
#define TP_CUDNN(CALL) TP_TRY(dnn.check(dnn.CALL, #CALL))

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_LIBRARIES_CUDNN_LIBRARY_H
