//===- cublaslt_gemm.cpp - the arithmetic of the stand-in for cuBLASLt -----------===//
//
// Tiles of D are summed in panels that are packed as the type of the sum.
//
// Decision: each element is one chain of fma over ascending k, whatever the tiles, so that
// bits depend on the method alone; only the width of vectors depends on the CPU.
//
//===----------------------------------------------------------------------===//

#include "cublaslt_gemm.h"

#include "libraries.h"
#include "numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>

using namespace standin;
using namespace standin::lt;

#define INLINE __attribute__((always_inline)) inline
// It uses no more of the CPU than the CPU has.
#define FOR_EACH_CPU __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))

namespace {

/// It looks once, as the library does.
const bool isTf32Forced = setting("NVIDIA_TF32_OVERRIDE", 0) == 1;

constexpr int64_t tileM = 128, tileN = 96, depth = 256;
constexpr int width = 6; // columns of D in registers
template <typename T> constexpr int lanes = 64 / sizeof(T);

/// op(A) or op(B)^T: element (i, p) is at i * step + p * stepK.
struct Source {
  const char *base;
  int64_t step, stepK;
};

template <typename T, typename In, bool isTf32> INLINE T load(const char *base, int64_t at) {
  In value;
  memcpy(&value, base + at * sizeof(In), sizeof value);
  if constexpr (isTf32)
    return tf32((float)value);
  else
    return (T)(std::conditional_t<sizeof(In) <= 2, float, T>)value;
}

/// Rows [i0, i0 + count) in panels of `across` rows, k by k; zeros after the last row.
template <typename T, typename In, bool isTf32 = false>
INLINE void packAs(const Source &from, int64_t i0, int64_t count, int64_t p0, int64_t ks,
                   int64_t across, T *to) {
  for (int64_t i = 0; i < count; i += across, to += across * ks) {
    int64_t rows = std::min(across, count - i);
    for (int64_t p = 0; p < ks; ++p) {
      int64_t at = (i0 + i) * from.step + (p0 + p) * from.stepK;
      for (int64_t r = 0; r < rows; ++r)
        to[p * across + r] = load<T, In, isTf32>(from.base, at + r * from.step);
      std::fill(to + p * across + rows, to + (p + 1) * across, T(0));
    }
  }
}

FOR_EACH_CPU void pack(int type, bool isTf32, const Source &from, int64_t i0, int64_t count,
                       int64_t p0, int64_t ks, int64_t across, float *to) {
  if (type == typeF16)
    packAs<float, Half>(from, i0, count, p0, ks, across, to);
  else if (type == typeBf16)
    packAs<float, Brain>(from, i0, count, p0, ks, across, to);
  else if (type == typeE4M3)
    packAs<float, E4M3>(from, i0, count, p0, ks, across, to);
  else if (type == typeE5M2)
    packAs<float, E5M2>(from, i0, count, p0, ks, across, to);
  else if (isTf32)
    packAs<float, float, true>(from, i0, count, p0, ks, across, to);
  else
    packAs<float, float>(from, i0, count, p0, ks, across, to);
}

FOR_EACH_CPU void pack(int, bool, const Source &from, int64_t i0, int64_t count, int64_t p0,
                       int64_t ks, int64_t across, double *to) {
  packAs<double, double>(from, i0, count, p0, ks, across, to);
}

/// sums += panel of A times panel of B.
template <typename T> INLINE void panel(const T *a, const T *b, int64_t ks, T *sums, int64_t ld) {
  typedef T Vector __attribute__((vector_size(64)));
  Vector sum[width];
  for (int j = 0; j < width; ++j)
    memcpy(&sum[j], sums + j * ld, sizeof(Vector));
  for (int64_t p = 0; p < ks; ++p) {
    Vector x;
    memcpy(&x, a + p * lanes<T>, sizeof x);
    for (int j = 0; j < width; ++j) {
      Vector y = Vector{} + b[p * width + j];
      sum[j] = __builtin_elementwise_fma(x, y, sum[j]);
    }
  }
  for (int j = 0; j < width; ++j)
    memcpy(sums + j * ld, &sum[j], sizeof(Vector));
}

template <typename T>
INLINE void panels(const T *a, int64_t ms, const T *b, int64_t ns, int64_t ks, T *sums) {
  for (int64_t j = 0; j < ns; j += width)
    for (int64_t i = 0; i < ms; i += lanes<T>)
      panel(a + i * ks, b + j * ks, ks, sums + j * tileM + i, tileM);
}
FOR_EACH_CPU void addPanels(const float *a, int64_t ms, const float *b, int64_t ns, int64_t ks,
                            float *sums) {
  panels(a, ms, b, ns, ks, sums);
}
FOR_EACH_CPU void addPanels(const double *a, int64_t ms, const double *b, int64_t ns, int64_t ks,
                            double *sums) {
  panels(a, ms, b, ns, ks, sums);
}

double read(const char *base, int type, int64_t at) {
  switch (type) {
  case typeF64:
    return load<double, double, false>(base, at);
  case typeF32:
    return load<float, float, false>(base, at);
  case typeF16:
    return load<float, Half, false>(base, at);
  case typeBf16:
    return load<float, Brain, false>(base, at);
  default:
    abort(); // checks of the problem refuse it
  }
}

template <typename Out> void store(char *base, int64_t at, Out value) {
  memcpy(base + at * sizeof value, &value, sizeof value);
}
void write(char *base, int type, int64_t at, double value) {
  switch (type) {
  case typeF64:
    return store(base, at, value);
  case typeF32:
    return store(base, at, (float)value);
  case typeF16:
    return store(base, at, (Half)(float)value);
  case typeBf16:
    return store(base, at, Brain((float)value));
  default:
    abort();
  }
}

// The library's GELU is the one with tanh.
template <typename T> T tanhOfGelu(T x) {
  return std::tanh(T(0.7978845608028654) * (x + T(0.044715) * x * x * x));
}
template <typename T> T gelu(T x) { return T(0.5) * x * (T(1) + tanhOfGelu(x)); }
template <typename T> T slopeOfGelu(T x) {
  T t = tanhOfGelu(x);
  T inner = T(0.7978845608028654) * (T(1) + T(3 * 0.044715) * x * x);
  return T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * inner;
}

/// One problem of the batch.
template <typename T> class Multiplication {
public:
  Multiplication(Method method, const Problem &problem, T alpha, T beta, const Operands &at)
      : method(method), it(problem), alpha(alpha), beta(beta), at(at),
        packedA(new T[tileM * depth]), packedB(new T[tileN * depth]), sums(new T[tileM * tileN]) {
    a = sourceOf(it.a, at.a, it.transA);
    b = sourceOf(it.b, at.b, !it.transB);
  }

  void run() {
    if (it.epilogue == epilogueDgeluBgrad)
      gradient.reset(new T[it.m]());
    for (int64_t j = 0; j < it.n; j += tileN)
      for (int64_t i = 0; i < it.m; i += tileM)
        tile(i, std::min(tileM, it.m - i), j, std::min(tileN, it.n - j));
    if (gradient)
      for (int64_t i = 0; i < it.m; ++i)
        write(at.bias, it.biasType, i, gradient[i]);
    if (it.epilogue == epilogueBgradA)
      sumOverK(a, it.a.type, it.m);
    if (it.epilogue == epilogueBgradB)
      sumOverK(b, it.b.type, it.n);
  }

private:
  static Source sourceOf(const Layout &layout, const char *base, bool trans) {
    bool rowsAreClose = (layout.order == orderCol) != trans;
    return {base, rowsAreClose ? 1 : layout.ld, rowsAreClose ? layout.ld : 1};
  }

  void tile(int64_t i, int64_t ms, int64_t j, int64_t ns) {
    if (it.panel() < it.k) {
      std::unique_ptr<T[]> total(new T[tileM * tileN]());
      for (int64_t p = 0; p < it.k; p += it.panel()) {
        sum(i, ms, j, ns, p, std::min(p + it.panel(), it.k));
        for (int64_t c = 0; c < ns; ++c)
          for (int64_t r = 0; r < ms; ++r) {
            T &here = total[c * tileM + r];
            here = std::fma(sums[c * tileM + r], scale(i + r, j + c, p / it.panel()), here);
          }
      }
      sums.swap(total);
    } else if (method == ascending) {
      sum(i, ms, j, ns, 0, it.k);
    } else if (isInHalves(method)) {
      int64_t middle = it.k / 2;
      sum(i, ms, j, ns, 0, middle);
      keep(0, i, ms, j, ns);
      sum(i, ms, j, ns, middle, it.k);
      keep(1, i, ms, j, ns);
      addKept(0, i, ms, j, ns);
    } else {
      sum(i, ms, j, ns, 0, std::min(blockOfK, it.k));
      for (int64_t p = blockOfK; p < it.k; p += blockOfK) {
        keep(0, i, ms, j, ns);
        sum(i, ms, j, ns, p, std::min(p + blockOfK, it.k));
        addKept(0, i, ms, j, ns);
      }
    }
    finish(i, ms, j, ns);
  }

  void sum(int64_t i, int64_t ms, int64_t j, int64_t ns, int64_t begin, int64_t end) {
    std::fill_n(sums.get(), tileM * tileN, T(0));
    bool isTf32 = it.compute == compute32FFastTf32 || isTf32Forced;
    for (int64_t p = begin; p < end; p += depth) {
      int64_t ks = std::min(depth, end - p);
      pack(it.a.type, isTf32, a, i, ms, p, ks, lanes<T>, packedA.get());
      pack(it.b.type, isTf32, b, j, ns, p, ks, width, packedB.get());
      addPanels(packedA.get(), ms, packedB.get(), ns, ks, sums.get());
    }
  }

  T *kept(int part, int64_t i, int64_t j) {
    return (T *)at.workspace + (part * it.n + j) * it.m + i;
  }
  void keep(int part, int64_t i, int64_t ms, int64_t j, int64_t ns) {
    for (int64_t c = 0; c < ns; ++c)
      for (int64_t r = 0; r < ms; ++r) {
        T &sum = sums[c * tileM + r];
        if (method == rounded) {
          char number[8];
          write(number, it.d.type, 0, sum);
          sum = (T)read(number, it.d.type, 0);
        }
        kept(part, i, j + c)[r] = sum;
      }
  }
  void addKept(int part, int64_t i, int64_t ms, int64_t j, int64_t ns) {
    for (int64_t c = 0; c < ns; ++c)
      for (int64_t r = 0; r < ms; ++r)
        sums[c * tileM + r] = kept(part, i, j + c)[r] + sums[c * tileM + r];
  }

  /// The product of two scales.
  T scale(int64_t i, int64_t j, int64_t panel) const {
    T a = at.aScale ? at.aScale[placeOfScale(it.aScaleMode, it.m, it.k, i, panel)] : T(1);
    T b = at.bScale ? at.bScale[placeOfScale(it.bScaleMode, it.n, it.k, j, panel)] : T(1);
    return a * b;
  }

  void finish(int64_t i, int64_t ms, int64_t j, int64_t ns) {
    bool isScaled = it.isEight() && it.panel() == it.k;
    for (int64_t c = 0; c < ns; ++c)
      for (int64_t r = 0; r < ms; ++r) {
        T sum = sums[c * tileM + r];
        finish(i + r, j + c, isScaled ? sum * scale(i + r, j + c, 0) : sum);
      }
  }
  void finish(int64_t i, int64_t j, T sum) {
    auto place = [&](const Layout &layout) {
      return layout.order == orderCol ? i + j * layout.ld : i * layout.ld + j;
    };
    T value = alpha * sum;
    if (at.c)
      value = std::fma(beta, (T)read(at.c, it.c.type, place(it.c)), value);
    if (it.adds())
      value += (T)read(at.bias, it.biasType, i);
    if (it.writesAux())
      write(at.aux, it.auxType, i + j * it.auxLd, value);
    if (it.epilogue & epilogueRelu)
      value = value > T(0) ? value : T(0);
    if (it.epilogue & epilogueGelu)
      value = gelu(value);
    if ((it.epilogue & epilogueDgelu) == epilogueDgelu)
      value *= slopeOfGelu((T)read(at.aux, it.auxType, i + j * it.auxLd));
    if (gradient)
      gradient[i] += value;
    write(at.d, it.d.type, place(it.d), value);
  }

  void sumOverK(const Source &from, int type, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      T sum = 0;
      for (int64_t p = 0; p < it.k; ++p)
        sum += (T)read(from.base, type, i * from.step + p * from.stepK);
      write(at.bias, it.biasType, i, sum);
    }
  }

