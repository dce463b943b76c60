//===- kernels-handwritten.h - loops to compare the emitted kernels with ---===//
//
// The same mathematics with intrinsics, one thread, order of additions free.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_BENCH_KERNELS_HANDWRITTEN_H
#define TPLAN_BENCH_KERNELS_HANDWRITTEN_H

#include <cstdint>

/// x [rows, cols] -> loss, lse [rows]; label in [0, cols).
struct Handwritten {
  void (*lossForward32)(const float *x, const int32_t *label, float *lse, float *loss, int64_t rows,
                        int64_t cols);
  void (*lossForward16)(const uint16_t *x, const int32_t *label, float *lse, float *loss,
                        int64_t rows, int64_t cols);
  /// d = (exp(x - lse) - [column is label]) * scale.
  void (*lossBackward32)(const float *x, const int32_t *label, const float *lse, float scale,
                         float *d, int64_t rows, int64_t cols);
  void (*lossBackward16)(const uint16_t *x, const int32_t *label, const float *lse, float scale,
                         uint16_t *d, int64_t rows, int64_t cols);
  /// x [rows, cols] -> y [cols, rows].
  void (*transpose32)(const float *x, float *y, int64_t rows, int64_t cols);
  void (*transpose16)(const uint16_t *x, uint16_t *y, int64_t rows, int64_t cols);
  const char *isa;
};

extern const Handwritten handwrittenAvx2, handwrittenAvx512;

#endif // TPLAN_BENCH_KERNELS_HANDWRITTEN_H
