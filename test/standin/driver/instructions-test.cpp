//===- instructions-test.cpp - single instructions against plain C++ ------===//
//
// Each on all triples of edge cases of its width, written here without the vectors that
// the interpreter uses.
//
//===----------------------------------------------------------------------===//
#include "test/standin/driver/driver-test.h"
#include <bit>
#include <cmath>
#include <functional>

namespace {
using Word = uint64_t;
using Reference = std::function<Word(Word, Word, Word)>;

float f32(Word x) { return std::bit_cast<float>(uint32_t(x)); }
double f64(Word x) { return std::bit_cast<double>(x); }
Word bits(float x) { return x != x ? 0x7FFFFFFF : std::bit_cast<uint32_t>(x); }
Word bits(double x) { return std::bit_cast<uint64_t>(x); }

class Instructions : public Driver {
protected:
  // Operands are %r10 to %r12, %rd10 to %rd12, %rs1 to %rs3 and %p6 to %p8 (odd); the
  // result is %r13, %rd13, %rs4 or %p1.
  void check(const std::string &text, const std::vector<Word> &values, Reference want,
             bool nanIsNan = false) {
    std::string result = text.find("%rd13") != text.npos  ? "st.global.b64 [%rd4+24], %rd13;"
                         : text.find("%r13") != text.npos ? "st.global.b32 [%rd4+24], %r13;"
                         : text.find("%rs4") != text.npos
                             ? "st.global.b16 [%rd4+24], %rs4;"
                             : "selp.b32 %r13, 1, 0, %p1;\nst.global.b32 [%rd4+24], %r13;";
    std::string body = "shl.b32 %r3, %r2, 5;\nadd.s32 %r3, %r3, %r1;\nmul.wide.u32 %rd4, %r3, 32;\n"
                       "add.s64 %rd4, %rd1, %rd4;\n";
    for (int i = 0; i < 3; ++i) {
      std::string n = std::to_string(10 + i), at = "[%rd4+" + std::to_string(8 * i) + "];\n";
      std::string odd = "%r" + std::to_string(20 + i), k = std::to_string(i + 1);
      body += "ld.global.b32 %r" + n + ", " + at + "ld.global.b64 %rd" + n + ", " + at +
              "ld.global.b16 %rs" + k + ", " + at + "and.b32 " + odd + ", %r" + n +
              ", 1;\nsetp.ne.b32 %p" + std::to_string(6 + i) + ", " + odd + ", 0;\n";
    }
    std::vector<Word> memory;
    for (Word x : values)
      for (Word y : values)
        for (Word z : values)
          memory.insert(memory.end(), {x, y, z, 0});
    while (memory.size() % 128)
      memory.insert(memory.end(), {1, 1, 1, 0});
    std::string log;
    ASSERT_EQ(load(ptx(body + text + "\n" + result, "", "", target, version), &log), CUDA_SUCCESS)
        << text << ": " << log;
    CUdeviceptr p;
    OK(cuMemAlloc_v2(&p, memory.size() * 8));
    OK(cuMemcpyHtoD_v2(p, memory.data(), memory.size() * 8));
    OK(cuStreamSynchronize(nullptr));
    OK(launch(a, p, memory.size() / 128, 32));
    OK(cuStreamSynchronize(a));
    OK(cuMemcpyDtoH_v2(memory.data(), p, memory.size() * 8));
    OK(cuMemFree_v2(p));
    OK(cuModuleUnload(module));
    for (size_t i = 0; i < memory.size(); i += 4) {
      Word w = want(memory[i], memory[i + 1], memory[i + 2]), got = memory[i + 3];
      if (nanIsNan && f64(w) != f64(w) && f64(got) != f64(got))
        continue;
      ASSERT_EQ(got, w) << text << std::hex << " of " << memory[i] << ", " << memory[i + 1] << ", "
                        << memory[i + 2] << ": got " << got << ", want " << w;
    }
  }
  std::string target = "sm_90", version = "7.8";
};

const std::vector<Word> kInts = {0,
                                 1,
                                 2,
                                 31,
                                 32,
                                 63,
                                 64,
                                 0x7FFF,
                                 0x8000,
                                 0xFFFF,
                                 0x12345678,
                                 0x7FFFFFFF,
                                 0x80000000,
                                 0xFFFFFFFF,
                                 0x123456789ABCDEF0,
                                 0x7FFFFFFFFFFFFFFF,
                                 0x8000000000000000,
                                 ~Word(0)};

TEST_F(Instructions, Integers) {
  using I = int32_t;
  using U = uint32_t;
  using L = int64_t;
  auto I32 = [&](const char *text, std::function<U(U, U, U)> f) {
    check(text, kInts, [f](Word x, Word y, Word z) { return Word(f(U(x), U(y), U(z))); });
  };
  I32("add.s32 %r13, %r10, %r11;", [](U x, U y, U) { return x + y; });
  I32("sub.s32 %r13, %r10, %r11;", [](U x, U y, U) { return x - y; });
  I32("mul.lo.s32 %r13, %r10, %r11;", [](U x, U y, U) { return x * y; });
  I32("mul.hi.u32 %r13, %r10, %r11;", [](U x, U y, U) { return U(Word(x) * y >> 32); });
  I32("mul.hi.s32 %r13, %r10, %r11;", [](U x, U y, U) { return U(L(I(x)) * I(y) >> 32); });
  I32("mad.lo.s32 %r13, %r10, %r11, %r12;", [](U x, U y, U z) { return x * y + z; });
  I32("min.s32 %r13, %r10, %r11;", [](U x, U y, U) { return U(I(x) < I(y) ? x : y); });
  I32("max.u32 %r13, %r10, %r11;", [](U x, U y, U) { return x > y ? x : y; });
  I32("neg.s32 %r13, %r10;", [](U x, U, U) { return 0 - x; });
  I32("abs.s32 %r13, %r10;", [](U x, U, U) { return I(x) < 0 ? 0 - x : x; });
  I32("not.b32 %r13, %r10;", [](U x, U, U) { return ~x; });
  I32("shl.b32 %r13, %r10, %r11;", [](U x, U y, U) { return y > 31 ? 0 : x << y; });
  I32("shr.u32 %r13, %r10, %r11;", [](U x, U y, U) { return y > 31 ? 0 : x >> y; });
  I32("shr.s32 %r13, %r10, %r11;", [](U x, U y, U) { return U(I(x) >> (y > 31 ? 31 : y)); });
  I32("shf.l.wrap.b32 %r13, %r10, %r11, %r12;",
      [](U x, U y, U z) { return z % 32 ? y << z % 32 | x >> (32 - z % 32) : y; });
  I32("shf.r.clamp.b32 %r13, %r10, %r11, %r12;", [](U x, U y, U z) {
    return z >= 32 ? y : z ? x >> z | y << (32 - z) : x;
  });
  I32("prmt.b32 %r13, %r10, %r11, 0x7632U;",
      [](U x, U y, U) { return x >> 16 | (y & 0xFFFF0000u); });
  I32("prmt.b32 %r13, %r10, %r11, 0x9140U;", [](U x, U y, U) {
    return (x & 255) | (y & 255) << 8 | (x >> 8 & 255) << 16 | (x & 0x8000 ? 0xFF000000u : 0);
  });
  I32("lop3.b32 %r13, %r10, %r11, %r12, 0xca;", [](U x, U y, U z) { return (x & y) | (~x & z); });
  I32("bfe.u32 %r13, %r10, 8, 12;", [](U x, U, U) { return x >> 8 & 0xFFF; });
  I32("bfe.s32 %r13, %r10, 24, 12;", [](U x, U, U) { return U(I(x) >> 24); });
  I32("bfi.b32 %r13, %r10, %r11, 4, 8;",
      [](U x, U y, U) { return (y & ~0xFF0u) | (x & 255) << 4; });
  I32("popc.b32 %r13, %r10;", [](U x, U, U) { return U(std::popcount(x)); });
}

TEST_F(Instructions, MoreIntegers) {
  using L = int64_t;
  auto U64 = [&](const char *text, Reference f) { check(text, kInts, f); };
  U64("popc.b64 %r13, %rd10;", [](Word x, Word, Word) { return Word(std::popcount(x)); });
  U64("clz.b32 %r13, %r10;",
      [](Word x, Word, Word) { return Word(std::countl_zero(uint32_t(x))); });
  U64("clz.b64 %r13, %rd10;", [](Word x, Word, Word) { return Word(std::countl_zero(x)); });
  U64("bfind.u32 %r13, %r10;",
      [](Word x, Word, Word) { return Word(uint32_t(31 - std::countl_zero(uint32_t(x)))); });
  U64("brev.b32 %r13, %r10;", [](Word x, Word, Word) {
    Word r = 0;
    for (int i = 0; i < 32; ++i)
      r |= (x >> i & 1) << (31 - i);
    return r;
  });
  U64("add.s64 %rd13, %rd10, %rd11;", [](Word x, Word y, Word) { return x + y; });
  U64("mul.lo.s64 %rd13, %rd10, %rd11;", [](Word x, Word y, Word) { return x * y; });
  U64("mul.hi.u64 %rd13, %rd10, %rd11;",
      [](Word x, Word y, Word) { return Word((unsigned __int128)x * y >> 64); });
  U64("mul.hi.s64 %rd13, %rd10, %rd11;",
      [](Word x, Word y, Word) { return Word((__int128)L(x) * L(y) >> 64); });
  U64("mad.lo.s64 %rd13, %rd10, %rd11, %rd12;", [](Word x, Word y, Word z) { return x * y + z; });
  U64("mul.wide.u32 %rd13, %r10, %r11;",
      [](Word x, Word y, Word) { return Word(uint32_t(x)) * uint32_t(y); });
  U64("mul.wide.s32 %rd13, %r10, -3;", [](Word x, Word, Word) { return Word(L(int32_t(x)) * -3); });
  U64("mad.wide.s32 %rd13, %r10, %r11, %rd12;",
      [](Word x, Word y, Word z) { return Word(L(int32_t(x)) * int32_t(y)) + z; });
  U64("mul.wide.s16 %r13, %rs1, %rs2;",
      [](Word x, Word y, Word) { return Word(uint32_t(int16_t(x) * int16_t(y))); });
  U64("shl.b64 %rd13, %rd10, %r11;",
      [](Word x, Word y, Word) { return uint32_t(y) > 63 ? 0 : x << uint32_t(y); });
  U64("shr.s64 %rd13, %rd10, %r11;",
      [](Word x, Word y, Word) { return Word(L(x) >> std::min<uint32_t>(63, uint32_t(y))); });
  U64("shr.s16 %rs4, %rs1, %r11;", [](Word x, Word y, Word) {
    return Word(uint16_t(int16_t(x) >> std::min<uint32_t>(15, uint32_t(y))));
  });
  U64("min.s64 %rd13, %rd10, %rd11;",
      [](Word x, Word y, Word) { return Word(std::min(L(x), L(y))); });
  U64("max.s16 %rs4, %rs1, %rs2;",
      [](Word x, Word y, Word) { return Word(uint16_t(std::max(int16_t(x), int16_t(y)))); });
  U64("or.b32 %r20, %r11, 1;\ndiv.s32 %r13, %r10, %r20;",
      [](Word x, Word y, Word) { return Word(uint32_t(L(int32_t(x)) / int32_t(y | 1))); });
  U64("or.b64 %rd20, %rd11, 1;\nrem.u64 %rd13, %rd10, %rd20;",
      [](Word x, Word y, Word) { return x % (y | 1); });
  U64("or.b64 %rd20, %rd11, 1;\ndiv.s64 %rd13, %rd10, %rd20;",
      [](Word x, Word y, Word) { return Word((__int128)L(x) / L(y | 1)); });
  U64("setp.lt.s32 %p1, %r10, %r11;", [](Word x, Word y, Word) { return int32_t(x) < int32_t(y); });
  U64("setp.lt.u32 %p1, %r10, %r11;",
      [](Word x, Word y, Word) { return uint32_t(x) < uint32_t(y); });
  U64("setp.ge.s64 %p1, %rd10, %rd11;", [](Word x, Word y, Word) { return L(x) >= L(y); });
  U64("setp.hi.u64 %p1, %rd10, %rd11;", [](Word x, Word y, Word) { return x > y; });
  U64("setp.ne.b16 %p1, %rs1, %rs2;",
      [](Word x, Word y, Word) { return uint16_t(x) != uint16_t(y); });
  U64("setp.eq.and.b32 %p1, %r10, %r11, !%p8;",
      [](Word x, Word y, Word z) { return uint32_t(x) == uint32_t(y) && !(z & 1); });
  U64("setp.lt.or.u32 %p2|%p1, %r10, %r11, %p8;",
      [](Word x, Word y, Word z) { return !(uint32_t(x) < uint32_t(y)) || (z & 1); });
  U64("xor.pred %p2, %p6, %p7;\nnot.pred %p1, %p2;",
      [](Word x, Word y, Word) { return !((x ^ y) & 1); });
  U64("selp.b64 %rd13, %rd10, %rd11, %p8;", [](Word x, Word y, Word z) { return z & 1 ? x : y; });
  U64("selp.b16 %rs4, %rs1, -2, %p8;",
      [](Word x, Word, Word z) { return z & 1 ? x & 0xFFFF : 0xFFFE; });
  U64("slct.b32.s32 %r13, %r10, %r11, %r12;",
      [](Word x, Word y, Word z) { return Word(uint32_t(int32_t(z) >= 0 ? x : y)); });
  U64("mov.b32 {%rs4, _}, %r10;", [](Word x, Word, Word) { return x & 0xFFFF; });
  U64("mov.b64 %rd13, {%r10, %r11};", [](Word x, Word y, Word) { return (x & ~0u) | y << 32; });
  U64("mov.b64 %rd13, {%rs1, %rs2, %rs3, %rs1};", [](Word x, Word y, Word z) {
    return (x & 0xFFFF) | (y & 0xFFFF) << 16 | (z & 0xFFFF) << 32 | x << 48;
  });
}

TEST_F(Instructions, Conversions) {
  using L = int64_t;
  auto C = [&](const char *text, std::function<Word(Word)> f) {
    check(text, kInts, [f](Word x, Word, Word) { return f(x); });
  };
  C("cvt.s64.s32 %rd13, %r10;", [](Word x) { return Word(L(int32_t(x))); });
  C("cvt.u64.u32 %rd13, %r10;", [](Word x) { return Word(uint32_t(x)); });
  C("cvt.u32.u64 %r13, %rd10;", [](Word x) { return Word(uint32_t(x)); });
  C("cvt.s32.s8 %r13, %r10;", [](Word x) { return Word(uint32_t(int8_t(x))); });
  C("cvt.u16.u32 %rs4, %r10;", [](Word x) { return x & 0xFFFF; });
  C("cvt.s16.s8 %rs4, %rs1;", [](Word x) { return Word(uint16_t(int8_t(x))); });
  C("cvt.s64.s16 %rd13, %rs1;", [](Word x) { return Word(L(int16_t(x))); });
  C("cvt.rn.f32.s32 %r13, %r10;", [](Word x) { return bits(float(int32_t(x))); });
  C("cvt.rn.f32.u32 %r13, %r10;", [](Word x) { return bits(float(uint32_t(x))); });
  C("cvt.rn.f32.s64 %r13, %rd10;", [](Word x) { return bits(float(L(x))); });
  C("cvt.rn.f64.u64 %rd13, %rd10;", [](Word x) { return bits(double(x)); });
  C("cvt.rn.f64.s64 %rd13, %rd10;", [](Word x) { return bits(double(L(x))); });
  C("cvt.rn.f32.u16 %r13, %rs1;", [](Word x) { return bits(float(uint16_t(x))); });
}

std::vector<Word> floats() {
  std::vector<Word> all;
  for (float x : {0.f, -0.f, 1.f, -1.5f, 2.5f, 3.5f, 0x1p-149f, -0x1.8p-127f, 0x1.fffffep127f,
                  1e10f, -3e9f, 0.1f, 1.00390625f, 1.01171875f, HUGE_VALF, -HUGE_VALF})
    all.push_back(bits(x));
  all.push_back(0xFFC12345); // a NaN that carries something
  return all;
}
std::vector<Word> doubles() {
  std::vector<Word> all;
  for (double x : {0., -0., 1., -1.5, 2.5, 0x1p-1074, 0x1.fffffffffffffp1023, 1e10, -3e9, 0.1,
                   9.3e18, 0x1.000001p0, HUGE_VAL, -HUGE_VAL})
    all.push_back(bits(x));
  all.push_back(0x7FF8000000012345);
  return all;
}

TEST_F(Instructions, Floats) {
  auto F = [&](const char *text, std::function<float(float, float, float)> f) {
    check(text, floats(), [f](Word x, Word y, Word z) { return bits(f(f32(x), f32(y), f32(z))); });
  };
  auto P = [&](const char *text, std::function<bool(float, float)> f) {
    check(text, floats(), [f](Word x, Word y, Word) { return Word(f(f32(x), f32(y))); });
  };
  F("add.rn.f32 %r13, %r10, %r11;", [](float x, float y, float) { return x + y; });
  F("sub.rn.f32 %r13, %r10, %r11;", [](float x, float y, float) { return x - y; });
  F("mul.rn.f32 %r13, %r10, %r11;", [](float x, float y, float) { return x * y; });
  F("div.rn.f32 %r13, %r10, %r11;", [](float x, float y, float) { return x / y; });
  F("rcp.rn.f32 %r13, %r10;", [](float x, float, float) { return 1 / x; });
  F("sqrt.rn.f32 %r13, %r10;", [](float x, float, float) { return std::sqrt(x); });
  F("fma.rn.f32 %r13, %r10, %r11, %r12;",
    [](float x, float y, float z) { return std::fma(x, y, z); });
  F("mul.rn.f32 %r20, %r10, %r11;\nadd.rn.f32 %r13, %r20, %r12;", // two roundings
    [](float x, float y, float z) {
      volatile float p = x * y;
      return p + z;
    });
  auto max = [](float x, float y, float) {
    return x != x ? y : y != y ? x : x == y ? (std::signbit(x) ? y : x) : x > y ? x : y;
  };
  F("max.f32 %r13, %r10, %r11;", max);
  F("max.NaN.f32 %r13, %r10, %r11;",
    [max](float x, float y, float) { return x != x || y != y ? NAN : max(x, y, 0); });
  F("min.f32 %r13, %r10, %r11;", [max](float x, float y, float) { return -max(-x, -y, 0); });
  P("setp.lt.f32 %p1, %r10, %r11;", [](float x, float y) { return x < y; });
  P("setp.eq.f32 %p1, %r10, %r11;", [](float x, float y) { return x == y; });
  P("setp.ne.f32 %p1, %r10, %r11;", [](float x, float y) { return x < y || x > y; });
  P("setp.neu.f32 %p1, %r10, %r11;", [](float x, float y) { return x != y; });
  P("setp.geu.f32 %p1, %r10, %r11;", [](float x, float y) { return !(x < y); });
  P("setp.equ.f32 %p1, %r10, %r11;", [](float x, float y) { return !(x < y || x > y); });
  P("setp.nan.f32 %p1, %r10, %r11;", [](float x, float y) { return x != x || y != y; });
  P("setp.num.f32 %p1, %r10, %r11;", [](float x, float y) { return x == x && y == y; });
  P("testp.subnormal.f32 %p1, %r10;",
    [](float x, float) { return std::fpclassify(x) == FP_SUBNORMAL; });
  // These move bits, of NaNs too.
  check("copysign.f32 %r13, %r10, %r11;", floats(),
        [](Word x, Word y, Word) { return (x & 0x80000000) | (y & 0x7FFFFFFF); });
  check("abs.f32 %r20, %r10;\nneg.f32 %r13, %r20;", floats(),
        [](Word x, Word, Word) { return x | 0x80000000; });
}

TEST_F(Instructions, Doubles) {
  auto D = [&](const char *text, std::function<double(double, double, double)> f) {
    check(
        text, doubles(), [f](Word x, Word y, Word z) { return bits(f(f64(x), f64(y), f64(z))); },
        true);
  };
  D("add.rn.f64 %rd13, %rd10, %rd11;", [](double x, double y, double) { return x + y; });
  D("mul.rn.f64 %rd13, %rd10, %rd11;", [](double x, double y, double) { return x * y; });
  D("div.rn.f64 %rd13, %rd10, %rd11;", [](double x, double y, double) { return x / y; });
  D("sqrt.rn.f64 %rd13, %rd10;", [](double x, double, double) { return std::sqrt(x); });
  D("fma.rn.f64 %rd13, %rd10, %rd11, %rd12;",
    [](double x, double y, double z) { return std::fma(x, y, z); });
  D("max.f64 %rd13, %rd10, %rd11;", [](double x, double y, double) {
    return x != x ? y : y != y ? x : x == y ? (std::signbit(x) ? y : x) : x > y ? x : y;
  });
  D("cvt.rmi.f64.f64 %rd13, %rd10;", [](double x, double, double) { return std::floor(x); });
  D("cvt.rni.f64.f64 %rd13, %rd10;", [](double x, double, double) { return std::nearbyint(x); });
  check("cvt.rn.f32.f64 %r13, %rd10;", doubles(),
        [](Word x, Word, Word) { return bits(float(f64(x))); });
  check(
      "cvt.f64.f32 %rd13, %r10;", floats(), [](Word x, Word, Word) { return bits(double(f32(x))); },
      true);
}

TEST_F(Instructions, FloatsToIntegers) {
  auto clamp = [](double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
  };
  check("cvt.rzi.s32.f32 %r13, %r10;", floats(), [&](Word x, Word, Word) -> Word {
    float v = f32(x);
    return v != v ? 0 : uint32_t(int32_t(clamp(std::trunc(v), -0x1p31, 0x1p31 - 1)));
  });
  check("cvt.rni.u32.f32 %r13, %r10;", floats(), [&](Word x, Word, Word) -> Word {
    float v = f32(x);
    return v != v ? 0 : uint32_t(clamp(std::nearbyint(v), 0, 0x1p32 - 1));
  });
  check("cvt.rmi.s64.f64 %rd13, %rd10;", doubles(), [](Word x, Word, Word) -> Word {
    double v = std::floor(f64(x));
    return v != v        ? Word(1) << 63
           : v >= 0x1p63 ? ~Word(0) >> 1
           : v < -0x1p63 ? Word(1) << 63
                         : Word(int64_t(v));
  });
}

/// Rounded to nearest even by comparing the neighbours, not by bits.
Word toBf16(float x) {
  if (x != x)
    return 0x7FFF;
  if (std::isinf(x))
    return x < 0 ? 0xFF80 : 0x7F80;
  uint32_t down = std::bit_cast<uint32_t>(x) & 0xFFFF0000u, up = down + 0x10000;
  double low = std::bit_cast<float>(down), high = std::bit_cast<float>(up);
  if (std::isinf(high) && !std::isinf(low)) // beyond the largest, by the step before
    high = low + (low - double(std::bit_cast<float>(down - 0x10000)));
  double toLow = std::fabs(x - low), toHigh = std::fabs(high - x);
  return (toLow < toHigh || (toLow == toHigh && !(down >> 16 & 1)) ? down : up) >> 16;
}

TEST_F(Instructions, Halves) {
  check("cvt.rn.bf16.f32 %rs4, %r10;", floats(), [](Word x, Word, Word) { return toBf16(f32(x)); });
  check("cvt.rn.bf16x2.f32 %r13, %r10, %r11;", floats(),
        [](Word x, Word y, Word) { return toBf16(f32(x)) << 16 | toBf16(f32(y)); });
  check("cvt.rz.bf16.f32 %rs4, %r10;", floats(),
        [](Word x, Word, Word) { return f32(x) != f32(x) ? 0x7FFF : x >> 16; });
  check("cvt.f32.bf16 %r13, %rs1;", kInts,
        [](Word x, Word, Word) { return bits(std::bit_cast<float>(uint32_t(x) << 16)); });
  check("cvt.rn.f16.f32 %rs4, %r10;", floats(), [](Word x, Word, Word) {
    float v = f32(x);
    return v != v ? 0x7FFF : Word(std::bit_cast<uint16_t>(_Float16(v)));
  });
  check("cvt.f32.f16 %r13, %rs1;", kInts,
        [](Word x, Word, Word) { return bits(float(std::bit_cast<_Float16>(uint16_t(x)))); });
  check("cvt.f64.f16 %rd13, %rs1;", kInts,
        [](Word x, Word, Word) { return bits(double(std::bit_cast<_Float16>(uint16_t(x)))); });
}

/// The nearest of all codes, by their values; the even one of two, the largest beyond it.
Word toEight(float x, int mantissa, int bias, Word largest) {
  if (x != x)
    return 0x7F;
  auto value = [&](Word code) {
    Word exponent = code >> mantissa, rest = code & ((1 << mantissa) - 1);
    return exponent ? std::ldexp(1 + std::ldexp(double(rest), -mantissa), int(exponent) - bias)
                    : std::ldexp(double(rest), 1 - bias - mantissa);
  };
  Word best = std::fabs(double(x)) < value(largest) ? 0 : largest;
  for (Word code = 1; best != largest && code <= largest; ++code) {
    double here = std::fabs(std::fabs(double(x)) - value(code)),
           before = std::fabs(std::fabs(double(x)) - value(best));
    if (here < before || (here == before && code % 2 == 0))
      best = code;
  }
  return best | (std::signbit(x) ? 0x80 : 0);
}

TEST_F(Instructions, Eights) {
  start({{"STANDIN_ARCH", "89"}});
  target = "sm_89", version = "8.1";
  std::vector<Word> some = floats();
  for (float x :
       {0.001f, 0.0009765625f, 0.00146484375f, 0.0029f, 1.0625f, 1.1875f, 17.f, 25.f, 447.f, 448.f,
        464.f, 465.f, -480.f, 57344.f, 61440.f, -61441.f, 1e-5f, 7.6e-6f, 2.3e-5f})
    some.push_back(bits(x));
  check("cvt.rn.satfinite.e4m3x2.f32 %rs4, %r10, %r11;", some, [](Word x, Word y, Word) {
    return toEight(f32(x), 3, 7, 0x7E) << 8 | toEight(f32(y), 3, 7, 0x7E);
  });
  check("cvt.rn.satfinite.e5m2x2.f32 %rs4, %r10, %r11;", some, [](Word x, Word y, Word) {
    return toEight(f32(x), 2, 15, 0x7B) << 8 | toEight(f32(y), 2, 15, 0x7B);
  });
}

/// f16 in double, where sums and products of two are exact.
Word halfOf(Word x, Word y, double (*f)(double, double)) {
  auto number = [](Word bits) { return double(std::bit_cast<_Float16>(uint16_t(bits))); };
  double v = f(number(x), number(y));
  return v != v ? 0x7FFF : Word(std::bit_cast<uint16_t>(_Float16(v)));
}

TEST_F(Instructions, ArithmeticOfHalves) {
  std::vector<Word> halves; // two in a word: normal, denormal, at ties, infinite, none
  for (Word one : {0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x1001, 0x3C00, 0xBC01, 0x4BFF, 0x7BFF,
                   0xFBFE, 0x7C00, 0xFC00, 0x7E01})
    for (Word other : {0x3555, 0x0003, 0x7BFF, 0xFC00})
      halves.push_back(other << 16 | one);
  struct Row {
    const char *name;
    double (*f)(double, double);
  };
  for (Row row : {Row{"add", [](double x, double y) { return x + y; }},
                  Row{"sub", [](double x, double y) { return x - y; }},
                  Row{"mul", [](double x, double y) { return x * y; }}}) {
    auto f = row.f;
    check(std::string(row.name) + ".rn.f16x2 %r13, %r10, %r11;", halves, [f](Word x, Word y, Word) {
      return halfOf(x >> 16, y >> 16, f) << 16 | halfOf(x & 0xFFFF, y & 0xFFFF, f);
    });
    check(std::string(row.name) + ".rn.f16 %rs4, %rs1, %rs2;", halves,
          [f](Word x, Word y, Word) { return halfOf(x & 0xFFFF, y & 0xFFFF, f); });
  }
  for (std::string type : {"f16", "bf16"}) {
    check("abs." + type + "x2 %r13, %r10;", halves,
          [](Word x, Word, Word) { return x & 0x7FFF7FFF; });
    check("neg." + type + "x2 %r13, %r10;", halves,
          [](Word x, Word, Word) { return x ^ 0x80008000; });
    check("abs." + type + " %rs4, %rs1;", halves, [](Word x, Word, Word) { return x & 0x7FFF; });
    check("neg." + type + " %rs4, %rs1;", halves,
          [](Word x, Word, Word) { return (x & 0xFFFF) ^ 0x8000; });
  }
  struct Comparison {
    const char *name;
    bool (*holds)(double, double);
  };
  for (Comparison it : {Comparison{"lt", [](double x, double y) { return x < y; }},
                        Comparison{"ne", [](double x, double y) { return x < y || x > y; }},
                        Comparison{"geu", [](double x, double y) { return !(x < y); }}}) {
    auto number = [](Word bits) { return double(std::bit_cast<_Float16>(uint16_t(bits))); };
    check("setp." + std::string(it.name) + ".f16 %p1, %rs1, %rs2;", halves,
          [=](Word x, Word y, Word) -> Word { return it.holds(number(x), number(y)); });
    std::string pair = "setp." + std::string(it.name) + ".f16x2 ";
    check(pair + "%p1|%p2, %r10, %r11;", halves,
          [=](Word x, Word y, Word) -> Word { return it.holds(number(x), number(y)); });
    check(pair + "%p2|%p1, %r10, %r11;", halves,
          [=](Word x, Word y, Word) -> Word { return it.holds(number(x >> 16), number(y >> 16)); });
    pair = "setp." + std::string(it.name) + ".and.f16x2 ";
    check(pair + "%p2|%p1, %r10, %r11, !%p8;", halves, [=](Word x, Word y, Word z) -> Word {
      return it.holds(number(x >> 16), number(y >> 16)) && !(z & 1);
    });
  }
  check("cvt.rn.f16x2.f32 %r13, %r10, %r11;", floats(), [](Word x, Word y, Word) {
    auto half = [](float v) {
      return v != v ? 0x7FFF : Word(std::bit_cast<uint16_t>(_Float16(v)));
    };
    return half(f32(x)) << 16 | half(f32(y));
  });
}

TEST_F(Instructions, Pairs) {
  start({{"STANDIN_ARCH", "100"}});
  target = "sm_100", version = "8.6";
  std::vector<Word> pairs;
  std::vector<Word> all = floats();
  for (size_t i = 0; i < all.size(); ++i)
    pairs.push_back(all[i] | all[(i + 5) % all.size()] << 32);
  auto both = [](std::function<float(float, float, float)> f) {
    return [f](Word x, Word y, Word z) {
      return bits(f(f32(x), f32(y), f32(z))) | bits(f(f32(x >> 32), f32(y >> 32), f32(z >> 32)))
                                                   << 32;
    };
  };
  check("add.rn.f32x2 %rd13, %rd10, %rd11;", pairs,
        both([](float x, float y, float) { return x + y; }));
  check("mul.rn.f32x2 %rd13, %rd10, %rd11;", pairs,
        both([](float x, float y, float) { return x * y; }));
  check("fma.rn.f32x2 %rd13, %rd10, %rd11, %rd12;", pairs,
        both([](float x, float y, float z) { return std::fma(x, y, z); }));
}
} // namespace
