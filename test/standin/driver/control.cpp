//===- control.cpp - branches, barriers, and what the threads of a warp exchange ===//
#include "test/standin/driver/decode.h"
#include "test/standin/driver/lanes.h"

#include <bit>

namespace standin {

namespace {
using Fn = void (*)(Warp &, const Inst &);

void refuse(Decoder &d) {
  d.fail("unknown form of an instruction: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
}

void bra(Decoder &d) {
  d.take("uni");
  d.expect(1);
  if (d.operand(0).kind != Operand::label)
    return refuse(d);
  Inst &inst = d.emit(nullptr);
  inst.kind = Kind::branch;
  d.branchTo(d.operand(0).text, inst);
}

void brx(Decoder &d) {
  d.take("uni");
  d.expect(2);
  if (!d.take("idx") || d.operand(1).kind != Operand::label)
    return refuse(d);
  Inst &inst = d.emit(nullptr, 0, d.in(0, 32));
  inst.kind = Kind::branchTable;
  d.branchTo(d.operand(1).text, inst);
}

void ret(Decoder &d) {
  d.take("uni");
  d.expect(0);
  d.emit(nullptr).kind = Kind::exit;
}

void trap(Decoder &d) {
  d.expect(0);
  d.emit(nullptr).kind = Kind::trap;
}

/// A barrier of a block, or of a warp.
void bar(Decoder &d) {
  if (d.take("warp")) {
    if (!d.take("sync"))
      return refuse(d);
    d.expect(1);
    d.emit(+[](Warp &, const Inst &) {}, 0, 0, 0, d.in(0, 32)).kind = Kind::sync;
    return;
  }
  d.take("cta");
  if (!d.take("sync"))
    return refuse(d);
  d.take("aligned");
  if (d.count() != 1 && d.count() != 2)
    return refuse(d);
  uint32_t number = d.in(0, 32), threads = d.count() == 2 ? d.in(1, 32) : d.constant(32, 0);
  d.emit(nullptr, 0, number, threads).kind = Kind::barrier;
}

enum Shuffle { up, down, bfly, idx };

/// Lanes of segments: the mask of b keeps a thread within its own, its low bits bound it.
template <Shuffle mode> void shuffle(Warp &w, const Inst &i) {
  auto a = get<uint32_t>(w, i.a), n = get<uint32_t>(w, i.b) & 31u;
  auto control = get<uint32_t>(w, i.imm), segment = control >> 8 & 31u;
  constexpr Lanes<uint32_t> lane = [] {
    Lanes<uint32_t> lane{};
    for (int i = 0; i < kWarp; ++i)
      lane[i] = i;
    return lane;
  }();
  Lanes<uint32_t> most = (lane & segment) | (control & 31u & ~segment);
  Lanes<uint32_t> from = mode == up     ? lane - n
                         : mode == down ? lane + n
                         : mode == bfly ? lane ^ n
                                        : (lane & segment) | (n & ~segment);
  // Signed, because `up` may go below 0.
  auto inside = mode == up ? Lanes<int32_t>(from) >= Lanes<int32_t>(most)
                           : Lanes<int32_t>(from) <= Lanes<int32_t>(most);
  uint32_t good = maskOf(inside) & w.exec;
  from = inside ? from : lane; // the thread keeps its own value
  if (uint32_t bad = good & maskOf((Lanes<uint32_t>(w.exec) >> (from & 31u) & 1u) == 0u)) {
    int l = std::countr_zero(bad);
    return w.fail(i, l, CUDA_ERROR_LAUNCH_FAILED, "value of a thread that is not here: %d",
                  int(from[l]));
  }
  uint32_t values[kWarp], places[kWarp], found[kWarp];
  __builtin_memcpy(values, &a, sizeof a);
  __builtin_memcpy(places, &from, sizeof from);
  for (int l = 0; l < kWarp; ++l)
    found[l] = values[places[l] & 31];
  Lanes<uint32_t> d;
  __builtin_memcpy(&d, found, sizeof d);
  set(w, i.d, d);
  if (i.e != kNowhere)
    setMask(w, i.e, good);
}

void shfl(Decoder &d) {
  Type t = d.type();
  if (!d.take("sync") || t.bits() != 32)
    return refuse(d);
  Fn fn = d.take("bfly")   ? shuffle<bfly>
          : d.take("idx")  ? shuffle<idx>
          : d.take("up")   ? shuffle<up>
          : d.take("down") ? shuffle<down>
                           : nullptr;
  d.expect(5);
  if (!fn)
    return refuse(d);
  Inst &inst = d.emit(fn, d.out(0, 32), d.in(1, 32), d.in(2, 32), d.in(4, 32));
  inst.imm = d.in(3, 32), inst.kind = Kind::sync;
  if (!d.operand(0).parts.empty())
    inst.e = d.out(d.operand(0).parts[0], 1);
}

enum Vote { all, any, uni, ballot };

template <Vote mode> void vote(Warp &w, const Inst &i) {
  uint32_t p = getMask(w, i.a);
  p = (i.eNot ? ~p : p) & w.exec;
  if (mode == ballot)
    return set(w, i.d, Lanes<uint32_t>(p));
  bool result = mode == any ? p != 0 : mode == all ? p == w.exec : p == 0 || p == w.exec;
  setMask(w, i.d, result ? ~0u : 0);
}

void voteLike(Decoder &d) {
  Type t = d.type();
  Fn fn = d.take("all")      ? vote<all>
          : d.take("any")    ? vote<any>
          : d.take("uni")    ? vote<uni>
          : d.take("ballot") ? vote<ballot>
                             : nullptr;
  d.expect(3);
  if (!fn || !d.take("sync") || (fn == Fn(vote<ballot>)) != (t.kind == 'b'))
    return refuse(d);
  Operand p = d.operand(1);
  bool negated = p.negated;
  p.negated = false;
  Inst &inst = d.emit(fn, d.out(0, t.bits()), d.in(p, 1), 0, d.in(2, 32));
  inst.kind = Kind::sync, inst.eNot = negated;
}

template <typename T, auto f> void reduce(Warp &w, const Inst &i) {
  auto a = get<T>(w, i.a);
  T sum = a[std::countr_zero(w.exec)];
  for (uint32_t left = w.exec & (w.exec - 1); left; left &= left - 1)
    sum = f(sum, T(a[std::countr_zero(left)]));
  set(w, i.d, Lanes<T>(sum));
}

template <typename T> Fn reduction(Decoder &d, bool bits) {
  if (bits)
    return d.take("and")   ? reduce<T, [](T a, T b) { return T(a & b); }>
           : d.take("or")  ? reduce<T, [](T a, T b) { return T(a | b); }>
           : d.take("xor") ? reduce<T, [](T a, T b) { return T(a ^ b); }>
                           : Fn(nullptr);
  return d.take("add")   ? reduce<T, [](T a, T b) { return T(a + b); }>
         : d.take("min") ? reduce<T, [](T a, T b) { return std::min(a, b); }>
         : d.take("max") ? reduce<T, [](T a, T b) { return std::max(a, b); }>
                         : Fn(nullptr);
}

void redux(Decoder &d) {
  Type t = d.type();
  d.need(80, 70);
  d.expect(3);
  Fn fn = t.kind == 's' ? reduction<int32_t>(d, false) : reduction<uint32_t>(d, t.kind == 'b');
  if (!fn || !d.take("sync") || t.bits() != 32 || t.kind == 'f')
    return refuse(d);
  d.emit(fn, d.out(0, 32), d.in(1, 32), 0, d.in(2, 32)).kind = Kind::sync;
}

void activemask(Decoder &d) {
  Type t = d.type();
  d.expect(1);
  if (t.kind != 'b' || t.bits() != 32)
    return refuse(d);
  d.emit(+[](Warp &w, const Inst &i) { set(w, i.d, Lanes<uint32_t>(w.exec)); }, d.out(0, 32));
}
} // namespace

Decode findControl(std::string_view name) {
  static constexpr struct {
    std::string_view name;
    Decode decode;
  } kTable[] = {{"bra", bra},
                {"brx", brx},
                {"ret", ret},
                {"exit", ret},
                {"trap", trap},
                {"bar", bar},
                {"barrier", bar},
                {"shfl", shfl},
                {"vote", voteLike},
                {"redux", redux},
                {"activemask", activemask}};
  for (const auto &entry : kTable)
    if (entry.name == name)
      return entry.decode;
  return nullptr;
}

} // namespace standin
