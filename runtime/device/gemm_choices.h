//===- gemm_choices.h - which algorithm computes each GEMM ------------------===//
//
// A library of GEMMs has several algorithms for one product, and they add in different orders. So
// the choice is part of a run's state: it is saved with each checkpoint, and a run that reads it
// back computes the same bits.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DEVICE_GEMM_CHOICES_H
#define TPLAN_RUNTIME_DEVICE_GEMM_CHOICES_H

#include "runtime/support/status.h"
#include "tplan/runtime.h"

#include <array>
#include <map>
#include <string>

namespace tplan::runtime {

/// What a GEMM reads and writes. Without scales these are null, without a bias that is.
struct GemmOperands {
  const void *a = nullptr, *b = nullptr, *bias = nullptr;
  const float *aScale = nullptr, *bScale = nullptr;
  void *c = nullptr;
};
/// A GEMM as a program asks for it, the alignment of its operands in bytes, and its scales, 0 in
/// all fields where it has none.
struct GemmUse {
  tp_gemm gemm;
  int64_t alignment;
  tp_scales scales = {};

  bool isScaled() const { return scales.panel != 0; }
};
/// The alignment of memory in the arena, at least where a value begins.
inline constexpr int64_t usualAlignment = 64;
/// The largest power of two, up to the usual one, that all of some addresses are multiples of;
/// `bits` has the bits of all of them.
inline int64_t alignmentOf(uint64_t bits) {
  bits |= usualAlignment;
  return (int64_t)(bits & -bits);
}

/// All that decides which algorithms a library has for a GEMM, in the order of a file's columns.
#define TP_GEMM_COLUMNS(COLUMN)                                                                    \
  COLUMN(m)                                                                                        \
  COLUMN(n)                                                                                        \
  COLUMN(k)                                                                                        \
  COLUMN(lda)                                                                                      \
  COLUMN(ldb)                                                                                      \
  COLUMN(ldc)                                                                                      \
  COLUMN(batch)                                                                                    \
  COLUMN(stride_a)                                                                                 \
  COLUMN(stride_b)                                                                                 \
  COLUMN(stride_c)                                                                                 \
  COLUMN(trans_a)                                                                                  \
  COLUMN(trans_b)                                                                                  \
  COLUMN(accumulate)                                                                               \
  COLUMN(in)                                                                                       \
  COLUMN(out)                                                                                      \
  COLUMN(tf32)                                                                                     \
  COLUMN(bias)
#define TP_SCALE_COLUMNS(COLUMN)                                                                   \
  COLUMN(type_b)                                                                                   \
  COLUMN(mode_a)                                                                                   \
  COLUMN(mode_b)                                                                                   \
  COLUMN(fast_accumulation)                                                                        \
  COLUMN(folded)                                                                                   \
  COLUMN(panel)
#define TP_GEMM_COUNT(NAME) +1
/// The columns, and the alignment.
using GemmKey =
    std::array<int64_t, TP_GEMM_COLUMNS(TP_GEMM_COUNT) + TP_SCALE_COLUMNS(TP_GEMM_COUNT) + 1>;
#undef TP_GEMM_COUNT
/// The whole product that one is a part of, or itself.
GemmUse wholeOf(const GemmUse &use);
/// The key of the whole product: all parts of it have one algorithm.
GemmKey keyOf(const GemmUse &use);
GemmUse useOf(const GemmKey &key);

/// An algorithm, as its library writes it down.
using GemmAlgorithm = std::array<uint64_t, 8>;

struct GemmChoices {
  std::string madeBy; // the library with its version, and the GPU: nothing else reads them
  std::map<GemmKey, GemmAlgorithm> chosen;

  std::string text() const;
  /// Errors name `path`, what to do, the line and what stands there.
  Status parse(const std::string &text, const std::string &path, const char *wayOut);
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DEVICE_GEMM_CHOICES_H
