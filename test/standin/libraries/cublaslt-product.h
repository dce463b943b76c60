//===- cublaslt-product.h - a call of cublasLtMatmul that works ---------------------===//
#ifndef TPLAN_TEST_STANDIN_CUBLASLT_PRODUCT_H
#define TPLAN_TEST_STANDIN_CUBLASLT_PRODUCT_H

#include "cublaslt_api.h"
#include "fake-driver.h"
#include "numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#define DECLARE(RESULT, NAME, ARGUMENTS) extern "C" RESULT NAME ARGUMENTS;
namespace standin::lt {
STANDIN_LT_FUNCTIONS(DECLARE)
}
#undef DECLARE

namespace standin::lt {

inline bool isEight(int type) { return type == typeE4M3 || type == typeE5M2; }
inline size_t bytesOf(int type) {
  return type == typeF64 ? 8 : type == typeF32 ? 4 : isEight(type) ? 1 : 2;
}

inline double get(int type, const void *base, int64_t at) {
  switch (type) {
  case typeF64:
    return ((const double *)base)[at];
  case typeF32:
    return ((const float *)base)[at];
  case typeF16:
    return (float)((const Half *)base)[at];
  case typeE4M3:
    return (float)((const E4M3 *)base)[at];
  case typeE5M2:
    return (float)((const E5M2 *)base)[at];
  default:
    return (float)((const Brain *)base)[at];
  }
}
inline void put(int type, void *base, int64_t at, double value) {
  if (type == typeF64)
    ((double *)base)[at] = value;
  else if (type == typeF32)
    ((float *)base)[at] = (float)value;
  else if (type == typeF16)
    ((Half *)base)[at] = (Half)(float)value;
  else if (isEight(type)) // any code that is a number, by the value's bits
    ((uint8_t *)base)[at] =
        (std::bit_cast<uint64_t>(value) >> 20 & 0x7F) % 0x7B | (value < 0 ? 0x80 : 0);
  else
    ((Brain *)base)[at] = Brain((float)value);
}

struct Matrix {
  int type = typeF32, order = orderCol;
  int64_t rows = 0, cols = 0, ld = 0;
  int batch = 1;
  int64_t stride = 0;
  void *data = nullptr;

  int64_t at(int64_t i, int64_t j, int b = 0) const {
    return b * stride + (order == orderCol ? i + j * ld : i * ld + j);
  }
  double get(int64_t i, int64_t j, int b = 0) const {
    return standin::lt::get(type, fake::host(data), at(i, j, b));
  }
  int64_t elements() const { return stride * (batch - 1) + ld * (order == orderCol ? cols : rows); }
};

/// A call that works; tests change one thing of it.
struct Product {
  int compute = compute32F, scale = typeF32, ab = typeF32, cd = typeF32;
  int typeB = -1;                         // if it is not that of A
  int modeA = scaleScalar, modeB = modeA; // of scales, for operands in f8
  int8_t isFast = 0;
  int transA = opN, transB = opN, orderA = orderCol, orderB = orderCol, orderD = orderCol;
  int64_t m = 20, n = 30, k = 50, pad = 3;
  int batch = 1;
  uint32_t epilogue = epilogueDefault;
  double alpha = 1, beta = 0;
  uint64_t budget = 1 << 20;
  uint32_t alignment[4] = {256, 256, 256, 256};
  int choice = 0; // of the heuristic's results

  Matrix a, b, c, d;
  Handle handle = nullptr;
  Desc *desc = nullptr;
  Layout *la = nullptr, *lb = nullptr, *lc = nullptr, *ld = nullptr;
  Preference *preference = nullptr;
  HeuristicResult results[4] = {};
  int found = 0;
  Algo algo = {};
  void *bias = nullptr, *aux = nullptr, *workspace = nullptr, *scaleA = nullptr, *scaleB = nullptr;
  size_t workspaceBytes = 1 << 20;
  fake::Stream stream;

