//===- f8-test.cpp - E4M3 and E5M2: the runtime's bits, and those of kernels ----===//
//
// Inputs/f8.txt has hashes of what ml_dtypes makes of many inputs; make_f8.py says of which.
//
//===----------------------------------------------------------------------===//
#include "runtime/support/f8.h"
#include "test/lower/numbers.h"
#include "test/lower/targets.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

#include <bit>
#include <cmath>
#include <fstream>
#include <map>

using namespace tplan::runtime;

namespace {

/// What make_f8.py and the IR call a type.
template <typename T> constexpr bool isE4M3 = std::is_same_v<T, f8e4m3>;
template <typename T> constexpr const char *formatOf = isE4M3<T> ? "e4m3" : "e5m2";
template <typename T> constexpr const char *elementOf = isE4M3<T> ? "f8E4M3FN" : "f8E5M2";

template <typename T> std::string hashOf(const std::vector<T> &values) {
  llvm::SHA256 hash;
  hash.update(
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(values.data()), values.size() * sizeof(T)));
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

/// The hashes of Inputs/f8.txt, by format and kind of input.
std::map<std::string, std::string> storedHashes() {
  std::ifstream file(SOURCE "/test/lower/Inputs/f8.txt");
  std::map<std::string, std::string> hashes;
  for (std::string format, kind, hash; file >> format >> kind >> hash;)
    hashes[format + " " + kind] = hash;
  return hashes;
}

/// All numbers of bf16, or of f16, as f32.
std::vector<float> all16(bool bf16) {
  std::vector<float> all(65536);
  for (uint32_t code = 0; code < 65536; ++code)
    all[code] =
        bf16 ? std::bit_cast<float>(code << 16) : float(std::bit_cast<_Float16>(uint16_t(code)));
  return all;
}

/// As make_f8.py has them.
std::vector<float> randomFloats(size_t n) {
  std::vector<float> all(n);
  for (size_t i = 0; i < n; ++i) {
    uint64_t z = (i + 1) * 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    uint32_t bits = (z ^ (z >> 31)) >> 32;
    uint32_t near = (bits & 0x807FFFFF) | ((108 + (bits >> 23) % 38) << 23);
    all[i] = std::bit_cast<float>(i % 2 ? near : bits);
  }
  return all;
}

template <typename T> std::vector<uint8_t> roundedByRuntime(const std::vector<float> &x) {
  std::vector<uint8_t> codes(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    codes[i] = uint8_t(roundTo<T>(x[i]));
  return codes;
}

template <typename T> void expectStored() {
  auto stored = storedHashes();
  auto expect = [&](const char *kind, const std::string &hash) {
    EXPECT_EQ(hash, stored[formatOf<T> + std::string(" ") + kind]) << formatOf<T> << " " << kind;
  };
  std::vector<uint32_t> wide(256);
  for (uint32_t code = 0; code < 256; ++code) {
    float value = widen(T(code));
    wide[code] = std::isnan(value) ? 0x7FC00000 : std::bit_cast<uint32_t>(value);
  }
  expect("codes", hashOf(wide));
  expect("bf16", hashOf(roundedByRuntime<T>(all16(true))));
  expect("f16", hashOf(roundedByRuntime<T>(all16(false))));
  expect("f32", hashOf(roundedByRuntime<T>(randomFloats(10'000'000))));
}

TEST(F8InRuntime, ConvertsAsMlDtypesOfClampedValues) {
  expectStored<f8e4m3>();
  expectStored<f8e5m2>();
}

/// A kernel makes T of f32 and f64, and f32 of T.
template <typename T> void expectKernels(On on) {
  std::vector<float> x = all16(true), more = all16(false), some = randomFloats(1'000'000);
  x.insert(x.end(), more.begin(), more.end());
  x.insert(x.end(), some.begin(), some.end());
  auto n = int64_t(x.size());
  Kernel jit(
      on,
      KernelText{
          "map", "", "S=" + std::to_string(n), 1, {"S:f32", "S:f64"}, {"S:T", "S:T", "S:f32"}, R"(
    %a = arith.truncf %0 : f32 to T
    %b = arith.truncf %1 : f64 to T
    %c = arith.extf %a : T to f32
    rt.yield %a, %b, %c : T, T, f32)"}
          .text("k", elementOf<T>));
  // An f64 beside the middle of two numbers is an f32 that is the middle.
  std::vector<double> y(n);
  std::vector<uint8_t> wantY(n);
  for (int64_t i = 0; i < n; ++i) {
    uint32_t code = i % (isE4M3<T> ? 0x7E : 0x7B), sign = i & 128;
    double low = widen(T(code)), high = widen(T(code + 1));
    int way = i / 256 % 3 - 1;
    y[i] = (low + high) / 2 * (1 + way * 0x1p-40) * (sign ? -1 : 1);
    wantY[i] = (way < 0 ? code : way > 0 ? code + 1 : code + code % 2) | sign;
  }
  std::vector<uint8_t> ofX(n), ofY(n);
  std::vector<float> back(n);
  jit.run("k", 1, {x.data(), y.data(), ofX.data(), ofY.data(), back.data()});
  std::vector<uint8_t> want = roundedByRuntime<T>(x);
  int wrong = 0;
  for (int64_t i = 0; i < n && wrong < 10; ++i) {
    if (ofX[i] != want[i])
      ++wrong, ADD_FAILURE() << x[i] << " gave " << int(ofX[i]) << ", not " << int(want[i]);
    if (ofY[i] != wantY[i])
      ++wrong, ADD_FAILURE() << y[i] << " gave " << int(ofY[i]) << ", not " << int(wantY[i]);
    float wide = widen(T(want[i]));
    if (std::bit_cast<uint32_t>(back[i]) != std::bit_cast<uint32_t>(wide))
      ++wrong, ADD_FAILURE() << int(want[i]) << " became " << back[i] << ", not " << wide;
  }
  EXPECT_EQ(wrong, 0);
}

class F8 : public testing::TestWithParam<On> {};
TEST_P(F8, KernelsConvertE4M3) { expectKernels<f8e4m3>(GetParam()); }
TEST_P(F8, KernelsConvertE5M2) { expectKernels<f8e5m2>(GetParam()); }

} // namespace

INSTANTIATE_TEST_SUITE_P(Each, F8, testing::Values(On::cpu, On::avx2, On::gpu),
                         [](auto &info) { return nameOf(info.param); });
