//===- kernels.cpp - emitted kernels against memcpy and hand-written loops -===//
//
// One thread, arrays of 8 times the last cache, both sides in turn in one run;
// printed are ratios of medians. Bound by memory: rmsnorm, against the bytes per
// second of memcpy. Bound by exponentials and strides: the loss and a transpose,
// against loops with intrinsics.
//
//     bench-kernels [rmsnorm|loss|transpose [MiB [avx2]]]     "" is all of them
//
// One decision: memcpy is the C library's own, timed beside each kernel; whether its
// stores go past the caches is the library's choice, by size.
//
//===----------------------------------------------------------------------===//
#include "bench/kernels-handwritten.h"
#include "test/lower/jit.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <unistd.h>

/// The CPU that the kernels are compiled for; empty is this machine.
static std::string cpu;

/// Seconds of this thread on a core, so that other work on the machine counts less.
static double timeOf(const std::function<void()> &f) {
  auto now = [] {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
  };
  double start = now();
  f();
  return now() - start;
}

/// Medians of the two sides, run in turn.
static std::pair<double, double> inTurn(const std::function<void()> &a,
                                        const std::function<void()> &b) {
  std::vector<double> ta, tb;
  a(), b();
  for (int i = 0; i < 9; ++i)
    ta.push_back(timeOf(a)), tb.push_back(timeOf(b));
  std::sort(ta.begin(), ta.end()), std::sort(tb.begin(), tb.end());
  return {ta[ta.size() / 2], tb[tb.size() / 2]};
}

/// Pages as the runtime's arena has them.
template <typename T> struct Array {
  T *data;
  size_t bytes;
  explicit Array(int64_t n) : bytes((n * sizeof(T) + 4095) / 4096 * 4096) {
    data = static_cast<T *>(aligned_alloc(4096, bytes));
    uint32_t state = 1;
    for (int64_t i = 0; i < n; ++i) {
      state = state * 1664525 + 1013904223;
      float v = float(int32_t(state)) * 0x1p-30f;
      if constexpr (sizeof(T) == 2)
        data[i] = bf16(v).bits;
      else
        data[i] = T(v);
    }
  }
  ~Array() { free(data); }
};

static const char *typeName(size_t size) { return size == 2 ? "bf16" : "f32"; }
static std::string size(const char *name, int64_t n) { return name + ("=" + std::to_string(n)); }

static void report(const char *what, size_t type, double ratio, double want, double compile,
                   double rate) {
  printf("%-28s %-5s %5.2f  (at least %.2f: %s)  %6.1f GB/s  compiled in %5.1f ms\n", what,
         typeName(type), ratio, want, ratio >= want ? "yes" : "NO", rate * 1e-9, compile * 1e3);
}

