//===- matmul_float.cpp - tiles in f32 and f64 ----------------------------===//

#include "runtime/device/matmul_ways.h"

#include <climits>

#include <dlfcn.h>
#include <dnnl.h>

using namespace tplan::runtime;

namespace {

enum CblasOrder { rowMajor = 101 };
enum CblasTranspose { noTranspose = 111, transpose = 112 };

constexpr const char *blasFile = "libopenblas.so.0";
constexpr const char *blasPackage = "libopenblas0-pthread";

} // namespace

Status tplan::runtime::setLibraryThreads(Team &team) {
  // libgomp comes with oneDNN; asking the loader spares the link line.
  auto setThreads = (void (*)(int))dlsym(RTLD_DEFAULT, "omp_set_num_threads");
  if (!setThreads)
    return errorf("oneDNN brings no OpenMP: omp_set_num_threads is not loaded");
  // Each thread must do this once, and a quick one could take two tasks: so they meet.
  std::atomic<int> arrived{0};
  int size = team.size();
  team.forEach(size, [&](int64_t, int) {
    setThreads(1);
    arrived.fetch_add(1);
    while (arrived.load() < size)
      sched_yield();
  });
  return {};
}

void tplan::runtime::addBias(float *to, int64_t stride, int64_t rows, int64_t columns,
                             const float *bias) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      to[i * stride + j] += bias[j];
}

bool tplan::runtime::sgemmTile(void *, const tp_gemm &g, const Tile &t) {
  if (dnnl_sgemm(g.trans_a ? 'T' : 'N', g.trans_b ? 'T' : 'N', t.m, t.n, g.k, 1.0f,
                 (const float *)t.a, g.lda, (const float *)t.b, g.ldb, g.accumulate ? 1.0f : 0.0f,
                 (float *)t.c, g.ldc) != dnnl_success)
    return false;
  if (t.bias)
    addBias((float *)t.c, g.ldc, t.m, t.n, (const float *)t.bias);
  return true;
}

Status Blas::load() {
  if (dgemm)
    return {};
  // Local: its threads and symbols are nobody else's.
  void *library = dlopen(blasFile, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return errorf("f64 matmul needs OpenBLAS: %s; install the package %s", dlerror(), blasPackage);
  auto setThreads = (void (*)(int))dlsym(library, "openblas_set_num_threads");
  auto function = (Dgemm)dlsym(library, "cblas_dgemm");
  if (!setThreads || !function)
    return errorf(
        "f64 matmul needs OpenBLAS: %s lacks cblas_dgemm or openblas_set_num_threads; install "
        "the package %s",
        blasFile, blasPackage);
  setThreads(1);
  dgemm = function;
  return {};
}

bool Blas::tile(void *way, const tp_gemm &g, const Tile &t) {
  if (g.k > INT_MAX || g.lda > INT_MAX || g.ldb > INT_MAX || g.ldc > INT_MAX)
    return false;
  static_cast<Blas *>(way)->dgemm(rowMajor, g.trans_a ? transpose : noTranspose,
                                  g.trans_b ? transpose : noTranspose, (int)t.m, (int)t.n, (int)g.k,
                                  1.0, (const double *)t.a, (int)g.lda, (const double *)t.b,
                                  (int)g.ldb, g.accumulate ? 1.0 : 0.0, (double *)t.c, (int)g.ldc);
  return true;
}