  const Method method;
  const Problem &it;
  const T alpha, beta;
  const Operands at;
  Source a, b;
  std::unique_ptr<T[]> packedA, packedB, sums, gradient;
};

template <typename T>
void multiplyAs(Method method, const Problem &it, double alpha, double beta, const Operands &at) {
  for (int64_t i = 0; i < it.batch; ++i) {
    auto of = [i](auto *base, int64_t stride, int type) {
      return base ? base + i * stride * (int64_t)bytesOf(type) : nullptr;
    };
    Operands one = {of(at.a, it.a.stride, it.a.type),
                    of(at.b, it.b.stride, it.b.type),
                    of(at.c, it.c.stride, it.c.type),
                    of(at.d, it.d.stride, it.d.type),
                    of(at.bias, it.biasStride, it.biasType),
                    of(at.aux, it.auxStride, it.auxType),
                    at.workspace,
                    at.aScale,
                    at.bScale};
    Multiplication<T>(method, it, (T)alpha, (T)beta, one).run();
  }
}

} // namespace

size_t lt::workspaceOf(Method method, const Problem &it) {
  size_t sums = it.m * it.n * (it.isDouble() ? 8 : 4);
  return ((isInHalves(method) ? 2 : method == blocks ? 1 : 0) * sums + 255) / 256 * 256;
}

void lt::multiply(Method method, const Problem &it, double alpha, double beta,
                  const Operands &operands) {
  if (it.isDouble())
    multiplyAs<double>(method, it, alpha, beta, operands);
  else
    multiplyAs<float>(method, it, alpha, beta, operands);
}
