//===- kernels-test.cpp - kernels against naive loops, bit by bit ---------===//
//
// The naive loops follow the order of additions that rt.kernel states, so every
// comparison without a transcendental is exact. Sizes divide no vector and no
// task.
//
//===----------------------------------------------------------------------===//
#include "test/lower/jit.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

template <typename T> constexpr const char *typeName = "f32";
template <> constexpr const char *typeName<double> = "f64";
template <> constexpr const char *typeName<bf16> = "bf16";

template <typename T> std::vector<T> numbers(size_t n, unsigned seed) {
  std::vector<T> x(n);
  uint64_t state = seed * 0x9E3779B97F4A7C15ull + 1;
  for (T &v : x) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    v = T(float(double(int64_t(state >> 11)) / double(1ull << 52) - 1.0) * 3.0f);
  }
  return x;
}

template <typename T> void expectSame(const std::vector<T> &a, const std::vector<T> &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i], &b[i], sizeof(T)) != 0)
      FAIL() << "element " << i << " of " << a.size() << ": " << double(a[i]) << " and "
             << double(b[i]);
}

/// Row reduction in the stated order.
template <typename T> T rowSum(int64_t n, std::function<T(int64_t)> x) {
  constexpr int lanes = 64 / sizeof(T);
  T acc[lanes] = {};
  for (int64_t i = 0; i < n; ++i)
    acc[i % lanes] += x(i);
  for (int half = lanes / 2; half; half /= 2)
    for (int l = 0; l < half; ++l)
      acc[l] += acc[l + half];
  return acc[0];
}

template <typename T> class Floats : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Floats, Types);

template <typename T>
std::unique_ptr<Jit> compile(const KernelText &k, const std::string &sizes = "") {
  return std::make_unique<Jit>(k.text("k", typeName<T>, sizes));
}
static std::string size(const char *name, int64_t n) { return name + ("=" + std::to_string(n)); }

//===----------------------------------------------------------------------===//
// Map
//===----------------------------------------------------------------------===//

