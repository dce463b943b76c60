//===- ceilings.cpp - what a GPU reaches at most --------------------------===//
//
//   gpu-ceilings [--tiny]
//
// One JSON object: TFLOP/s of the fastest of some large bf16 GEMMs through cuBLASLt, by the
// runtime's own choice of algorithms and on random numbers, and GB/s of a large copy, bytes read
// and written. Times are medians between events.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda_matmul.h"
#include "runtime/support/random.h"
#include "test/gpu/first-gpu.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

using namespace tplan::runtime;

namespace {

constexpr int rounds = 15;

class Gpu {
public:
  Gpu(const CudaDriver &driver, cuda::StreamHandle *stream) : cu(driver), stream(stream) {}
  Status makeEvents();
  /// Teraflops of a GEMM of n x n matrices.
  Status gemm(int64_t n, double &teraflops);
  /// Gigabytes per second of a copy.
  Status copy(int64_t bytes, double &gigabytes);

private:
  Status time(const std::function<Status()> &work, double &seconds);
  Status fill(cuda::Pointer place, int64_t elements);

  const CudaDriver &cu;
  cuda::StreamHandle *stream;
  cuda::EventHandle *begin = nullptr, *end = nullptr;
};

Status Gpu::makeEvents() {
  TP_CUDA(EventCreate(&begin, cuda::eventDefault));
  TP_CUDA(EventCreate(&end, cuda::eventDefault));
  return {};
}

/// The median of several rounds; the first ones warm up.
Status Gpu::time(const std::function<Status()> &work, double &seconds) {
  std::vector<float> times;
  for (int round = 0; round < rounds + 3; ++round) {
    TP_CUDA(EventRecord(begin, stream));
    TP_TRY(work());
    TP_CUDA(EventRecord(end, stream));
    TP_CUDA(EventSynchronize(end));
    float milliseconds = 0;
    TP_CUDA(EventElapsedTime(&milliseconds, begin, end));
    if (round >= 3)
      times.push_back(milliseconds);
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  seconds = 1e-3 * times[rounds / 2];
  return {};
}

/// Random bf16 numbers, over and over: on zeros a GPU is faster.
Status Gpu::fill(cuda::Pointer place, int64_t elements) {
  std::vector<uint16_t> numbers(std::min<int64_t>(elements, 1 << 20));
  for (size_t i = 0; i < numbers.size(); ++i) {
    auto value = (float)normalAt(1, 0, i);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    numbers[i] = (uint16_t)(bits >> 16);
  }
  for (int64_t at = 0; at < elements; at += (int64_t)numbers.size())
    TP_CUDA(MemcpyHtoD(place + 2 * at, numbers.data(),
                       2 * std::min(elements - at, (int64_t)numbers.size())));
  return {};
}

Status Gpu::gemm(int64_t n, double &teraflops) {
  constexpr int64_t workspace = 64 << 20;
  cuda::Pointer place = 0;
  TP_CUDA(MemAlloc(&place, 3 * n * n * 2 + workspace));
  char *a = (char *)(uintptr_t)place, *b = a + n * n * 2, *c = b + n * n * 2;
  TP_TRY(fill(place, 2 * n * n));
  tp_gemm gemm = {};
  gemm.m = gemm.n = gemm.k = gemm.lda = gemm.ldb = gemm.ldc = n;
  gemm.batch = 1;
  gemm.in = gemm.out = TP_BF16;
  CudaMatmul library;
  TP_TRY(library.start(cu, c + n * n * 2, workspace));
  int64_t measured = 0;
  TP_TRY(library.choose({gemm, usualAlignment}, a, 3 * n * n * 2, stream, measured));
  double seconds = 0;
  TP_TRY(
      time([&] { return library.run(gemm, nullptr, {.a = a, .b = b, .c = c}, stream); }, seconds));
  teraflops = 2e-12 * (double)n * (double)n * (double)n / seconds;
  TP_CUDA(MemFree(place));
  return {};
}

Status Gpu::copy(int64_t bytes, double &gigabytes) {
  cuda::Pointer place = 0;
  TP_CUDA(MemAlloc(&place, 2 * bytes));
  double seconds = 0;
  TP_TRY(time(
      [&]() -> Status {
        TP_CUDA(MemcpyDtoDAsync(place + bytes, place, bytes, stream));
        return {};
      },
      seconds));
  gigabytes = 2e-9 * (double)bytes / seconds;
  TP_CUDA(MemFree(place));
  return {};
}

Status measure(bool tiny) {
  const CudaDriver *driver = nullptr;
  cuda::StreamHandle *stream = nullptr;
  TP_TRY(openFirstGpu(driver, stream));
  Gpu gpu(*driver, stream);
  TP_TRY(gpu.makeEvents());
  double best = 0, gigabytes = 0;
  for (int64_t n : tiny ? std::vector<int64_t>{64} : std::vector<int64_t>{4096, 8192, 12288}) {
    double teraflops = 0;
    TP_TRY(gpu.gemm(n, teraflops));
    best = std::max(best, teraflops);
  }
  TP_TRY(gpu.copy(tiny ? int64_t(1) << 20 : int64_t(4) << 30, gigabytes));
  printf("{\"gemm_tflops\": %g, \"copy_gb_s\": %g}\n", best, gigabytes);
  return {};
}

} // namespace

int main(int argc, char **argv) {
  bool tiny = argc == 2 && !strcmp(argv[1], "--tiny");
  if (argc > 1 && !tiny)
    return fprintf(stderr, "usage: gpu-ceilings [--tiny]\n"), 2;
  if (Status status = measure(tiny); !status.ok())
    return fprintf(stderr, "gpu-ceilings: error: %s\n", status.message().c_str()), 1;
  return 0;
}
