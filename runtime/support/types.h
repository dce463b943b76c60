//===- types.h - what the runtime knows of element types ------------------===//
#ifndef TPLAN_RUNTIME_SUPPORT_TYPES_H
#define TPLAN_RUNTIME_SUPPORT_TYPES_H

#include "tplan/runtime.h"

namespace tplan::runtime {

struct TypeFacts {
  const char *name;
  int64_t bytes;
};
inline constexpr TypeFacts typeFacts[] = {
#define TYPE(ID, NAME, BYTES) {NAME, BYTES},
    TP_TYPES(TYPE)
#undef TYPE
};

/// Whether the number is a tp_type.
inline bool isType(int32_t type) { return type >= 0 && type < TP_NUM_TYPES; }
/// Bytes of one element of a type that has been checked.
inline int64_t bytesOf(int32_t type) { return typeFacts[type].bytes; }
/// "f32", "bf16", ...
inline const char *nameOf(int32_t type) { return isType(type) ? typeFacts[type].name : "unknown"; }

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_SUPPORT_TYPES_H
