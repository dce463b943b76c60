//===- cudnn_api.h - the interface of cuDNN 9, as far as the stand-in has it --------===//
//
// Values as cudnn_graph.h has them; headers-agree.cpp compares where it exists.
//
// Decision: numbers and functions are lists, so that one text declares and compares them.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_CUDNN_API_H
#define TPLAN_TEST_STANDIN_CUDNN_API_H

#include <cstddef>
#include <cstdint>

namespace standin::dnn {

constexpr size_t version = 91900;

// Our name; with CUDNN_ before it, theirs.
#define STANDIN_CUDNN_NUMBERS(NUMBER)                                                              \
  NUMBER(success, 0, STATUS_SUCCESS)                                                               \
  NUMBER(notInitialized, 1001, STATUS_NOT_INITIALIZED)                                             \
  NUMBER(badParam, 2000, STATUS_BAD_PARAM)                                                         \
  NUMBER(nullPointer, 2002, STATUS_BAD_PARAM_NULL_POINTER)                                         \
  NUMBER(misaligned, 2003, STATUS_BAD_PARAM_MISALIGNED_POINTER)                                    \
  NUMBER(notFinalized, 2004, STATUS_BAD_PARAM_NOT_FINALIZED)                                       \
  NUMBER(shapeMismatch, 2008, STATUS_BAD_PARAM_SHAPE_MISMATCH)                                     \
  NUMBER(duplicated, 2009, STATUS_BAD_PARAM_DUPLICATED_ENTRIES)                                    \
  NUMBER(attributeType, 2010, STATUS_BAD_PARAM_ATTRIBUTE_TYPE)                                     \
  NUMBER(notSupported, 3000, STATUS_NOT_SUPPORTED)                                                 \
  NUMBER(graphPattern, 3001, STATUS_NOT_SUPPORTED_GRAPH_PATTERN)                                   \
  NUMBER(executionFailed, 5000, STATUS_EXECUTION_FAILED)                                           \
  NUMBER(typeF32, 0, DATA_FLOAT)                                                                   \
  NUMBER(typeF16, 2, DATA_HALF)                                                                    \
  NUMBER(typeI32, 4, DATA_INT32)                                                                   \
  NUMBER(typeBf16, 9, DATA_BFLOAT16)                                                               \
  NUMBER(typeBool, 11, DATA_BOOLEAN)                                                               \
  NUMBER(pwAdd, 0, POINTWISE_ADD)                                                                  \
  NUMBER(pwMul, 1, POINTWISE_MUL)                                                                  \
  NUMBER(pwDiv, 6, POINTWISE_DIV)                                                                  \
  NUMBER(pwSub, 9, POINTWISE_SUB)                                                                  \
  NUMBER(pwExp, 13, POINTWISE_EXP)                                                                 \
  NUMBER(pwLog, 15, POINTWISE_LOG)                                                                 \
  NUMBER(pwIdentity, 21, POINTWISE_IDENTITY)                                                       \
  NUMBER(pwGreater, 302, POINTWISE_CMP_GT)                                                         \
  NUMBER(pwGreaterEqual, 303, POINTWISE_CMP_GE)                                                    \
  NUMBER(pwIndex, 501, POINTWISE_GEN_INDEX)                                                        \
  NUMBER(pwSelect, 601, POINTWISE_BINARY_SELECT)                                                   \
  NUMBER(reduceAdd, 0, REDUCE_TENSOR_ADD)                                                          \
  NUMBER(reduceMax, 3, REDUCE_TENSOR_MAX)                                                          \
  NUMBER(modeFallback, 2, HEUR_MODE_FALLBACK)                                                      \
  NUMBER(modeA, 3, HEUR_MODE_A)                                                                    \
  NUMBER(noteTensorCore, 0, NUMERICAL_NOTE_TENSOR_CORE)                                            \
  NUMBER(noteNondeterministic, 4, NUMERICAL_NOTE_NONDETERMINISTIC)                                 \
  NUMBER(isHandle, 0, TYPE_HANDLE)                                                                 \
  NUMBER(isDataType, 1, TYPE_DATA_TYPE)                                                            \
  NUMBER(isBoolean, 2, TYPE_BOOLEAN)                                                               \
  NUMBER(isInt64, 3, TYPE_INT64)                                                                   \
  NUMBER(isVoidPointer, 6, TYPE_VOID_PTR)                                                          \
  NUMBER(isHeuristicMode, 8, TYPE_HEUR_MODE)                                                       \
  NUMBER(isNumericalNote, 11, TYPE_NUMERICAL_NOTE)                                                 \
  NUMBER(isPointwiseMode, 14, TYPE_POINTWISE_MODE)                                                 \
  NUMBER(isDescriptor, 15, TYPE_BACKEND_DESCRIPTOR)                                                \
  NUMBER(isReduction, 18, TYPE_REDUCTION_OPERATOR_TYPE)                                            \
  NUMBER(kindPointwise, 0, BACKEND_POINTWISE_DESCRIPTOR)                                           \
  NUMBER(kindEngine, 2, BACKEND_ENGINE_DESCRIPTOR)                                                 \
  NUMBER(kindEngineConfig, 3, BACKEND_ENGINECFG_DESCRIPTOR)                                        \
  NUMBER(kindHeuristic, 4, BACKEND_ENGINEHEUR_DESCRIPTOR)                                          \
  NUMBER(kindPlan, 5, BACKEND_EXECUTION_PLAN_DESCRIPTOR)                                           \
  NUMBER(kindOperationPointwise, 13, BACKEND_OPERATION_POINTWISE_DESCRIPTOR)                       \
  NUMBER(kindGraph, 15, BACKEND_OPERATIONGRAPH_DESCRIPTOR)                                         \
  NUMBER(kindVariantPack, 16, BACKEND_VARIANT_PACK_DESCRIPTOR)                                     \
  NUMBER(kindTensor, 17, BACKEND_TENSOR_DESCRIPTOR)                                                \
  NUMBER(kindMatmul, 18, BACKEND_MATMUL_DESCRIPTOR)                                                \
  NUMBER(kindOperationMatmul, 19, BACKEND_OPERATION_MATMUL_DESCRIPTOR)                             \
  NUMBER(kindReduction, 21, BACKEND_REDUCTION_DESCRIPTOR)                                          \
  NUMBER(kindOperationReduction, 22, BACKEND_OPERATION_REDUCTION_DESCRIPTOR)                       \
  NUMBER(kindOperationReshape, 31, BACKEND_OPERATION_RESHAPE_DESCRIPTOR)                           \
  NUMBER(pointwiseMode, 0, ATTR_POINTWISE_MODE)                                                    \
  NUMBER(pointwisePrecision, 1, ATTR_POINTWISE_MATH_PREC)                                          \
  NUMBER(pointwiseAxis, 9, ATTR_POINTWISE_AXIS)                                                    \
  NUMBER(heuristicMode, 200, ATTR_ENGINEHEUR_MODE)                                                 \
  NUMBER(heuristicGraph, 201, ATTR_ENGINEHEUR_OPERATION_GRAPH)                                     \
  NUMBER(heuristicResults, 202, ATTR_ENGINEHEUR_RESULTS)                                           \
  NUMBER(configEngine, 300, ATTR_ENGINECFG_ENGINE)                                                 \
  NUMBER(planHandle, 400, ATTR_EXECUTION_PLAN_HANDLE)                                              \
  NUMBER(planConfig, 401, ATTR_EXECUTION_PLAN_ENGINE_CONFIG)                                       \
  NUMBER(planWorkspace, 402, ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)                                   \
  NUMBER(opPointwise, 750, ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)                                 \
  NUMBER(opPointwiseX, 751, ATTR_OPERATION_POINTWISE_XDESC)                                        \
  NUMBER(opPointwiseB, 752, ATTR_OPERATION_POINTWISE_BDESC)                                        \
  NUMBER(opPointwiseY, 753, ATTR_OPERATION_POINTWISE_YDESC)                                        \
  NUMBER(opPointwiseT, 758, ATTR_OPERATION_POINTWISE_TDESC)                                        \
  NUMBER(graphHandle, 800, ATTR_OPERATIONGRAPH_HANDLE)                                             \
  NUMBER(graphOperations, 801, ATTR_OPERATIONGRAPH_OPS)                                            \
  NUMBER(tensorAlignment, 900, ATTR_TENSOR_BYTE_ALIGNMENT)                                         \
  NUMBER(tensorType, 901, ATTR_TENSOR_DATA_TYPE)                                                   \
  NUMBER(tensorDims, 902, ATTR_TENSOR_DIMENSIONS)                                                  \
  NUMBER(tensorStrides, 903, ATTR_TENSOR_STRIDES)                                                  \
  NUMBER(tensorId, 906, ATTR_TENSOR_UNIQUE_ID)                                                     \
  NUMBER(tensorVirtual, 907, ATTR_TENSOR_IS_VIRTUAL)                                               \
  NUMBER(tensorByValue, 908, ATTR_TENSOR_IS_BY_VALUE)                                              \
  NUMBER(packIds, 1000, ATTR_VARIANT_PACK_UNIQUE_IDS)                                              \
  NUMBER(packPointers, 1001, ATTR_VARIANT_PACK_DATA_POINTERS)                                      \
  NUMBER(packWorkspace, 1003, ATTR_VARIANT_PACK_WORKSPACE)                                         \
  NUMBER(engineNote, 1303, ATTR_ENGINE_NUMERICAL_NOTE)                                             \
  NUMBER(matmulPrecision, 1500, ATTR_MATMUL_COMP_TYPE)                                             \
  NUMBER(opMatmulA, 1520, ATTR_OPERATION_MATMUL_ADESC)                                             \
  NUMBER(opMatmulB, 1521, ATTR_OPERATION_MATMUL_BDESC)                                             \
  NUMBER(opMatmulC, 1522, ATTR_OPERATION_MATMUL_CDESC)                                             \
  NUMBER(opMatmul, 1523, ATTR_OPERATION_MATMUL_DESC)                                               \
  NUMBER(reductionOperator, 1600, ATTR_REDUCTION_OPERATOR)                                         \
  NUMBER(reductionPrecision, 1601, ATTR_REDUCTION_COMP_TYPE)                                       \
  NUMBER(opReductionX, 1610, ATTR_OPERATION_REDUCTION_XDESC)                                       \
  NUMBER(opReductionY, 1611, ATTR_OPERATION_REDUCTION_YDESC)                                       \
  NUMBER(opReduction, 1612, ATTR_OPERATION_REDUCTION_DESC)                                         \
  NUMBER(opReshapeX, 2200, ATTR_OPERATION_RESHAPE_XDESC)                                           \
  NUMBER(opReshapeY, 2201, ATTR_OPERATION_RESHAPE_YDESC)

#define NUMBER(OURS, VALUE, THEIRS) constexpr int OURS = VALUE;
STANDIN_CUDNN_NUMBERS(NUMBER)
#undef NUMBER

struct Context;
using Handle = Context *;
using Raw = void *; // a descriptor

// Result, name, parameters.
#define STANDIN_CUDNN_FUNCTIONS(FUNCTION)                                                          \
  FUNCTION(size_t, cudnnGetVersion, ())                                                            \
  FUNCTION(const char *, cudnnGetErrorString, (int))                                               \
  FUNCTION(void, cudnnGetLastErrorString, (char *, size_t))                                        \
  FUNCTION(int, cudnnCreate, (Handle *))                                                           \
  FUNCTION(int, cudnnDestroy, (Handle))                                                            \
  FUNCTION(int, cudnnSetStream, (Handle, void *))                                                  \
  FUNCTION(int, cudnnBackendCreateDescriptor, (int, Raw *))                                        \
  FUNCTION(int, cudnnBackendDestroyDescriptor, (Raw))                                              \
  FUNCTION(int, cudnnBackendFinalize, (Raw))                                                       \
  FUNCTION(int, cudnnBackendSetAttribute, (Raw, int, int, int64_t, const void *))                  \
  FUNCTION(int, cudnnBackendGetAttribute, (Raw, int, int, int64_t, int64_t *, void *))             \
  FUNCTION(int, cudnnBackendExecute, (Handle, Raw, Raw))

} // namespace standin::dnn

#endif // TPLAN_TEST_STANDIN_CUDNN_API_H