template <typename T> static void rmsnorm(int64_t bytes) {
  const int64_t D = 4096, S = bytes / D / sizeof(T), grain = 64, tasks = (S + grain - 1) / grain;
  bool narrow = sizeof(T) == 2;
  std::string in = narrow ? "%x = arith.extf %0 : T to f32\n%g = arith.extf %1 : T to f32\n"
                          : "%z = arith.constant 0.0 : f32\n%x = arith.subf %0, %z : f32\n"
                            "%g = arith.subf %1, %z : f32\n";
  std::string root = R"(
    %x2 = arith.mulf %x, %x : f32
    %ss = rt.row_reduce sum %x2 : f32
    %n = arith.constant 2.44140625e-04 : f32
    %e = arith.constant 1.0e-05 : f32
    %m = arith.mulf %ss, %n : f32
    %me = arith.addf %m, %e : f32
    %r = math.rsqrt %me : f32
)";
  auto yield = [&](const char *v, const char *more, const char *types) {
    std::string out = narrow ? std::string("%o = arith.truncf ") + v + " : f32 to T\n" : "";
    return out + "rt.yield " + (narrow ? "%o" : v) + more + " : T" + types;
  };
  Jit forward(KernelText{"row",
                         size("S", S),
                         size("D", D),
                         grain,
                         {"S,D:T", "D:T"},
                         {"S,D:T"},
                         in + root +
                             "%y = arith.mulf %x, %r : f32\n%w = arith.mulf %y, %g : f32\n" +
                             yield("%w", "", "")}
                  .text("k", typeName(sizeof(T))),
              cpu);
  Array<T> x(S * D), g(D), y(S * D);
  auto copy = [&] { std::memcpy(y.data, x.data, S * D * sizeof(T)); };
  auto [kernel, peer] = inTurn([&] { forward.run("k", tasks, {x.data, g.data, y.data}); }, copy);
  double moved = 2.0 * S * D * sizeof(T);
  report("rmsnorm forward", sizeof(T), peer / kernel, 0.7, forward.seconds, moved / kernel);

  // d_x = r (g dy - x r^2 mean(x g dy)); the gain's gradient is sum over rows of dy x r.
  std::string dyIn =
      narrow ? "%dy = arith.extf %2 : T to f32\n" : "%dy = arith.subf %2, %z : f32\n";
  Jit backward(KernelText{"row",
                          size("S", S),
                          size("D", D),
                          grain,
                          {"S,D:T", "D:T", "S,D:T"},
                          {"S,D:T", "task,D:f32"},
                          in + dyIn + root + R"(
    %gd = arith.mulf %dy, %g : f32
    %xg = arith.mulf %x, %gd : f32
    %s = rt.row_reduce sum %xg : f32
    %sm = arith.mulf %s, %n : f32
    %rr = arith.mulf %r, %r : f32
    %c = arith.mulf %sm, %rr : f32
    %xc = arith.mulf %x, %c : f32
    %d = arith.subf %gd, %xc : f32
    %dx = arith.mulf %d, %r : f32
    %xr = arith.mulf %x, %r : f32
    %dg = arith.mulf %xr, %dy : f32
    %dgs = rt.col_reduce sum %dg : f32
)" + yield("%dx", ", %dgs", ", f32")}
                   .text("k", typeName(sizeof(T)), size("task", tasks)),
               cpu);
  Array<T> dy(S * D);
  Array<float> sums(tasks * D);
  std::tie(kernel, peer) =
      inTurn([&] { backward.run("k", tasks, {x.data, g.data, dy.data, y.data, sums.data}); }, copy);
  report("rmsnorm backward, gain sums", sizeof(T), 1.5 * peer / kernel, 0.7, backward.seconds,
         1.5 * moved / kernel);
}

