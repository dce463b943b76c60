//===- move.cpp - moves, selections and comparisons -----------------------===//
#include "test/standin/driver/decode.h"
#include "test/standin/driver/lanes.h"

namespace standin {

namespace {
using Fn = void (*)(Warp &, const Inst &);

void refuse(Decoder &d) {
  d.fail("unknown form of an instruction: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
}

constexpr auto kSame = [](auto a) { return a; };
Fn copyOf(int bits) {
  return bits == 16   ? Fn(one<uint16_t, uint16_t, kSame>)
         : bits == 32 ? Fn(one<uint32_t, uint32_t, kSame>)
                      : Fn(one<uint64_t, uint64_t, kSame>);
}

/// mov.b64 d, {a, b}: the first is the lowest.
template <typename R, typename A> void pack(Warp &w, const Inst &i) {
  Lanes<R> d{};
  const uint32_t *from = w.block->kernel.lists.data() + i.list;
  for (uint32_t k = 0; k < i.count; ++k)
    d |= __builtin_convertvector(get<A>(w, from[k]), Lanes<R>) << R(8 * sizeof(A) * k);
  set(w, i.d, d);
}
template <typename R, typename A> void unpack(Warp &w, const Inst &i) {
  auto a = get<A>(w, i.a);
  const uint32_t *to = w.block->kernel.lists.data() + i.list;
  for (uint32_t k = 0; k < i.count; ++k)
    if (to[k] != kNowhere)
      set(w, to[k], __builtin_convertvector(a >> A(8 * sizeof(R) * k), Lanes<R>));
}

void moveVector(Decoder &d, Type t, bool out) {
  const Operand &v = d.operand(out ? 0 : 1);
  size_t n = v.parts.size();
  if ((n != 2 && n != 4) || t.bits() % n || t.bits() / n < 16)
    return refuse(d);
  int part = t.bits() / n;
  std::vector<uint32_t> list;
  for (const Operand &o : v.parts) {
    list.push_back(out ? d.out(o, part) : d.in(o, part));
    if (o.kind == Operand::sink)
      d.need(0, 71);
  }
  Fn fn = nullptr;
  if (t.bits() == 32)
    fn = out ? Fn(unpack<uint16_t, uint32_t>) : Fn(pack<uint32_t, uint16_t>);
  else if (part == 32)
    fn = out ? Fn(unpack<uint32_t, uint64_t>) : Fn(pack<uint64_t, uint32_t>);
  else
    fn = out ? Fn(unpack<uint16_t, uint64_t>) : Fn(pack<uint64_t, uint16_t>);
  Inst &inst = out ? d.emit(fn, 0, d.in(1, t.bits())) : d.emit(fn, d.out(0, t.bits()));
  inst.list = d.addList(list), inst.count = n;
}

void mov(Decoder &d) {
  Type t = d.type();
  d.expect(2);
  if (t.kind == 'p') {
    d.emit(
        +[](Warp &w, const Inst &i) { setMask(w, i.d, getMask(w, i.a)); }, d.out(0, 1), d.in(1, 1));
    return;
  }
  if (t.bits() < 16)
    return refuse(d);
  if (d.operand(0).kind == Operand::vector)
    return moveVector(d, t, true);
  if (d.operand(1).kind == Operand::vector)
    return moveVector(d, t, false);
  d.emit(copyOf(t.bits()), d.out(0, t.bits()), d.in(1, t.bits()));
}

template <typename T> void select(Warp &w, const Inst &i) {
  using Mask = std::make_signed_t<T>;
  auto p = Lanes<T>(__builtin_convertvector(spread(getMask(w, i.c)), Lanes<Mask>));
  set(w, i.d, (get<T>(w, i.a) & p) | (get<T>(w, i.b) & ~p));
}

void selp(Decoder &d) {
  Type t = d.type();
  d.expect(4);
  if (t.bits() < 16 || t.kind == 'p')
    return refuse(d);
  Fn fn = t.bits() == 16 ? select<uint16_t> : t.bits() == 32 ? select<uint32_t> : select<uint64_t>;
  d.emit(fn, d.out(0, t.bits()), d.in(1, t.bits()), d.in(2, t.bits()), d.predicate(3));
}

/// slct.T.s32 d, a, b, c: a where c >= 0.
template <typename T, typename C> void selectBySign(Warp &w, const Inst &i) {
  auto sign = get<C>(w, i.c) >= C(0);
  auto p = Lanes<T>(__builtin_convertvector(sign, Lanes<std::make_signed_t<T>>));
  set(w, i.d, (get<T>(w, i.a) & p) | (get<T>(w, i.b) & ~p));
}

void slct(Decoder &d) {
  Type t = d.type(), c = d.type();
  d.expect(4);
  bool f = c.kind == 'f';
  if (c.bits() != 32 || (!f && c.kind != 's') || t.bits() < 16)
    return refuse(d);
  Fn fn = t.bits() == 16   ? f ? selectBySign<uint16_t, float> : selectBySign<uint16_t, int32_t>
          : t.bits() == 32 ? f ? selectBySign<uint32_t, float> : selectBySign<uint32_t, int32_t>
          : f              ? selectBySign<uint64_t, float>
                           : selectBySign<uint64_t, int32_t>;
  d.emit(fn, d.out(0, t.bits()), d.in(1, t.bits()), d.in(2, t.bits()), d.in(3, 32));
}

enum class Compare { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
enum class Bool { none, and_, or_, xor_ };

/// Two f16 in a word.
struct HalfPair {};

template <typename T>
constexpr bool isFloat =
    std::is_floating_point_v<T> || std::is_same_v<T, _Float16> || std::is_same_v<T, HalfPair>;

template <typename T, Compare c, typename V> uint32_t compare(V a, V b) {
  switch (c) {
  case Compare::eq:
    return maskOf(a == b);
  case Compare::ne:
    return isFloat<T> ? maskOf((a < b) | (a > b)) : maskOf(a != b);
  case Compare::lt:
    return maskOf(a < b);
  case Compare::le:
    return maskOf(a <= b);
  case Compare::gt:
    return maskOf(a > b);
  case Compare::ge:
    return maskOf(a >= b);
  case Compare::equ:
    return ~maskOf((a < b) | (a > b));
  case Compare::neu:
    return maskOf(a != b);
  case Compare::ltu:
    return ~maskOf(a >= b);
  case Compare::leu:
    return ~maskOf(a > b);
  case Compare::gtu:
    return ~maskOf(a <= b);
  case Compare::geu:
    return ~maskOf(a < b);
  case Compare::num:
    return maskOf((a == a) & (b == b));
  case Compare::nan:
    return maskOf((a != a) | (b != b));
  }
}

struct Predicates {
  uint32_t p, q;
};
/// q is the complement of p, or of two halves p is of the lower one and q of the upper.
template <typename T, Compare c> Predicates compareOperands(Warp &w, const Inst &i) {
  if constexpr (std::is_same_v<T, HalfPair>) {
    auto a = get<uint32_t>(w, i.a), b = get<uint32_t>(w, i.b);
    return {compare<T, c>(widened(a), widened(b)),
            compare<T, c>(widened(a >> 16), widened(b >> 16))};
  } else if constexpr (std::is_same_v<T, _Float16>) {
    uint32_t p = compare<T, c>(widened(get<uint16_t>(w, i.a)), widened(get<uint16_t>(w, i.b)));
    return {p, ~p};
  } else {
    uint32_t p = compare<T, c>(get<T>(w, i.a), get<T>(w, i.b));
    return {p, ~p};
  }
}

/// imm holds the operation with the predicate c, and e the register of q.
template <typename T, Compare c> void setPredicate(Warp &w, const Inst &i) {
  auto [p, q] = compareOperands<T, c>(w, i);
  if (i.imm) {
    uint32_t with = getMask(w, i.c);
    with = i.eNot ? ~with : with;
    switch (Bool(i.imm)) {
    case Bool::and_:
      p &= with, q &= with;
      break;
    case Bool::or_:
      p |= with, q |= with;
      break;
    case Bool::xor_:
      p ^= with, q ^= with;
      break;
    case Bool::none:
      break;
    }
  }
  setMask(w, i.d, p);
  if (i.e != kNowhere)
    setMask(w, i.e, q);
}

template <typename T, Compare... c> Fn oneOf(Compare wanted) {
  Fn fn = nullptr;
  ((c == wanted ? void(fn = setPredicate<T, c>) : void()), ...);
  return fn;
}

template <typename T> Fn comparison(Compare c) {
  using enum Compare;
  if (Fn fn = oneOf<T, eq, ne, lt, le, gt, ge>(c))
    return fn;
  if constexpr (isFloat<T>)
    return oneOf<T, equ, neu, ltu, leu, gtu, geu, num, Compare::nan>(c);
  else
    return nullptr;
}

bool takeComparison(Decoder &d, Compare &c, Type &t) {
  static constexpr std::string_view kNames[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                                "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
  static constexpr struct {
    std::string_view name;
    Compare c;
  } kUnsigned[] = {
      {"lo", Compare::lt}, {"ls", Compare::le}, {"hi", Compare::gt}, {"hs", Compare::ge}};
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (d.take(kNames[i])) {
      c = Compare(i);
      return true;
    }
  for (auto u : kUnsigned)
    if (t.kind == 'u' && d.take(u.name)) {
      c = u.c;
      return true;
    }
  return false;
}

void setp(Decoder &d) {
  Type t = d.type();
  Compare c;
  bool halves = t.kind == 'f' && t.element == 16 && t.count == 2;
  if (!takeComparison(d, c, t) || (t.count > 1 && !halves) || t.kind == 'h' || t.kind == 'p')
    return refuse(d);
  Bool with = d.take("and")   ? Bool::and_
              : d.take("or")  ? Bool::or_
              : d.take("xor") ? Bool::xor_
                              : Bool::none;
  d.expect(with == Bool::none ? 3 : 4);
  Fn fn = nullptr;
  bool s = t.kind == 's';
  if (t.kind == 'f')
    fn = halves            ? comparison<HalfPair>(c)
         : t.element == 16 ? comparison<_Float16>(c)
         : t.element == 32 ? comparison<float>(c)
                           : comparison<double>(c);
  else if (t.kind == 'b' && c != Compare::eq && c != Compare::ne)
    fn = nullptr;
  else if (t.element == 16)
    fn = s ? comparison<int16_t>(c) : comparison<uint16_t>(c);
  else if (t.element == 32)
    fn = s ? comparison<int32_t>(c) : comparison<uint32_t>(c);
  else if (t.element == 64)
    fn = s ? comparison<int64_t>(c) : comparison<uint64_t>(c);
  const Operand &pair = d.operand(0);
  if (!fn || (halves && pair.parts.empty()))
    return refuse(d);
  Operand other = with == Bool::none ? Operand() : d.operand(3);
  bool negated = other.negated;
  other.negated = false;
  Inst &inst = d.emit(fn, d.out(0, 1), d.in(1, t.bits()), d.in(2, t.bits()),
                      with == Bool::none ? 0 : d.in(other, 1));
  inst.imm = int64_t(with), inst.eNot = negated;
  if (!pair.parts.empty())
    inst.e = d.out(pair.parts[0], 1);
}
} // namespace

Decode findMove(std::string_view name) {
  if (name == "mov")
    return mov;
  if (name == "selp")
    return selp;
  if (name == "slct")
    return slct;
  if (name == "setp")
    return setp;
  return nullptr;
}

} // namespace standin