TYPED_TEST(Floats, MapFlat) {
  using T = TypeParam;
  for (int64_t n : {1, 7, 16, 72, 333 * 24}) {
    auto jit = compile<T>({"map", size("S", n), "", 5, {"S:T", "S:T"}, {"S:T"}, R"(
      %c = arith.constant 0.5 : T
      %x = arith.mulf %0, %c : T
      %y = arith.addf %x, %1 : T
      rt.yield %y : T)"});
    auto x = numbers<T>(n, 1), y = numbers<T>(n, 2);
    std::vector<T> want(n), got = x;
    for (int64_t i = 0; i < n; ++i)
      want[i] = x[i] * T(0.5) + y[i];
    jit->run("k", (n + 4) / 5, {got.data(), y.data(), got.data()}); // in place
    expectSame(got, want);
  }
}

TYPED_TEST(Floats, MapBroadcast) {
  using T = TypeParam;
  // [B,S,H,K] with operands that lack dimensions on every side, and positions.
  for (int64_t K : {1, 5, 16, 24, 64}) {
    const int64_t B = 3, S = 37, H = 4;
    auto jit = compile<T>({"map",
                           "B=3,S=37",
                           "H=4," + size("K", K),
                           7,
                           {"B,S,H,K:T", "S,K:T", "B:T", "H:T", "K:T", ":T"},
                           {"B,S,H,K:T", "B,S,H,K:i32"},
                           R"(
      %a = arith.mulf %0, %1 : T
      %b = arith.addf %a, %2 : T
      %c = arith.mulf %b, %3 : T
      %d = arith.subf %c, %4 : T
      %e = arith.mulf %d, %5 : T
      %s = rt.position "S"
      %h = rt.position "H"
      %k = rt.position "K" segments [#nn.segment<0, 2, 10, 1>, #nn.segment<2, 98, 5, -3>]
      %m = arith.constant 1000 : i32
      %p = arith.muli %s, %m : i32
      %q = arith.addi %p, %h : i32
      %r = arith.muli %q, %m : i32
      %t = arith.addi %r, %k : i32
      rt.yield %e, %t : T, i32)"});
    auto x = numbers<T>(B * S * H * K, 1), sk = numbers<T>(S * K, 2), b = numbers<T>(B, 3),
         h = numbers<T>(H, 4), k = numbers<T>(K, 5), u = numbers<T>(1, 6);
    std::vector<T> want(x.size()), got(x.size());
    std::vector<int32_t> wantI(x.size()), gotI(x.size());
    for (int64_t i = 0; i < int64_t(x.size()); ++i) {
      int64_t ki = i % K, hi = i / K % H, si = i / K / H % S, bi = i / K / H / S;
      want[i] = ((x[i] * sk[si * K + ki] + b[bi]) * h[hi] - k[ki]) * u[0];
      wantI[i] = (si * 1000 + hi) * 1000 + (ki < 2 ? 10 + ki : 5 - 3 * (ki - 2));
    }
    jit->run(
        "k", (B * S + 6) / 7,
        {x.data(), sk.data(), b.data(), h.data(), k.data(), u.data(), got.data(), gotI.data()});
    expectSame(got, want);
    expectSame(gotI, wantI);
  }
}

//===----------------------------------------------------------------------===//
// Row
//===----------------------------------------------------------------------===//

TYPED_TEST(Floats, RowMeanSquareBackward) {
  // rmsnorm without the root: two reductions one after the other, elements,
  // a value per row, sums over the task's rows of columns and of rows.
  using T = TypeParam;
  for (int64_t S : {1, 333})
    for (int64_t D : {1, 5, 16, 72, 259}) {
      const int64_t grain = 50, tasks = (S + grain - 1) / grain;
      auto jit = compile<T>({"row",
                             size("S", S),
                             size("D", D),
                             grain,
                             {"S,D:T", "D:T"},
                             {"S,D:T", "S:T", "task,D:T", "task:T", "task:T"},
                             R"(
        %x2 = arith.mulf %0, %0 : T
        %ss = rt.row_reduce sum %x2 : T
        %n = arith.divf %0, %ss : T
        %g = arith.mulf %n, %1 : T
        %m = rt.row_reduce max %g : T
        %y = arith.subf %g, %m : T
        %cs = rt.col_reduce sum %y : T
        %rs = rt.col_reduce sum %m : T
        %rm = rt.col_reduce max %ss : T
        rt.yield %y, %m, %cs, %rs, %rm : T, T, T, T, T)"},
                            size("task", tasks));
      auto x = numbers<T>(S * D, 1), g = numbers<T>(D, 2);
      std::vector<T> want(S * D), max(S), sums(tasks * D), rows(tasks), largest(tasks, -INFINITY);
      for (int64_t s = 0; s < S; ++s) {
        T ss = rowSum<T>(D, [&](int64_t i) { return x[s * D + i] * x[s * D + i]; });
        max[s] = -INFINITY;
        for (int64_t i = 0; i < D; ++i)
          max[s] = std::max(max[s], want[s * D + i] = x[s * D + i] / ss * g[i]);
        for (int64_t i = 0; i < D; ++i) {
          want[s * D + i] -= max[s];
          sums[s / grain * D + i] += want[s * D + i];
        }
        rows[s / grain] += max[s];
        largest[s / grain] = std::max(largest[s / grain], ss);
      }
      auto got = x;
      std::vector<T> gotMax(S), gotSums(tasks * D, 7), gotRows(tasks), gotLargest(tasks);
      jit->run("k", tasks,
               {got.data(), g.data(), got.data(), gotMax.data(), gotSums.data(), gotRows.data(),
                gotLargest.data()});
      expectSame(got, want);
      expectSame(gotMax, max);
      expectSame(gotSums, sums);
      expectSame(gotRows, rows);
      expectSame(gotLargest, largest);
    }
}

//===----------------------------------------------------------------------===//
// Column
//===----------------------------------------------------------------------===//

TYPED_TEST(Floats, Column) {
  using T = TypeParam;
  for (int64_t S : {1, 333})
    for (int64_t D : {1, 5, 16, 72, 259}) {
      const int64_t grain = 80, tasks = (D + grain - 1) / grain;
      auto jit = compile<T>({"column",
                             size("S", S),
                             size("D", D),
                             grain,
                             {"S,D:T", "S:T", "D:T"},
                             {"D:T", "D:T", "S,D:T"},
                             R"(
        %a = arith.mulf %0, %1 : T
        %sum = rt.col_reduce sum %a : T
        %max = rt.col_reduce max %0 : T
        %b = arith.addf %sum, %2 : T
        rt.yield %b, %max, %a : T, T, T)"});
      auto x = numbers<T>(S * D, 1), w = numbers<T>(S, 2), old = numbers<T>(D, 3);
      std::vector<T> sum(D), max(D, -INFINITY), each(S * D);
      for (int64_t s = 0; s < S; ++s)
        for (int64_t i = 0; i < D; ++i) {
          sum[i] += each[s * D + i] = x[s * D + i] * w[s];
          max[i] = std::max(max[i], x[s * D + i]);
        }
      for (int64_t i = 0; i < D; ++i)
        sum[i] += old[i];
      std::vector<T> gotMax(D), gotEach(S * D);
      jit->run("k", tasks,
               {x.data(), w.data(), old.data(), old.data(), gotMax.data(), gotEach.data()});
      expectSame(old, sum);
      expectSame(gotMax, max);
      expectSame(gotEach, each);
    }
}

TYPED_TEST(Floats, ColumnScalars) {
  using T = TypeParam;
  auto jit = compile<T>({"column", "task=23", "", 1, {"task:T"}, {":T"}, R"(
    %s = rt.col_reduce sum %0 : T
    rt.yield %s : T)"});
  auto x = numbers<T>(23, 1);
  std::vector<T> want(1), got(1);
  for (T v : x)
    want[0] += v;
  jit->run("k", 1, {x.data(), got.data()});
  expectSame(got, want);
}