  Matrix matrix(int type, int64_t rows, int64_t cols, int order, std::mt19937 &random) {
    Matrix it{type, order, rows, cols, (order == orderCol ? rows : cols) + pad, batch};
    it.stride = batch > 1 ? it.ld * (order == orderCol ? cols : rows) + 5 : 0;
    it.data = fake::allocate(it.elements() * bytesOf(type));
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < it.elements(); ++i)
      put(type, fake::host(it.data), i, normal(random));
    return it;
  }
  static Layout *layout(const Matrix &it) {
    Layout *layout = nullptr;
    EXPECT_EQ(cublasLtMatrixLayoutCreate(&layout, it.type, it.rows, it.cols, it.ld), success);
    set(layout, layoutOrder, (int32_t)it.order);
    set(layout, layoutBatchCount, (int32_t)it.batch);
    set(layout, layoutBatchOffset, (int64_t)it.stride);
    return layout;
  }
  template <typename T> static void set(Layout *layout, int id, T value) {
    EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(layout, id, &value, sizeof value), success);
  }
  template <typename T> int set(int id, T value) {
    return cublasLtMatmulDescSetAttribute(desc, id, &value, sizeof value);
  }
  template <typename T> int prefer(int id, T value) {
    return cublasLtMatmulPreferenceSetAttribute(preference, id, &value, sizeof value);
  }

  void create() {
    std::mt19937 random(7);
    a = matrix(ab, transA ? k : m, transA ? m : k, orderA, random);
    b = matrix(typeB < 0 ? ab : typeB, transB ? n : k, transB ? k : n, orderB, random);
    c = matrix(cd, m, n, orderD, random);
    d = matrix(cd, m, n, orderD, random);
    bias = fake::allocate(std::max(m, n) * batch * bytesOf(cd));
    aux = fake::allocate(auxLd() * n * batch * bytesOf(cd));
    for (int64_t i = 0; i < std::max(m, n) * batch; ++i)
      put(cd, fake::host(bias), i, 0.25 * (i % 13) - 1);
    workspace = fake::allocate(workspaceBytes);
    ASSERT_EQ(cublasLtCreate(&handle), success);
    ASSERT_EQ(cublasLtMatmulDescCreate(&desc, compute, scale), success);
    set(descTransA, (int32_t)transA), set(descTransB, (int32_t)transB);
    set(descEpilogue, epilogue);
    set(descBiasPointer, bias), set(descBiasBatchStride, batch > 1 ? std::max(m, n) : 0l);
    set(descAuxPointer, aux), set(descAuxLd, auxLd());
    set(descAuxBatchStride, batch > 1 ? auxLd() * n : 0l);
    if (isEight(ab)) {
      scaleA = scales(m), scaleB = scales(n);
      set(descAScalePointer, scaleA), set(descBScalePointer, scaleB);
      set(descAScaleMode, (int32_t)modeA), set(descBScaleMode, (int32_t)modeB),
          set(descFastAccum, isFast);
    }
    la = layout(a), lb = layout(b), lc = layout(c), ld = layout(d);
    ASSERT_EQ(cublasLtMatmulPreferenceCreate(&preference), success);
    prefer(preferMaxWorkspaceBytes, budget);
    for (int i = 0; i < 4; ++i)
      prefer(preferMinAlignmentA + i, alignment[i]);
  }
  /// More than any mode has.
  int64_t scalesOf(int64_t rows) const { return (rows + 128) * (k / 128 + 4); }
  void *scales(int64_t rows) const {
    void *memory = fake::allocate(4 * scalesOf(rows));
    for (int64_t i = 0; i < scalesOf(rows); ++i)
      fake::hostAs<float>(memory)[i] = std::ldexp(1 + i % 7 / 8.f, i % 11 - 5);
    return memory;
  }
  /// As the library's documentation says where a scale lies.
  float scaleAt(void *memory, int mode, int64_t rows, int64_t row, int64_t p) const {
    int64_t panels = (k + 127) / 128, line = (panels + 3) / 4 * 4;
    int64_t at = mode == scaleScalar     ? 0
                 : mode == scaleOuterVec ? row
                 : mode == scaleVec128   ? p / 128 * rows + row
                                         : row / 128 * line + p / 128;
    return fake::hostAs<float>(memory)[at];
  }
  int64_t auxLd() const { return (m + 7) / 8 * 8; }

  int find() {
    int status = cublasLtMatmulAlgoGetHeuristic(handle, desc, la, lb, lc, ld, preference, 4,
                                                results, &found);
    algo = results[choice].algo;
    return status;
  }
  int multiply() {
    float alphaF = (float)alpha, betaF = (float)beta;
    bool isDouble = scale == typeF64;
    int status = cublasLtMatmul(handle, desc, isDouble ? (void *)&alpha : &alphaF, a.data, la,
                                b.data, lb, isDouble ? (void *)&beta : &betaF, c.data, lc, d.data,
                                ld, &algo, workspace, workspaceBytes, &stream);
    stream.synchronize();
    return status;
  }
  void run() {
    create();
    ASSERT_EQ(find(), success);
    ASSERT_EQ(multiply(), success);
  }
  std::vector<char> bits() const {
    auto *host = fake::hostAs<char>(d.data);
    return {host, host + d.elements() * bytesOf(cd)};
  }

  ~Product() {
    for (void *memory : {a.data, b.data, c.data, d.data, bias, aux, workspace, scaleA, scaleB})
      if (memory)
        fake::release(memory);
    cublasLtMatmulPreferenceDestroy(preference);
    for (Layout *layout : {la, lb, lc, ld})
      cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(desc);
    if (handle)
      cublasLtDestroy(handle);
  }

  double opA(int64_t i, int64_t p, int b) const { return transA ? a.get(p, i, b) : a.get(i, p, b); }
  double opB(int64_t p, int64_t j, int at) const {
    return transB ? b.get(j, p, at) : b.get(p, j, at);
  }
  /// As the README of an algorithm would say it, in the type T of the sum.
  template <typename T> T sum(int64_t i, int64_t j, int b, int64_t begin, int64_t end) const {
    T sum = 0;
    for (int64_t p = begin; p < end; ++p) {
      T x = (T)opA(i, p, b), y = (T)opB(p, j, b);
      if (compute == compute32FFastTf32)
        x = tf32((float)x), y = tf32((float)y);
      sum = std::fma(x, y, sum);
    }
    return sum;
  }
  template <typename T> T expected(int64_t i, int64_t j, int b, T sum) const {
    T value = (T)alpha * sum;
    return beta != 0 ? std::fma((T)beta, (T)c.get(i, j, b), value) : value;
  }
  template <typename T> void checkExactly() const {
    T rounded[1];
    for (int at = 0; at < batch; ++at)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          put(cd, rounded, 0, expected(i, j, at, sum<T>(i, j, at, 0, k)));
          ASSERT_EQ(d.get(i, j, at), get(cd, rounded, 0)) << i << " " << j << " of " << at;
        }
  }
};

} // namespace standin::lt

#endif // TPLAN_TEST_STANDIN_CUBLASLT_PRODUCT_H
