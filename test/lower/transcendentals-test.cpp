//===- transcendentals-test.cpp - the table against long double -----------===//
//
// Each function on dense samples of its whole domain: the largest error in units
// in the last place of the type, and the exact special values.
//
//===----------------------------------------------------------------------===//
#include "test/lower/jit.h"
#include <cfloat>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace {
template <typename T> constexpr const char *kName = sizeof(T) == 4 ? "f32" : "f64";
constexpr double kInf = std::numeric_limits<double>::infinity();

template <typename T> std::vector<T> evaluate(const std::string &op, std::vector<T> x) {
  std::string n = std::to_string(x.size());
  KernelText k{
      "map", "", "S=" + n, 1, {"S:T"}, {"S:T"}, "%y = math." + op + " %0 : T\nrt.yield %y : T"};
  Jit jit(k.text("k", kName<T>));
  std::vector<T> y(x.size());
  jit.run("k", 1, {x.data(), y.data()});
  return y;
}

/// |y - exact| in units in the last place of T at the exact value.
template <typename T> double ulps(T y, long double exact) {
  using L = std::numeric_limits<T>;
  if (std::isnan(exact))
    return std::isnan(y) ? 0 : kInf;
  if (fabsl(exact) > L::max() && (std::isinf(y) || std::fabs(y) == L::max()) &&
      (y > 0) == (exact > 0))
    return 0;
  int e;
  frexpl(exact, &e);
  long double unit = exact == 0 ? L::denorm_min()
                                : ldexpl(1, std::max(e - L::digits, L::min_exponent - L::digits));
  return double(fabsl((long double)y - exact) / unit);
}

/// Samples by even steps in [lo, hi], and by even steps of the exponent.
template <typename T> std::vector<T> samples(double lo, double hi, int n) {
  std::vector<T> x;
  for (int i = 0; i <= n; ++i)
    x.push_back(T(lo + (hi - lo) * i / n));
  double end = std::max(std::fabs(lo), std::fabs(hi));
  double least = sizeof(T) == 4 ? -149 : -1074;
  for (int i = 0; i <= n / 4; ++i) {
    T v = T(std::exp2(least + (std::log2(end) - least) * i / (n / 4)) *
            (1 + 0.37 * ((i * 7919) % 101) / 101));
    for (T s : {v, T(-v)})
      if (s >= lo && s <= hi)
        x.push_back(s);
  }
  return x;
}

struct Case {
  const char *op;
  long double (*exact)(long double);
  double lo32, hi32, lo64, hi64;
  double bound; ///< ulp
};
long double rsqrtl(long double x) { return 1 / sqrtl(x); }
const Case kCases[] = {
    {"exp", expl, -110, 95, -750, 715, 2},
    {"log", logl, 0, 3e38, 0, 1.7e308, 1.5},
    {"log", logl, 0, 4, 0, 4, 1.5},
    {"tanh", tanhl, -12, 12, -25, 25, 2.5},
    {"erf", erfl, -6, 6, -7, 7, 2},
    {"sin", sinl, -1e5, 1e5, -1e6, 1e6, 2},
    {"cos", cosl, -1e5, 1e5, -1e6, 1e6, 2},
    {"sin", sinl, -8, 8, -8, 8, 2},
    {"cos", cosl, -8, 8, -8, 8, 2},
    {"rsqrt", rsqrtl, 0, 3e38, 0, 1.7e308, 1.5},
    {"sqrt", sqrtl, 0, 3e38, 0, 1.7e308, 0.5},
};

template <typename T> void check(const Case &c, double lo, double hi) {
  std::vector<T> x = samples<T>(lo, hi, 400000), y = evaluate(c.op, x);
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < x.size(); ++i)
    if (double u = ulps(y[i], c.exact(x[i])); u > worst)
      worst = u, at = i;
  printf("  %-6s %s: %.3f ulp\n", c.op, kName<T>, worst);
  EXPECT_LE(worst, c.bound) << c.op << "(" << x[at] << ") = " << y[at] << ", exactly "
                            << double(c.exact(x[at]));
}
} // namespace

TEST(Transcendentals, Ulps32) {
  for (const Case &c : kCases)
    check<float>(c, c.lo32, c.hi32);
}

TEST(Transcendentals, Ulps64) {
  for (const Case &c : kCases)
    check<double>(c, c.lo64, c.hi64);
}

template <typename T> void special() {
  const T inf = T(kInf), nan = T(NAN), max = std::numeric_limits<T>::max();
  struct Special {
    const char *op;
    T x, y;
  } table[] = {
      {"exp", inf, inf},      {"exp", -inf, 0},   {"exp", 0, 1},      {"exp", T(-0.0), 1},
      {"exp", nan, nan},      {"exp", max, inf},  {"exp", -max, 0},   {"log", 0, -inf},
      {"log", T(-0.0), -inf}, {"log", -1, nan},   {"log", -inf, nan}, {"log", inf, inf},
      {"log", 1, 0},          {"log", nan, nan},  {"tanh", inf, 1},   {"tanh", -inf, -1},
      {"tanh", nan, nan},     {"tanh", 0, 0},     {"tanh", max, 1},   {"erf", inf, 1},
      {"erf", -inf, -1},      {"erf", nan, nan},  {"erf", 0, 0},      {"erf", max, 1},
      {"sin", inf, nan},      {"sin", -inf, nan}, {"sin", nan, nan},  {"sin", 0, 0},
      {"cos", inf, nan},      {"cos", nan, nan},  {"cos", 0, 1},      {"cos", T(-0.0), 1},
      {"rsqrt", 0, inf},      {"rsqrt", inf, 0},  {"rsqrt", -1, nan}, {"rsqrt", nan, nan},
  };
  for (const Special &s : table) {
    T y = evaluate<T>(s.op, {s.x})[0];
    EXPECT_TRUE(std::isnan(s.y) ? std::isnan(y) : y == s.y) << s.op << "(" << s.x << ") = " << y;
  }
}
TEST(Transcendentals, Special32) { special<float>(); }
TEST(Transcendentals, Special64) { special<double>(); }

TEST(Transcendentals, OddFunctionsKeepTheSignOfZero) {
  for (const char *op : {"tanh", "erf"})
    EXPECT_TRUE(std::signbit(evaluate<float>(op, {-0.0f})[0])) << op;
}

TEST(Transcendentals, SameBitsOnEveryWidthAndInstructionSet) {
  // 16 lanes, a tail, a scalar; AVX2 and this machine.
  for (const Case &c : kCases) {
    std::vector<float> x = samples<float>(c.lo32, c.hi32, 99);
    std::string n = std::to_string(x.size());
    KernelText vectors{"map",
                       "",
                       "S=" + n,
                       1,
                       {"S:T"},
                       {"S:T"},
                       std::string("%y = math.") + c.op + " %0 : T\nrt.yield %y : T"};
    KernelText scalars{"map", "S=" + n + ",A=2", "B=2", 1, {"S:T"}, {"S,A,B:T"}, vectors.body};
    auto one = evaluate(c.op, x);
    std::vector<float> avx2(x.size()), scalar(4 * x.size());
    Jit(vectors.text("k", "f32"), "x86-64-v3").run("k", 1, {x.data(), avx2.data()});
    Jit(scalars.text("k", "f32")).run("k", 2 * x.size(), {x.data(), scalar.data()});
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(std::memcmp(&one[i], &avx2[i], 4), 0) << c.op << "(" << x[i] << ")";
      EXPECT_EQ(std::memcmp(&one[i], &scalar[4 * i + 3], 4), 0) << c.op << "(" << x[i] << ")";
    }
  }
}
