//===- narrow.h - types of 8 and 16 bits that are computed in f32 ----------===//
//
// One list, from which loops over elements, readers of files, sums and GEMMs are made. A type of it
// has bits of its own (bf16.h, f16.h, f8.h): a C++ type T, and a specialisation of NarrowBits<T>.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_SUPPORT_NARROW_H
#define TPLAN_RUNTIME_SUPPORT_NARROW_H

#include "runtime/support/bf16.h"
#include "runtime/support/f16.h"
#include "runtime/support/f8.h"
#include "runtime/support/types.h"

/* Those that sums and GEMMs have without a scale. */
#define TP_SUMMED_TYPES(TYPE)                                                                      \
  TYPE(TP_BF16, bf16)                                                                              \
  TYPE(TP_F16, f16)

/* Those that GEMMs multiply with scales: their products are exact in f32, and so are they in bf16.
 */
#define TP_SCALED_TYPES(TYPE)                                                                      \
  TYPE(TP_F8E4M3, f8e4m3)                                                                          \
  TYPE(TP_F8E5M2, f8e5m2)

#define TP_NARROW_TYPES(TYPE)                                                                      \
  TP_SUMMED_TYPES(TYPE)                                                                            \
  TP_SCALED_TYPES(TYPE)

namespace tplan::runtime {

/// Whether it is one of them.
inline bool isNarrow(int32_t type) {
#define TYPE(ID, T) type == ID ||
  return TP_NARROW_TYPES(TYPE) false;
#undef TYPE
}

inline bool isScaled(int32_t type) {
#define TYPE(ID, T) type == ID ||
  return TP_SCALED_TYPES(TYPE) false;
#undef TYPE
}

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_SUPPORT_NARROW_H
