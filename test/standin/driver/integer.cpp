//===- integer.cpp - instructions on integers and bits --------------------===//
#include "test/standin/driver/decode.h"
#include "test/standin/driver/lanes.h"

#include <algorithm>
#include <bit>

namespace standin {

void decodeFloat(Decoder &d, Type type); // float.cpp: add, min .. share their names

namespace {
using Fn = void (*)(Warp &, const Inst &);

/// Calls f.template operator()<T>() for the C++ type of an integer type of PTX.
template <typename F> Fn forType(Type t, F f) {
  bool s = t.kind == 's';
  switch (t.element) {
  case 16:
    return s ? f.template operator()<int16_t>() : f.template operator()<uint16_t>();
  case 32:
    return s ? f.template operator()<int32_t>() : f.template operator()<uint32_t>();
  case 64:
    return s ? f.template operator()<int64_t>() : f.template operator()<uint64_t>();
  }
  return nullptr;
}

bool isFloat(Type t) { return t.kind == 'f' || t.kind == 'h'; }

void checkInteger(Decoder &d, Type t) {
  if (!t.isInt() || t.element < 16)
    d.fail("type is no integer of 16, 32 or 64 bits: %.*s", int(d.s->mnemonic.size()),
           d.s->mnemonic.data());
}

template <typename F> void emitTwo(Decoder &d, Type t, F f) {
  d.expect(3);
  if (Fn fn = forType(t, f))
    d.emit(fn, d.out(0, t.bits()), d.in(1, t.bits()), d.in(2, t.bits()));
}

template <auto f> void binary(Decoder &d, Type t) {
  if (t.count == 2) { // s16x2
    d.need(90, 80);
    d.expect(3);
    Fn fn = t.kind == 's' ? two<int16_t, int16_t, f, 64> : two<uint16_t, uint16_t, f, 64>;
    d.emit(fn, d.out(0, 32), d.in(1, 32), d.in(2, 32));
    return;
  }
  emitTwo(d, t, []<typename T>() -> Fn { return two<T, T, f>; });
}

template <auto f> void addLike(Decoder &d) {
  Type t = d.type();
  if (isFloat(t))
    return decodeFloat(d, t);
  checkInteger(d, t);
  // Overflow of signed lanes wraps: vectors of clang are unsigned below.
  binary<f>(d, t);
}

constexpr auto kAdd = [](auto a, auto b) { return a + b; };
constexpr auto kSub = [](auto a, auto b) { return a - b; };
constexpr auto kMin = [](auto a, auto b) { return __builtin_elementwise_min(a, b); };
constexpr auto kMax = [](auto a, auto b) { return __builtin_elementwise_max(a, b); };

template <typename T> T mulLow(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return T(uint64_t(U(a)) * uint64_t(U(b)));
}
template <typename T> T mulHigh(T a, T b) {
  using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  return T((Wide(a) * Wide(b)) >> (8 * sizeof(T)));
}

template <typename T> struct Wider;
template <> struct Wider<int16_t> {
  using type = int32_t;
};
template <> struct Wider<uint16_t> {
  using type = uint32_t;
};
template <> struct Wider<int32_t> {
  using type = int64_t;
};
template <> struct Wider<uint32_t> {
  using type = uint64_t;
};

template <typename T, bool add> void wide(Warp &w, const Inst &i) {
  using W = typename Wider<T>::type;
  auto a = __builtin_convertvector(get<T>(w, i.a), Lanes<W>);
  auto b = __builtin_convertvector(get<T>(w, i.b), Lanes<W>);
  if constexpr (add)
    set(w, i.d, a * b + get<W>(w, i.c));
  else
    set(w, i.d, a * b);
}

/// mul and mad: .lo, .hi, .wide.
void mulLike(Decoder &d) {
  bool mad = d.name == "mad";
  Type t = d.type();
  if (isFloat(t))
    return decodeFloat(d, t);
  checkInteger(d, t);
  d.expect(mad ? 4 : 3);
  int bits = t.bits();
  if (d.take("wide")) {
    Fn fn = nullptr;
    bool s = t.kind == 's';
    if (t.element == 16)
      fn = mad ? (s ? wide<int16_t, true> : wide<uint16_t, true>)
               : (s ? wide<int16_t, false> : wide<uint16_t, false>);
    else if (t.element == 32)
      fn = mad ? (s ? wide<int32_t, true> : wide<uint32_t, true>)
               : (s ? wide<int32_t, false> : wide<uint32_t, false>);
    else
      return d.fail("no product is wider than 64 bits: %.*s", int(d.s->mnemonic.size()),
                    d.s->mnemonic.data());
    d.emit(fn, d.out(0, 2 * bits), d.in(1, bits), d.in(2, bits), mad ? d.in(3, 2 * bits) : 0);
    return;
  }
  bool high = d.take("hi");
  if (!high && !d.take("lo"))
    return d.fail("product without .lo, .hi or .wide: %.*s", int(d.s->mnemonic.size()),
                  d.s->mnemonic.data());
  Fn fn = forType(t, [&]<typename T>() -> Fn {
    if (mad)
      return high ? eachThree<T, T, T, T, [](T a, T b, T c) { return T(mulHigh(a, b) + c); }>
                  : three<T, T, [](auto a, auto b, auto c) { return a * b + c; }>;
    return high ? eachTwo<T, T, T, mulHigh<T>> : two<T, T, [](auto a, auto b) { return a * b; }>;
  });
  if (fn)
    d.emit(fn, d.out(0, bits), d.in(1, bits), d.in(2, bits), mad ? d.in(3, bits) : 0);
}

/// The result of a division by zero is not defined, so it is an error.
template <typename T, bool remainder> void divide(Warp &w, const Inst &i) {
  auto a = get<T>(w, i.a), b = get<T>(w, i.b);
  Lanes<T> d{};
  for (uint32_t left = w.exec; left; left &= left - 1) {
    int l = std::countr_zero(left);
    T x = a[l], y = b[l];
    if (!y)
      return w.fail(i, l, CUDA_ERROR_LAUNCH_FAILED, "division by zero of %lld", (long long)x);
    bool wraps = std::is_signed_v<T> && y == T(-1); // the least number by -1 traps on x86
    d[l] = wraps ? (remainder ? T(0) : T(0 - uint64_t(x))) : remainder ? T(x % y) : T(x / y);
  }
  set(w, i.d, d);
}

void divLike(Decoder &d) {
  bool remainder = d.name == "rem";
  Type t = d.type();
  if (isFloat(t) && !remainder)
    return decodeFloat(d, t);
  checkInteger(d, t);
  emitTwo(d, t, [&]<typename T>() -> Fn { return remainder ? divide<T, true> : divide<T, false>; });
}

void negLike(Decoder &d) {
  Type t = d.type();
  if (isFloat(t))
    return decodeFloat(d, t);
  checkInteger(d, t);
  d.expect(2);
  bool abs = d.name == "abs";
  if (t.kind != 's')
    return d.fail("type is not signed: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
  Fn fn = forType(t, [&]<typename T>() -> Fn {
    return abs ? one<T, T, [](auto a) { return a < 0 ? -a : a; }>
               : one<T, T, [](auto a) { return -a; }>;
  });
  d.emit(fn, d.out(0, t.bits()), d.in(1, t.bits()));
}

template <auto f> void maskTwo(Warp &w, const Inst &i) {
  setMask(w, i.d, f(getMask(w, i.a), getMask(w, i.b)));
}

constexpr auto kAnd = [](auto a, auto b) { return a & b; };
constexpr auto kOr = [](auto a, auto b) { return a | b; };
constexpr auto kXor = [](auto a, auto b) { return a ^ b; };

template <auto f> void logic(Decoder &d) {
  Type t = d.type();
  d.expect(3);
  if (t.kind == 'p')
    d.emit(maskTwo<f>, d.out(0, 1), d.in(1, 1), d.in(2, 1));
  else if (t.kind == 'b' && t.element >= 16)
    binary<f>(d, t);
  else
    d.fail("type of bits expected: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
}

void notLike(Decoder &d) {
  Type t = d.type();
  d.expect(2);
  constexpr auto f = [](auto a) { return ~a; };
  if (t.kind == 'p')
    d.emit(
        +[](Warp &w, const Inst &i) { setMask(w, i.d, ~getMask(w, i.a)); }, d.out(0, 1),
        d.in(1, 1));
  else if (t.kind == 'b' && t.element >= 16)
    d.emit(forType(t, [&]<typename T>() -> Fn { return one<T, T, f>; }), d.out(0, t.bits()),
           d.in(1, t.bits()));
  else
    d.fail("type of bits expected: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
}

/// Amounts are of 32 bits, and clamped to the width.
template <typename T, bool right> void shift(Warp &w, const Inst &i) {
  auto a = get<T>(w, i.a);
  constexpr uint32_t width = 8 * sizeof(T);
  auto amount = get<uint32_t>(w, i.b);
  auto clamped = __builtin_elementwise_min(amount, Lanes<uint32_t>(width - 1));
  auto n = __builtin_convertvector(clamped, Lanes<T>);
  auto over32 = amount >= width;
  auto over = __builtin_convertvector(over32, Lanes<std::make_signed_t<T>>);
  Lanes<T> d;
  if constexpr (right)
    d = a >> n;
  else
    d = a << n;
  if constexpr (!(right && std::is_signed_v<T>))
    d &= ~Lanes<T>(over);
  set(w, i.d, d);
}

void shiftLike(Decoder &d) {
  bool right = d.name == "shr";
  Type t = d.type();
  d.expect(3);
  if (t.element < 16 || isFloat(t) || t.count > 1)
    return d.fail("type is no integer: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
  Fn fn = forType(t, [&]<typename T>() -> Fn { return right ? shift<T, true> : shift<T, false>; });
  d.emit(fn, d.out(0, t.bits()), d.in(1, t.bits()), d.in(2, 32));
}

template <bool right, bool wrap> uint32_t funnel(uint32_t low, uint32_t high, uint32_t n) {
  n = wrap ? n & 31 : std::min(n, 32u);
  uint64_t both = uint64_t(high) << 32 | low;
  return right ? uint32_t(both >> n) : uint32_t((both << n) >> 32);
}

void shf(Decoder &d) {
  Type t = d.type();
  bool right = d.take("r"), left = d.take("l"), wrap = d.take("wrap"), clamp = d.take("clamp");
  d.expect(4);
  if (right == left || wrap == clamp || t.bits() != 32 || t.kind != 'b')
    return d.fail("unknown shift: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
  using U = uint32_t;
  Fn fn = right ? (wrap ? eachThree<U, U, U, U, funnel<true, true>>
                        : eachThree<U, U, U, U, funnel<true, false>>)
                : (wrap ? eachThree<U, U, U, U, funnel<false, true>>
                        : eachThree<U, U, U, U, funnel<false, false>>);
  d.emit(fn, d.out(0, 32), d.in(1, 32), d.in(2, 32), d.in(3, 32));
}

uint32_t permute(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t both = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t s = selector >> (4 * i) & 15, byte = both >> (8 * (s & 7)) & 255;
    if (s & 8)
      byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}

void prmt(Decoder &d) {
  Type t = d.type();
  d.expect(4);
  if (t.bits() != 32)
    d.fail("unknown permutation: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
  using U = uint32_t;
  d.emit(eachThree<U, U, U, U, permute>, d.out(0, 32), d.in(1, 32), d.in(2, 32), d.in(3, 32));
}

void lop3(Decoder &d) {
  Type t = d.type();
  d.expect(5);
  if (t.kind != 'b' || t.bits() != 32 || d.operand(4).kind != Operand::integer)
    return d.fail("unknown lop3: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
  auto run = [](Warp &w, const Inst &i) {
    auto a = get<uint32_t>(w, i.a), b = get<uint32_t>(w, i.b), c = get<uint32_t>(w, i.c);
    Lanes<uint32_t> d{};
    for (int row = 0; row < 8; ++row)
      if (i.imm >> row & 1)
        d |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    set(w, i.d, d);
  };
  d.emit(run, d.out(0, 32), d.in(1, 32), d.in(2, 32), d.in(3, 32)).imm = d.operand(4).value & 255;
}

template <typename T> T extract(T a, uint32_t position, uint32_t length) {
  using U = std::make_unsigned_t<T>;
  constexpr uint32_t width = 8 * sizeof(T);
  position &= 255, length &= 255;
  U sign = 0;
  if (std::is_signed_v<T> && length)
    sign = U(a) >> std::min(position + length - 1, width - 1) & 1;
  U field = position < width ? U(a) >> position : (std::is_signed_v<T> && sign ? ~U(0) : 0);
  if (position < width && std::is_signed_v<T> && sign && position)
    field |= ~U(0) << (width - position);
  if (length >= width)
    return T(field);
  U mask = (U(1) << length) - 1;
  return T((field & mask) | (sign ? ~mask : 0));
}

template <typename T> T insert(T a, T b, uint32_t position, uint32_t length) {
  constexpr uint32_t width = 8 * sizeof(T);
  position &= 255, length &= 255;
  if (position >= width)
    return b;
  T mask = (length >= width ? ~T(0) : (T(1) << length) - 1) << position;
  return (b & ~mask) | ((a << position) & mask);
}

template <typename T> void bitFieldInsert(Warp &w, const Inst &i) {
  auto a = get<T>(w, i.a), b = get<T>(w, i.b);
  auto position = get<uint32_t>(w, i.c), length = get<uint32_t>(w, i.e);
  Lanes<T> d;
  for (int l = 0; l < kWarp; ++l)
    d[l] = insert<T>(a[l], b[l], position[l], length[l]);
  set(w, i.d, d);
}

void bfe(Decoder &d) {
  Type t = d.type();
  d.expect(4);
  checkInteger(d, t);
  if (t.element < 32)
    return d.fail("unknown type: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
  Fn fn = forType(
      t, []<typename T>() -> Fn { return eachThree<T, T, uint32_t, uint32_t, extract<T>>; });
  d.emit(fn, d.out(0, t.bits()), d.in(1, t.bits()), d.in(2, 32), d.in(3, 32));
}

void bfi(Decoder &d) {
  Type t = d.type();
  d.expect(5);
  if (t.kind != 'b' || t.element < 32)
    return d.fail("unknown type: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
  Fn fn = t.element == 32 ? bitFieldInsert<uint32_t> : bitFieldInsert<uint64_t>;
  d.emit(fn, d.out(0, t.bits()), d.in(1, t.bits()), d.in(2, t.bits()), d.in(3, 32)).e = d.in(4, 32);
}

template <typename T> uint32_t leading(T a) { return std::countl_zero(a); }
template <typename T> uint32_t ones(T a) { return std::popcount(a); }
template <typename T> T reversed(T a) {
  T b = 0;
  for (unsigned i = 0; i < 8 * sizeof(T); ++i)
    b |= (a >> i & 1) << (8 * sizeof(T) - 1 - i);
  return b;
}
template <typename T, bool amount> uint32_t highest(T a) {
  using U = std::make_unsigned_t<T>;
  U bits = a < 0 ? ~U(a) : U(a);
  uint32_t zeros = std::countl_zero(bits);
  return !bits ? ~0u : amount ? zeros : 8 * sizeof(T) - 1 - zeros;
}

/// popc, clz, brev: of 32 or 64 bits.
template <auto f32, auto f64, bool narrow> void countLike(Decoder &d) {
  Type t = d.type();
  d.expect(2);
  if (t.kind != 'b' || t.element < 32)
    return d.fail("unknown type: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
  using R64 = std::conditional_t<narrow, uint32_t, uint64_t>;
  Fn fn = t.element == 32 ? Fn(eachOne<uint32_t, uint32_t, f32>) : Fn(eachOne<R64, uint64_t, f64>);
  d.emit(fn, d.out(0, narrow ? 32 : t.bits()), d.in(1, t.bits()));
}

void bfind(Decoder &d) {
  Type t = d.type();
  bool amount = d.take("shiftamt");
  d.expect(2);
  checkInteger(d, t);
  Fn fn = forType(t, [&]<typename T>() -> Fn {
    return amount ? eachOne<uint32_t, T, highest<T, true>>
                  : eachOne<uint32_t, T, highest<T, false>>;
  });
  d.emit(fn, d.out(0, 32), d.in(1, t.bits()));
}
} // namespace

Decode findInteger(std::string_view name) {
  static constexpr struct {
    std::string_view name;
    Decode decode;
  } kTable[] = {
      {"add", addLike<kAdd>},
      {"sub", addLike<kSub>},
      {"min", addLike<kMin>},
      {"max", addLike<kMax>},
      {"mul", mulLike},
      {"mad", mulLike},
      {"div", divLike},
      {"rem", divLike},
      {"neg", negLike},
      {"abs", negLike},
      {"and", logic<kAnd>},
      {"or", logic<kOr>},
      {"xor", logic<kXor>},
      {"not", notLike},
      {"shl", shiftLike},
      {"shr", shiftLike},
      {"shf", shf},
      {"prmt", prmt},
      {"lop3", lop3},
      {"bfe", bfe},
      {"bfi", bfi},
      {"popc", countLike<ones<uint32_t>, ones<uint64_t>, true>},
      {"clz", countLike<leading<uint32_t>, leading<uint64_t>, true>},
      {"brev", countLike<reversed<uint32_t>, reversed<uint64_t>, false>},
      {"bfind", bfind},
  };
  for (const auto &entry : kTable)
    if (entry.name == name)
      return entry.decode;
  return nullptr;
}

} // namespace standin
