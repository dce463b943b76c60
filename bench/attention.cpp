//===- attention.cpp - rate of attention kernels beside the library's GEMM ===//
//
// One thread. For each shape the kernel's FLOPs per second (tiles that the mask
// empties are not counted), and the same for oneDNN's sgemm at 1024^3.
//
//===----------------------------------------------------------------------===//
#include "test/lower/attention-reference.h"
#include <cmath>
#include <cstdio>
#include <cstring>
#include <dnnl.h>
#include <time.h>

using namespace tplan::test;

extern "C" void omp_set_num_threads(int);

/// Seconds of this thread: other work on the machine does not count.
static double seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

/// Seconds of the fastest of several runs.
template <typename Run> static double fastest(Run run) {
  double best = 1e30, total = 0;
  for (int i = 0; i < 50 && (i < 3 || total < 0.5); ++i) {
    double begin = seconds();
    run();
    double time = seconds() - begin;
    best = std::min(best, time);
    total += time;
  }
  return best;
}

static double gemmRate() {
  int64_t n = 1024;
  std::vector<float> a(n * n, 1.0f), b(n * n, 1.0f), c(n * n);
  double time = fastest(
      [&] { dnnl_sgemm('N', 'N', n, n, n, 1.0f, a.data(), n, b.data(), n, 0.0f, c.data(), n); });
  return 2.0 * n * n * n / time;
}

static double kernelRate(const Problem &p, const std::string &pass, const JitOptions &options) {
  AttentionKernel kernel(p.text(pass), options);
  Tensor q(p, p.qOrder), k(p, p.kOrder), lse(p, p.lseOrder);
  size_t nq = q.data.size(), nk = k.data.size(), nl = lse.data.size();
  // Operands are f32 and hold small numbers: memory that is large enough for any type, and values
  // that are small in any.
  auto buffer = [](size_t n) {
    std::vector<double> x(n);
    std::vector<float> numbers(2 * n);
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = 0.5f + static_cast<float>(i % 13) / 13;
    memcpy(x.data(), numbers.data(), n * sizeof(double));
    return x;
  };
  std::vector<std::vector<double>> memory = {buffer(nq), buffer(nk), buffer(nk)};
  for (size_t n : pass == "forward" ? std::vector<size_t>{nq, nl}
                                    : std::vector<size_t>{nq, nl, nl, nq, nk, nk})
    memory.push_back(buffer(n));
  if (pass == "backward" && p.element == "bf16")
    memory.push_back(buffer(nq)); // the workspace
  std::vector<void *> args;
  for (auto &m : memory)
    args.push_back(m.data());
  return kernel.flops / fastest([&] { kernel.run(args); });
}

int main(int argc, char **argv) {
  omp_set_num_threads(1);
  JitOptions options;
  if (argc > 1)
    options.cpu = argv[1]; // such as x86-64-v3
  if (argc > 3)
    options.block = {atoi(argv[2]), atoi(argv[3])};
  double gemm = gemmRate();
  printf("oneDNN sgemm 1024: %.1f GFLOP/s\n", gemm * 1e-9);
  printf("%-5s %5s %4s %-7s %10s %7s %10s %7s\n", "type", "S", "K", "mask", "forward", "ratio",
         "backward", "ratio");
  for (const char *element : {"f32", "bf16", "f64"})
    for (int64_t width : {64, 128})
      for (int64_t length : {512, 2048})
        for (const char *mask : {"all", "causal"}) {
          Problem p;
          p.batch = 1, p.heads = 4, p.groups = 2, p.queries = p.keys = length, p.width = width;
          p.scale = 1 / std::sqrt(width), p.mask = mask, p.element = element;
          double forward = kernelRate(p, "forward", options);
          double backward = kernelRate(p, "backward", options);
          printf("%-5s %5ld %4ld %-7s %10.1f %7.2f %10.1f %7.2f\n", element, (long)length,
                 (long)width, mask, forward * 1e-9, forward / gemm, backward * 1e-9,
                 backward / gemm);
          fflush(stdout);
        }
}
