//===- float.cpp - arithmetic of floats -----------------------------------===//
//
// One decision: only what is rounded as written is accepted. A product or a sum without .rn may be
// contracted by the assembler of the driver, approximations differ between GPUs, and .ftz is not
// IEEE: all of these are refused, because no test could rely on their bits.
//
//===----------------------------------------------------------------------===//
#include "test/standin/driver/decode.h"
#include "test/standin/driver/lanes.h"

namespace standin {

namespace {
using Fn = void (*)(Warp &, const Inst &);

/// A NaN that an operation in f32 makes has these bits on every GPU. NaNs are recognised by their
/// bits: to LLVM all NaNs are the same, and it drops a selection between two.
constexpr auto canonical = [](auto v) {
  if constexpr (sizeof(v[0]) == 4) {
    using Ints = decltype(v == v);
    Ints bits = __builtin_bit_cast(Ints, v), nan = (bits & 0x7FFFFFFF) > 0x7F800000;
    bits = (bits & ~nan) | (Ints(0x7FFFFFFF) & nan);
    return __builtin_bit_cast(decltype(v), bits);
  } else {
    return v;
  }
};

constexpr auto kAdd = [](auto a, auto b) { return canonical(a + b); };
constexpr auto kSub = [](auto a, auto b) { return canonical(a - b); };
constexpr auto kMul = [](auto a, auto b) { return canonical(a * b); };
constexpr auto kDiv = [](auto a, auto b) { return canonical(a / b); };
constexpr auto kFma = [](auto a, auto b, auto c) {
  return canonical(__builtin_elementwise_fma(a, b, c));
};
constexpr auto kSqrt = [](auto a) { return canonical(__builtin_elementwise_sqrt(a)); };
constexpr auto kRcp = [](auto a) { return canonical(decltype(a)(1) / a); };

/// -0 is below +0; without .NaN the operand that is a number wins.
template <bool nan, bool max>
constexpr auto kExtreme = [](auto a, auto b) {
  using V = decltype(a);
  using Ints = decltype(a == a);
  Ints x = __builtin_bit_cast(Ints, a), y = __builtin_bit_cast(Ints, b);
  Ints equal = a == b, aNan = a != a, bNan = b != b;
  Ints first = max ? a > b : a < b;
  Ints best = (first & x) | (~first & y);
  best = (equal & (max ? x & y : x | y)) | (~equal & best); // differ in the sign of zero only
  best = (aNan & y) | (~aNan & best);
  best = (bNan & x) | (~bNan & best);
  if (nan) {
    Ints quiet = __builtin_bit_cast(Ints, V(__builtin_nanf("")));
    best = ((aNan | bNan) & quiet) | (~(aNan | bNan) & best);
  }
  return canonical(__builtin_bit_cast(V, best));
};

template <bool negate>
constexpr auto kSign = [](auto a) {
  using Ints = decltype(a == a);
  Ints bits = __builtin_bit_cast(Ints, a);
  Ints sign = Ints(1) << Ints(8 * sizeof(a[0]) - 1);
  return __builtin_bit_cast(decltype(a), negate ? bits ^ sign : bits & ~sign);
};
/// copysign.f32 d, a, b: the sign of a, the magnitude of b.
constexpr auto kCopySign = [](auto a, auto b) {
  using Ints = decltype(a == a);
  Ints sign = Ints(1) << Ints(8 * sizeof(a[0]) - 1);
  return __builtin_bit_cast(decltype(a), (__builtin_bit_cast(Ints, a) & sign) |
                                             (__builtin_bit_cast(Ints, b) & ~sign));
};

template <auto f> Fn oneOf(Type t) {
  return t.element == 64 ? Fn(one<double, double, f>) : Fn(one<float, float, f>);
}
template <auto f> Fn twoOf(Type t) {
  return t.element == 64 ? Fn(two<double, double, f>)
         : t.count == 2  ? Fn(two<float, float, f, 64>)
                         : Fn(two<float, float, f>);
}

/// f16, one or two in a word: through f32, which has so many bits that the second rounding gives
/// that of the exact sum, difference or product.
template <auto f> Lanes<uint32_t> ofHalves(Lanes<uint32_t> a, Lanes<uint32_t> b) {
  auto half = __builtin_convertvector(f(widened(a), widened(b)), Lanes<_Float16>);
  auto bits = __builtin_convertvector(__builtin_bit_cast(Lanes<uint16_t>, half), Lanes<uint32_t>);
  auto nan = (Lanes<uint32_t>)((bits & 0x7FFF) > 0x7C00);
  return (bits & ~nan) | (nan & 0x7FFF);
}
template <auto f> void halfPair(Warp &w, const Inst &i) {
  auto a = get<uint32_t>(w, i.a), b = get<uint32_t>(w, i.b);
  set(w, i.d, ofHalves<f>(a >> 16, b >> 16) << 16 | ofHalves<f>(a & 0xFFFF, b & 0xFFFF));
}
template <auto f> void half(Warp &w, const Inst &i) {
  auto a = __builtin_convertvector(get<uint16_t>(w, i.a), Lanes<uint32_t>);
  auto b = __builtin_convertvector(get<uint16_t>(w, i.b), Lanes<uint32_t>);
  set(w, i.d, __builtin_convertvector(ofHalves<f>(a, b), Lanes<uint16_t>));
}
template <auto f> Fn twoHalves(Type t) { return t.count == 2 ? Fn(halfPair<f>) : Fn(half<f>); }

bool checked(Decoder &d, Type t, bool pairs) {
  if (t.kind != 'f' || t.element < 32) {
    d.fail("type is not f32 or f64: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
    return false;
  }
  if (t.count == 2) {
    d.need(100, 86);
    if (!pairs)
      d.fail("no instruction for pairs: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
  }
  return true;
}

void rounded(Decoder &d) {
  if (!d.take("rn"))
    d.fail("instruction that is not rounded to nearest even: %.*s", int(d.s->mnemonic.size()),
           d.s->mnemonic.data());
}

/// Numbers of 16 bits, one or two in a word, whose signs are cleared or turned.
template <bool negate, typename Word> void signOfHalves(Warp &w, const Inst &i) {
  auto a = get<Word>(w, i.a);
  Lanes<Word> signs = a * 0 + Word(0x80008000u);
  set(w, i.d, negate ? a ^ signs : a & ~signs);
}

void emit(Decoder &d, Fn fn, Type t, size_t inputs) {
  d.expect(inputs + 1);
  int bits = t.bits();
  d.emit(fn, d.out(0, bits), d.in(1, bits), inputs > 1 ? d.in(2, bits) : 0,
         inputs > 2 ? d.in(3, bits) : 0);
}

void extreme(Decoder &d, Type t, bool max) {
  bool nan = d.take("NaN");
  if (nan)
    d.need(80, 70);
  if (nan && t.element == 64)
    d.fail("no instruction of f64: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
  Fn fn = max ? (nan ? twoOf<kExtreme<true, true>>(t) : twoOf<kExtreme<false, true>>(t))
              : (nan ? twoOf<kExtreme<true, false>>(t) : twoOf<kExtreme<false, false>>(t));
  emit(d, fn, t, 2);
}

void fma(Decoder &d) {
  Type t = d.type();
  if (!checked(d, t, true))
    return;
  rounded(d);
  Fn fn = t.element == 64 ? Fn(three<double, double, kFma>)
          : t.count == 2  ? Fn(three<float, float, kFma, 64>)
                          : Fn(three<float, float, kFma>);
  emit(d, fn, t, 3);
}

void root(Decoder &d) {
  Type t = d.type();
  if (!checked(d, t, false))
    return;
  rounded(d);
  emit(d, d.name == "rcp" ? oneOf<kRcp>(t) : oneOf<kSqrt>(t), t, 1);
}

void copysign(Decoder &d) {
  Type t = d.type();
  if (checked(d, t, false))
    emit(d, twoOf<kCopySign>(t), t, 2);
}

template <typename T> void testProperty(Warp &w, const Inst &i) {
  auto a = get<T>(w, i.a);
  auto magnitude = kSign<false>(a);
  constexpr T inf = __builtin_inf(), least = sizeof(T) == 8 ? T(0x1p-1022) : T(0x1p-126);
  uint32_t nan = maskOf(a != a), infinite = maskOf(magnitude == inf);
  uint32_t small = maskOf(magnitude < least);
  uint32_t subnormal = small & maskOf(magnitude > T(0));
  uint32_t result[] = {~(nan | infinite),         infinite, ~nan, nan,
                       ~(nan | infinite | small), subnormal};
  setMask(w, i.d, result[i.imm]);
}

void testp(Decoder &d) {
  Type t = d.type();
  if (!checked(d, t, false))
    return;
  d.expect(2);
  int which = 0;
  for (const char *name : {"finite", "infinite", "number", "notanumber", "normal", "subnormal"}) {
    if (d.take(name)) {
      d.emit(t.element == 64 ? testProperty<double> : testProperty<float>, d.out(0, 1),
             d.in(1, t.bits()))
          .imm = which;
      return;
    }
    ++which;
  }
}
} // namespace

void decodeFloat(Decoder &d, Type t) {
  bool arithmetic = d.name == "add" || d.name == "sub" || d.name == "mul";
  if (arithmetic && t.kind == 'f' && t.element == 16) {
    rounded(d);
    return emit(d,
                d.name == "add"   ? twoHalves<kAdd>(t)
                : d.name == "sub" ? twoHalves<kSub>(t)
                                  : twoHalves<kMul>(t),
                t, 2);
  }
  if ((d.name == "neg" || d.name == "abs") && t.element == 16) {
    if (t.kind == 'h')
      d.need(80, 70);
    bool isNeg = d.name == "neg";
    return emit(d,
                t.count == 2
                    ? (isNeg ? signOfHalves<true, uint32_t> : signOfHalves<false, uint32_t>)
                    : (isNeg ? signOfHalves<true, uint16_t> : signOfHalves<false, uint16_t>),
                t, 1);
  }
  if (!checked(d, t, arithmetic))
    return;
  if (d.name == "min" || d.name == "max")
    return extreme(d, t, d.name == "max");
  if (d.name == "neg")
    return emit(d, oneOf<kSign<true>>(t), t, 1);
  if (d.name == "abs")
    return emit(d, oneOf<kSign<false>>(t), t, 1);
  rounded(d);
  if (d.name == "mad")
    return d.fail("write fma for mad: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
  emit(d,
       d.name == "add"   ? twoOf<kAdd>(t)
       : d.name == "sub" ? twoOf<kSub>(t)
       : d.name == "mul" ? twoOf<kMul>(t)
                         : twoOf<kDiv>(t),
       t, 2);
}

Decode findFloat(std::string_view name) {
  if (name == "fma")
    return fma;
  if (name == "rcp" || name == "sqrt")
    return root;
  if (name == "copysign")
    return copysign;
  if (name == "testp")
    return testp;
  return nullptr;
}

} // namespace standin
