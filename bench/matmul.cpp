//===- matmul.cpp - tp_matmul beside the library's own team -----------------===//
//
// For each shape of a language model's forward (NN) and backward (NT, TN) GEMMs:
// the rate of tp_matmul on a team of T threads and that of one oneDNN call with T
// threads of its own, in turns, medians, and their ratio. Then bf16: library's
// own, widened, and our f32 beside them.
//
//   bench-matmul [threads] [rounds]
//
//===----------------------------------------------------------------------===//

#include "runtime/ranks/rank.h"
#include "runtime/support/bf16.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include <dlfcn.h>
#include <dnnl.h>
#include <sched.h>
#include <unistd.h>

using namespace tplan::runtime;

namespace {

struct Shape {
  int64_t m, n, k;
};
// Tokens x width of a projection: the table of issue-sized and odd models.
constexpr Shape shapes[] = {{512, 256, 256},   {2048, 256, 256},  {2048, 688, 256},
                            {2048, 256, 688},  {4096, 512, 512},  {4096, 1408, 512},
                            {4096, 512, 1408}, {4096, 8192, 512}, {1024, 4096, 1024},
                            {512, 2048, 8192}, {2048, 1024, 64},  {1000, 777, 333}};

struct Transposes {
  bool a, b;
  const char *name;
};
constexpr Transposes transposes[] = {
    {false, false, "NN"}, {false, true, "NT"}, {true, false, "TN"}};

tp_gemm gemmOf(const Shape &s, const Transposes &t, int32_t type) {
  return {s.m, s.n,  s.k, t.a ? s.m : s.k, t.b ? s.k : s.n, s.n, 1, 0, 0, 0, t.a, t.b,
          0,   type, type};
}

/// Seconds of each candidate, medians of rounds in turns.
std::vector<double> race(const std::vector<std::function<void()>> &candidates, int rounds) {
  std::vector<std::vector<double>> times(candidates.size());
  for (int round = -1; round < rounds; ++round)
    for (size_t i = 0; i < candidates.size(); ++i) {
      // The library's threads spin for a while after a call; let them sleep.
      usleep(4000);
      double begin = monotonicSeconds();
      candidates[i]();
      if (round >= 0)
        times[i].push_back(monotonicSeconds() - begin);
    }
  std::vector<double> medians;
  for (auto &list : times) {
    std::sort(list.begin(), list.end());
    medians.push_back(list[list.size() / 2]);
  }
  return medians;
}

} // namespace

int main(int argc, char **argv) {
  int threads = argc > 1 ? atoi(argv[1]) : 2, rounds = argc > 2 ? atoi(argv[2]) : 15;
  auto setThreads = (void (*)(int))dlsym(RTLD_DEFAULT, "omp_set_num_threads");
  // The library makes its threads before ours are pinned: they would inherit the pin.
  std::vector<float> square(512 * 512, 1.0f), product(512 * 512);
  setThreads(threads);
  dnnl_sgemm('N', 'N', 512, 512, 512, 1, square.data(), 512, square.data(), 512, 0, product.data(),
             512);
  tp_rank rank, widening;
  cpu_set_t mask; // the first team pins this thread, the second must see all CPUs
  sched_getaffinity(0, sizeof mask, &mask);
  for (auto [each, way] :
       {std::pair(&rank, (const char *)nullptr), std::pair(&widening, "widen")}) {
    sched_setaffinity(0, sizeof mask, &mask);
    Status status = each->team.start(threads);
    if (status.ok())
      status = each->matmul.start(each->team, way);
    if (!status.ok()) {
      fprintf(stderr, "%s\n", status.message().c_str());
      return 1;
    }
  }
  bool library = rank.matmul.bf16Way() == Bf16Way::Library;
  tp_call call = {"matmul", "", 0, TP_GEMM, 0, 0, 0};
  double total[4] = {}, peerTotal = 0;
  printf("%5s %5s %5s    %9s %9s %6s   %9s %9s   (GFLOP/s, %d threads)\n", "m", "n", "k",
         "ours f32", "oneDNN", "ratio", library ? "bf16" : "-", "widened", threads);
  for (const Shape &s : shapes)
    for (const Transposes &t : transposes) {
      std::vector<float> a(s.m * s.k), b(s.k * s.n), c(s.m * s.n);
      std::vector<bf16> a16(a.size()), b16(b.size()), c16(c.size());
      for (size_t i = 0; i < a.size(); ++i)
        a16[i] = roundToBf16(a[i] = float(i * 7919 % 101) / 50 - 1);
      for (size_t i = 0; i < b.size(); ++i)
        b16[i] = roundToBf16(b[i] = float(i * 104729 % 103) / 51 - 1);
      tp_gemm f32 = gemmOf(s, t, TP_F32), half = gemmOf(s, t, TP_BF16);
      std::vector<double> seconds =
          race({[&] {
                  tp_matmul(&rank, &call, &f32, a.data(), b.data(), nullptr, c.data(),
                            f32.batch * f32.m);
                },
                [&] {
                  setThreads(threads);
                  dnnl_sgemm(t.a ? 'T' : 'N', t.b ? 'T' : 'N', s.m, s.n, s.k, 1, a.data(), f32.lda,
                             b.data(), f32.ldb, 0, c.data(), f32.ldc);
                  setThreads(1);
                },
                [&] {
                  tp_matmul(&rank, &call, &half, a16.data(), b16.data(), nullptr, c16.data(),
                            half.batch * half.m);
                },
                [&] {
                  tp_matmul(&widening, &call, &half, a16.data(), b16.data(), nullptr, c16.data(),
                            half.batch * half.m);
                }},
               rounds);
      double work = 2e-9 * (double)(s.m * s.n * s.k);
      printf("%5lld %5lld %5lld %s %9.1f %9.1f %6.3f   %9.1f %9.1f\n", (long long)s.m,
             (long long)s.n, (long long)s.k, t.name, work / seconds[0], work / seconds[1],
             seconds[1] / seconds[0], work / seconds[2], work / seconds[3]);
      for (int i = 0; i < 4; ++i)
        total[i] += seconds[i];
      peerTotal += seconds[1];
    }
  printf("summed: f32 at %.3f of oneDNN's own team; bf16 %.2f x our f32, widened %.2f x our f32\n",
         peerTotal / total[0], total[0] / total[2], total[0] / total[3]);
  return 0;
}