template <typename T> static void loss(int64_t bytes, const Handwritten &hand) {
  const int64_t V = 128256, S = bytes / V / sizeof(T);
  bool narrow = sizeof(T) == 2;
  std::string in = narrow ? "%x = arith.extf %0 : T to f32\n%p = arith.extf %2 : T to f32\n"
                          : "%z = arith.constant 0.0 : f32\n%x = arith.subf %0, %z : f32\n"
                            "%p = arith.subf %2, %z : f32\n";
  Jit forward(KernelText{"row",
                         size("S", S),
                         size("V", V),
                         4,
                         {"S,V:T", "S:i32", "S,V:T gather V 1"},
                         {"S:f32", "S:f32"},
                         in + R"(
    %m = rt.row_reduce max %x : f32
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    %s = rt.row_reduce sum %e : f32
    %l = math.log %s : f32
    %lse = arith.addf %m, %l : f32
    %loss = arith.subf %lse, %p : f32
    rt.yield %lse, %loss : f32, f32)"}
                  .text("k", typeName(sizeof(T))),
              cpu);
  int64_t tasks = (S + 3) / 4;
  Array<T> x(S * V), d(S * V);
  Array<int32_t> label(S);
  Array<float> lse(S), lossOf(S), lse2(S), loss2(S), scale(1);
  for (int64_t i = 0; i < S; ++i)
    label.data[i] = int32_t((i * 7919) % V);
  scale.data[0] = 0x1p-10f;
  auto [kernel, peer] =
      inTurn([&] { forward.run("k", tasks, {x.data, label.data, x.data, lse.data, lossOf.data}); },
             [&] {
               if constexpr (sizeof(T) == 2)
                 hand.lossForward16(x.data, label.data, lse2.data, loss2.data, S, V);
               else
                 hand.lossForward32(x.data, label.data, lse2.data, loss2.data, S, V);
             });
  for (int64_t i = 0; i < S; ++i)
    if (!(std::fabs(lossOf.data[i] - loss2.data[i]) < 1e-4 * std::fabs(loss2.data[i])))
      printf("loss of row %ld differs: %g and %g\n", long(i), lossOf.data[i], loss2.data[i]),
          exit(1);
  report("cross-entropy forward", sizeof(T), peer / kernel, 0.85, forward.seconds,
         S * V * sizeof(T) / kernel);

  std::string out = narrow ? "%o = arith.truncf %y : f32 to T\nrt.yield %o : T" : "rt.yield %y : T";
  Jit backward(
      KernelText{"map",
                 size("S", S),
                 size("V", V),
                 4,
                 {"S,V:T", "S:i32", "S:f32", ":f32"},
                 {"S,V:T"},
                 (narrow ? "%x = arith.extf %0 : T to f32\n"
                         : "%z = arith.constant 0.0 : f32\n%x = arith.subf %0, %z : f32\n") +
                     std::string(R"(
    %d = arith.subf %x, %2 : f32
    %e = math.exp %d : f32
    %v = rt.position "V"
    %is = arith.cmpi eq, %v, %1 : i32
    %one = arith.constant 1.0 : f32
    %em = arith.subf %e, %one : f32
    %h = arith.select %is, %em, %e : f32
    %y = arith.mulf %h, %3 : f32
)") + out}
          .text("k", typeName(sizeof(T))),
      cpu);
  std::tie(kernel, peer) =
      inTurn([&] { backward.run("k", tasks, {x.data, label.data, lse.data, scale.data, d.data}); },
             [&] {
               if constexpr (sizeof(T) == 2)
                 hand.lossBackward16(x.data, label.data, lse.data, 0x1p-10f, d.data, S, V);
               else
                 hand.lossBackward32(x.data, label.data, lse.data, 0x1p-10f, d.data, S, V);
             });
  report("cross-entropy backward", sizeof(T), peer / kernel, 0.85, backward.seconds,
         2 * S * V * sizeof(T) / kernel);
}

template <typename T> static void transpose(int64_t bytes, const Handwritten &hand) {
  const int64_t C = 4096, R = bytes / C / sizeof(T) / 64 * 64;
  // x [R, C] -> y [C, R]
  Jit kernel(
      KernelText{
          "transpose", size("C", C), size("R", R), 64, {"R,C:T"}, {"C,R:T"}, "rt.yield %0 : T"}
          .text("k", typeName(sizeof(T))),
      cpu);
  Array<T> x(R * C), y(R * C), z(R * C);
  auto [mine, peer] = inTurn([&] { kernel.run("k", C / 64, {x.data, y.data}); },
                             [&] {
                               if constexpr (sizeof(T) == 2)
                                 hand.transpose16(x.data, z.data, R, C);
                               else
                                 hand.transpose32(x.data, z.data, R, C);
                             });
  if (std::memcmp(y.data, z.data, R * C * sizeof(T)) != 0)
    printf("transposes differ\n"), exit(1);
  report("transpose", sizeof(T), peer / mine, 0.85, kernel.seconds, 2.0 * R * C * sizeof(T) / mine);
}

int main(int argc, char **argv) {
  long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  int64_t bytes = 8 * std::max<int64_t>(cache, 8 << 20);
  if (argc > 2) // in MiB
    bytes = atol(argv[2]) << 20;
  bool narrow = argc > 3 && argv[3] == std::string("avx2");
  bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
  const Handwritten &hand = wide && !narrow ? handwrittenAvx512 : handwrittenAvx2;
  if (narrow)
    cpu = "x86-64-v3";
  std::string only = argc > 1 ? argv[1] : "";
  printf("arrays of %ld MiB; hand-written loops in %s\n", long(bytes >> 20), hand.isa);
  if (only.empty() || only == "rmsnorm")
    rmsnorm<float>(bytes), rmsnorm<uint16_t>(bytes);
  if (only.empty() || only == "loss")
    loss<float>(bytes, hand), loss<uint16_t>(bytes, hand);
  if (only.empty() || only == "transpose")
    transpose<float>(bytes, hand), transpose<uint16_t>(bytes, hand);
}
