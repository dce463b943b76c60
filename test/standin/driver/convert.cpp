//===- convert.cpp - conversions between types ----------------------------===//
//
// One decision: a conversion between integers goes through 64 bits, as two instructions,
// where it is none of the few that are frequent. That keeps a matrix of types a sum.
//
//===----------------------------------------------------------------------===//
#include "test/standin/driver/decode.h"
#include "test/standin/driver/lanes.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace standin {

namespace {
using Fn = void (*)(Warp &, const Inst &);

template <typename D, typename S> void convertInts(Warp &w, const Inst &i) {
  set(w, i.d, __builtin_convertvector(get<S>(w, i.a), Lanes<D>));
}
template <typename S, typename Register> void widen(Warp &w, const Inst &i) {
  using W = std::conditional_t<std::is_signed_v<S>, int64_t, uint64_t>;
  auto value = __builtin_convertvector(get<Register>(w, i.a), Lanes<S>);
  set(w, i.d, __builtin_convertvector(value, Lanes<W>));
}
template <typename D, typename Register> void narrow(Warp &w, const Inst &i) {
  auto value = __builtin_convertvector(get<uint64_t>(w, i.a), Lanes<D>);
  set(w, i.d, __builtin_convertvector(value, Lanes<Register>));
}

template <typename S> Fn widenFrom(int bits) {
  return bits == 16   ? Fn(widen<S, uint16_t>)
         : bits == 32 ? Fn(widen<S, uint32_t>)
                      : Fn(widen<S, uint64_t>);
}
template <typename D> Fn narrowTo(int bits) {
  return bits == 16   ? Fn(narrow<D, uint16_t>)
         : bits == 32 ? Fn(narrow<D, uint32_t>)
                      : Fn(narrow<D, uint64_t>);
}
template <typename F> Fn forInt(Type t, F f) {
  bool s = t.kind == 's';
  switch (t.element) {
  case 8:
    return s ? f.template operator()<int8_t>() : f.template operator()<uint8_t>();
  case 16:
    return s ? f.template operator()<int16_t>() : f.template operator()<uint16_t>();
  case 32:
    return s ? f.template operator()<int32_t>() : f.template operator()<uint32_t>();
  default:
    return s ? f.template operator()<int64_t>() : f.template operator()<uint64_t>();
  }
}

Fn frequent(Type d, Type s) {
  bool sign = s.kind == 's';
  if (s.element == 32 && d.element == 64)
    return sign ? convertInts<int64_t, int32_t> : convertInts<uint64_t, uint32_t>;
  if (s.element == 16 && d.element == 32)
    return sign ? convertInts<int32_t, int16_t> : convertInts<uint32_t, uint16_t>;
  if (s.element == 16 && d.element == 64)
    return sign ? convertInts<int64_t, int16_t> : convertInts<uint64_t, uint16_t>;
  if (s.element == 64 && d.element == 32)
    return convertInts<uint32_t, uint64_t>;
  if (s.element == 32 && d.element == 16)
    return convertInts<uint16_t, uint32_t>;
  return nullptr;
}

/// Registers of integers may be wider than the type.
int registerBits(Decoder &d, size_t n, Type t) {
  const Operand &o = d.operand(n);
  int least = t.element < 16 ? 16 : t.element;
  if (o.kind == Operand::reg && o.registerKind == 'b' && o.bits > least && t.kind != 'f')
    return o.bits;
  return least;
}

uint32_t temporary(Decoder &d) {
  if (d.temporary == kNowhere)
    d.temporary = d.newRegister(64);
  return d.temporary;
}

void ints(Decoder &d, Type to, Type from) {
  int dBits = registerBits(d, 0, to), sBits = registerBits(d, 1, from);
  Fn fast = dBits == to.element && sBits == from.element ? frequent(to, from) : nullptr;
  if (fast) {
    d.emit(fast, d.out(0, dBits), d.in(1, sBits));
    return;
  }
  uint32_t middle = temporary(d);
  d.emit(forInt(from, [&]<typename S>() { return widenFrom<S>(sBits); }), middle, d.in(1, sBits));
  d.emit(forInt(to, [&]<typename D>() { return narrowTo<D>(dBits); }), d.out(0, dBits), middle);
}

void intToFloat(Decoder &d, Type to, Type from) {
  int sBits = registerBits(d, 1, from);
  uint32_t out = d.out(0, to.bits());
  if (!d.take("rn"))
    return d.fail("conversion that is not rounded to nearest even: %.*s", int(d.s->mnemonic.size()),
                  d.s->mnemonic.data());
  if (to.element == 16)
    return d.fail("unknown conversion: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
  if (from.element == 32 && sBits == 32 && from.kind == 's') {
    d.emit(to.element == 32 ? Fn(convertInts<float, int32_t>) : Fn(convertInts<double, int32_t>),
           out, d.in(1, 32));
    return;
  }
  uint32_t middle = temporary(d);
  d.emit(forInt(from, [&]<typename S>() { return widenFrom<S>(sBits); }), middle, d.in(1, sBits));
  bool s = from.kind == 's';
  d.emit(to.element == 32 ? s ? Fn(convertInts<float, int64_t>) : Fn(convertInts<float, uint64_t>)
         : s              ? Fn(convertInts<double, int64_t>)
                          : Fn(convertInts<double, uint64_t>),
         out, middle);
}

enum Rounding { nearest, zero, down, up };

double roundTo(double x, int how) {
  switch (how) {
  case nearest:
    return std::nearbyint(x);
  case zero:
    return std::trunc(x);
  case down:
    return std::floor(x);
  default:
    return std::ceil(x);
  }
}

/// Values outside the type are clamped; a NaN is 0, or the high bit where f64 or 64 bits
/// are in it.
template <typename D> D toInt(double x, int how, bool from64) {
  if (x != x)
    return from64 || sizeof(D) == 8 ? D(uint64_t(1) << (8 * sizeof(D) - 1)) : D(0);
  x = roundTo(x, how);
  constexpr bool s = std::is_signed_v<D>;
  double end = std::ldexp(1.0, 8 * sizeof(D) - s), begin = s ? -end : 0;
  if (x >= end)
    return std::numeric_limits<D>::max();
  return x < begin ? std::numeric_limits<D>::min() : D(x);
}
template <typename D, typename S> void convertToInt(Warp &w, const Inst &i) {
  auto a = get<S>(w, i.a);
  Lanes<D> d;
  for (int l = 0; l < kWarp; ++l)
    d[l] = toInt<D>(double(a[l]), i.imm, sizeof(S) == 8);
  set(w, i.d, d);
}

bool takeIntegral(Decoder &d, int &how) {
  const char *names[] = {"rni", "rzi", "rmi", "rpi"};
  for (how = 0; how < 4; ++how)
    if (d.take(names[how]))
      return true;
  return false;
}

void floatToInt(Decoder &d, Type to, Type from) {
  int how;
  if (!takeIntegral(d, how) || to.element < 16 || from.element < 32)
    return d.fail("unknown conversion: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
  Fn fn = forInt(to, [&]<typename D>() -> Fn {
    if constexpr (sizeof(D) == 1)
      return nullptr;
    else
      return from.element == 64 ? Fn(convertToInt<D, double>) : Fn(convertToInt<D, float>);
  });
  d.emit(fn, d.out(0, to.element), d.in(1, from.element)).imm = how;
}

template <typename T> void integral(Warp &w, const Inst &i) {
  auto a = get<T>(w, i.a);
  switch (i.imm) {
  case nearest:
    return set(w, i.d, __builtin_elementwise_roundeven(a));
  case zero:
    return set(w, i.d, __builtin_elementwise_trunc(a));
  case down:
    return set(w, i.d, __builtin_elementwise_floor(a));
  default:
    return set(w, i.d, __builtin_elementwise_ceil(a));
  }
}

/// NaNs lose what they carry, as in all of f32 and below.
Lanes<float> canonical(Lanes<float> v) {
  auto bits = __builtin_bit_cast(Lanes<int32_t>, v);
  auto ok = v == v;
  return __builtin_bit_cast(Lanes<float>, (bits & ok) | (Lanes<int32_t>(0x7FFFFFFF) & ~ok));
}

/// The type of 16 bits of a float, rounded to nearest even or to zero.
template <bool bf, bool toZero> Lanes<uint16_t> halves(Lanes<float> v) {
  Lanes<uint16_t> result;
  if constexpr (bf) {
    auto bits = __builtin_bit_cast(Lanes<uint32_t>, v);
    auto even = (bits >> 16) & 1;
    auto rounded = toZero ? bits >> 16 : (bits + 0x7FFF + even) >> 16;
    auto nan = Lanes<uint32_t>(v != v);
    result = __builtin_convertvector((rounded & ~nan) | (nan & 0x7FFF), Lanes<uint16_t>);
  } else {
    auto half = __builtin_convertvector(v, Lanes<_Float16>);
    result = __builtin_bit_cast(Lanes<uint16_t>, half);
    auto nan = Lanes<uint16_t>(__builtin_convertvector(v != v, Lanes<int16_t>));
    result = (result & ~nan) | (nan & uint16_t(0x7FFF));
  }
  return result;
}
template <bool bf, bool toZero> void toHalf(Warp &w, const Inst &i) {
  set(w, i.d, halves<bf, toZero>(get<float>(w, i.a)));
}
/// cvt.rn.bf16x2.f32 d, a, b: a is the upper half.
template <bool bf, bool toZero> void toHalves(Warp &w, const Inst &i) {
  auto high = __builtin_convertvector(halves<bf, toZero>(get<float>(w, i.a)), Lanes<uint32_t>);
  auto low = __builtin_convertvector(halves<bf, toZero>(get<float>(w, i.b)), Lanes<uint32_t>);
  set(w, i.d, high << 16 | low);
}
template <typename To> void fromHalf(Warp &w, const Inst &i) {
  auto half = __builtin_bit_cast(Lanes<_Float16>, get<uint16_t>(w, i.a));
  auto wide = __builtin_convertvector(half, Lanes<To>);
  if constexpr (sizeof(To) == sizeof(float))
    set(w, i.d, canonical(wide));
  else
    set(w, i.d, wide);
}
void fromBf16(Warp &w, const Inst &i) {
  auto bits = __builtin_convertvector(get<uint16_t>(w, i.a), Lanes<uint32_t>) << 16;
  set(w, i.d, canonical(__builtin_bit_cast(Lanes<float>, bits)));
}

void floats(Decoder &d, Type to, Type from) {
  auto refuse = [&] {
    d.fail("unknown conversion: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
  };
  int how;
  if (to.element == from.element && to.kind == from.kind && to.element >= 32) {
    if (!takeIntegral(d, how))
      return refuse();
    d.emit(to.element == 64 ? integral<double> : integral<float>, d.out(0, to.element),
           d.in(1, to.element))
        .imm = how;
    return;
  }
  if (to.element == 64 && from.element == 32) {
    d.emit(convertInts<double, float>, d.out(0, 64), d.in(1, 32));
    return;
  }
  if (to.element == 32 && from.element == 16) {
    if (from.kind == 'h')
      d.need(90, 78);
    d.emit(from.kind == 'h' ? fromBf16 : fromHalf<float>, d.out(0, 32), d.in(1, 16));
    return;
  }
  if (to.element == 64 && from.element == 16 && from.kind == 'f') {
    d.emit(fromHalf<double>, d.out(0, 64), d.in(1, 16));
    return;
  }
  bool toZero = d.take("rz"), rounded = toZero || d.take("rn");
  if (!rounded)
    return refuse();
  if (to.element == 32 && from.element == 64 && !toZero) {
    auto run = [](Warp &w, const Inst &i) {
      set(w, i.d, canonical(__builtin_convertvector(get<double>(w, i.a), Lanes<float>)));
    };
    d.emit(run, d.out(0, 32), d.in(1, 64));
    return;
  }
  bool bf = to.kind == 'h';
  if (to.element != 16 || from.element != 32 || (toZero && !bf))
    return refuse();
  if (bf || to.count == 2)
    d.need(80, 70);
  Fn fn =
      to.count == 2
          ? (bf ? toZero ? toHalves<true, true> : toHalves<true, false> : toHalves<false, false>)
          : (bf ? toZero ? toHalf<true, true> : toHalf<true, false> : toHalf<false, false>);
  d.emit(fn, d.out(0, to.bits()), d.in(1, 32), to.count == 2 ? d.in(2, 32) : 0);
}

/// Eight bits: `mantissa` of them are the mantissa, `bias` is that of the exponent. What is beyond
/// the largest number becomes that.
struct Eight {
  int mantissa, bias;
  uint8_t largest;
};
constexpr Eight e4m3 = {3, 7, 0x7E}, e5m2 = {2, 15, 0x7B};

uint8_t toEight(float x, const Eight &to) {
  if (x != x)
    return 0x7F;
  uint8_t sign = std::signbit(x) ? 0x80 : 0;
  double magnitude = std::fabs(x);
  int least = 1 - to.bias;
  int exponent =
      magnitude > 0 && std::isfinite(magnitude) ? std::max(std::ilogb(magnitude), least) : least;
  double places = std::nearbyint(std::ldexp(magnitude, to.mantissa - exponent));
  // Where that is rounded up to the next power of two, the sum carries into the exponent.
  double code = places + std::ldexp(exponent + to.bias - 1, to.mantissa);
  return sign | (code < to.largest ? uint8_t(code) : to.largest);
}
/// cvt.rn.satfinite.e4m3x2.f32 d, a, b: a is the upper half.
template <const Eight &to> void toEights(Warp &w, const Inst &i) {
  auto a = get<float>(w, i.a), b = get<float>(w, i.b);
  Lanes<uint16_t> d;
  for (int l = 0; l < kWarp; ++l)
    d[l] = uint16_t(toEight(a[l], to) << 8 | toEight(b[l], to));
  set(w, i.d, d);
}

void eights(Decoder &d, Type to, Type from) {
  d.need(89, d.module.arch < 90 ? 81 : 78);
  d.expect(3);
  if (from.kind != 'f' || from.element != 32 || !d.take("rn") || !d.take("satfinite"))
    return d.fail("unknown conversion: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
  d.emit(to.kind == 'e' ? toEights<e4m3> : toEights<e5m2>, d.out(0, 16), d.in(1, 32), d.in(2, 32));
}

void cvt(Decoder &d) {
  Type to = d.type(), from = d.type();
  if (to.element == 8 && to.count == 2)
    return eights(d, to, from);
  d.expect(to.count == 2 ? 3 : 2);
  auto isFloat = [](Type t) { return t.kind == 'f' || t.kind == 'h'; };
  if ((!isFloat(to) && !to.isInt()) || (!isFloat(from) && !from.isInt()) || from.count == 2)
    return d.fail("unknown conversion: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
  if (isFloat(to))
    return isFloat(from) ? floats(d, to, from) : intToFloat(d, to, from);
  isFloat(from) ? floatToInt(d, to, from) : ints(d, to, from);
}

/// Between generic addresses and those of a space; global ones are the same.
void cvta(Decoder &d) {
  bool to = d.take("to");
  Type t = d.type();
  d.expect(2);
  if (t.bits() != 64)
    return d.fail("unknown conversion: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
  auto run = [](Warp &w, const Inst &i) {
    set(w, i.d, get<uint64_t>(w, i.a) + Lanes<uint64_t>(uint64_t(i.imm)));
  };
  int64_t window = 0;
  if (d.take("shared"))
    window = kSharedWindow;
  else if (!d.take("global") && !d.take("const"))
    return d.fail("unknown conversion: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
  d.emit(run, d.out(0, 64), d.in(1, 64)).imm = to ? -window : window;
}
} // namespace

Decode findConvert(std::string_view name) {
  if (name == "cvt")
    return cvt;
  if (name == "cvta")
    return cvta;
  return nullptr;
}

} // namespace standin
