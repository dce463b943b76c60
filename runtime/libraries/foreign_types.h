//===- foreign_types.h - what others call our element types ----------------===//
//
// One row for each tp_type. A type that is added to TP_TYPES does not compile before it has its
// row; where a library lacks the type, its use is an error.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_LIBRARIES_FOREIGN_TYPES_H
#define TPLAN_RUNTIME_LIBRARIES_FOREIGN_TYPES_H

#include "runtime/libraries/cublaslt_library.h"
#include "runtime/libraries/cudnn_library.h"
#include "runtime/libraries/nccl_library.h"
#include "runtime/support/types.h"

namespace tplan::runtime {

struct ForeignType {
  int cublaslt, cudnn, nccl; // for matrices, for arrays, for sums; noCode: it has none
  const char *safetensors;   // in headers of files
  const char *config;        // in config.json of transformers; null: it has no name for it
};
inline constexpr int noCode = -1;

namespace foreign {
inline constexpr ForeignType
    // type     cuBLASLt        cuDNN            NCCL            safetensors  config.json
    of_TP_F64 = {cublaslt::r64F, noCode, nccl::float64, "F64", "float64"},
    of_TP_F32 = {cublaslt::r32F, cudnn::float32, nccl::float32, "F32", "float32"},
    of_TP_BF16 = {cublaslt::r16BF, cudnn::bfloat16, nccl::bfloat16, "BF16", "bfloat16"},
    of_TP_F16 = {cublaslt::r16F, cudnn::float16, nccl::float16, "F16", "float16"},
    of_TP_I32 = {noCode, cudnn::int32, nccl::int32, "I32", nullptr},
    of_TP_I64 = {noCode, noCode, nccl::int64, "I64", nullptr},
    of_TP_I1 = {noCode, noCode, noCode, "BOOL", nullptr},
    of_TP_I8 = {noCode, noCode, noCode, "I8", nullptr},
    of_TP_F8E4M3 = {cublaslt::r8FE4M3, noCode, noCode, "F8_E4M3", "float8_e4m3fn"},
    of_TP_F8E5M2 = {cublaslt::r8FE5M2, noCode, noCode, "F8_E5M2", "float8_e5m2"};
} // namespace foreign

inline constexpr ForeignType foreignTypes[TP_NUM_TYPES] = {
#define TYPE(ID, NAME, BYTES) foreign::of_##ID,
    TP_TYPES(TYPE)
#undef TYPE
};

/// The row of a type; for a number that is no type, a row of noCode and null.
inline const ForeignType &foreignType(int32_t type) {
  static constexpr ForeignType none = {noCode, noCode, noCode, nullptr, nullptr};
  return isType(type) ? foreignTypes[type] : none;
}

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_LIBRARIES_FOREIGN_TYPES_H
