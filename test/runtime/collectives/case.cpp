//===- case.cpp - one collective with memory, and what must come of it --------===//

#include "case.h"

#include "runtime/support/bf16.h"
#include "runtime/support/f16.h"
#include "runtime/support/types.h"

#include <algorithm>
#include <bit>
#include <cstring>

using namespace conformance;
using tplan::runtime::bytesOf;

namespace {

constexpr int64_t guard = 64; // bytes before and after an array
constexpr char untouched = 0x5A;

template <typename T> T read(const char *from) {
  T value;
  memcpy(&value, from, sizeof value);
  return value;
}
template <typename T> void write(char *to, T value) { memcpy(to, &value, sizeof value); }

template <typename T, typename Sum>
Sum combineAs(int32_t reduction, const std::vector<const char *> &values, Sum (*widen)(T)) {
  Sum sum = widen(read<T>(values[0]));
  for (size_t i = 1; i < values.size(); ++i) {
    Sum value = widen(read<T>(values[i]));
    sum = reduction == TP_SUM ? sum + value : std::max(sum, value);
  }
  return sum;
}

std::vector<char> guarded(int64_t bytes) { return std::vector<char>(bytes + 2 * guard, untouched); }

} // namespace

uint64_t conformance::mix(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t x = a * 0x9E3779B97F4A7C15ull + b * 0xC2B2AE3D27D4EB4Full + c + 0x165667B19E3779F9ull;
  x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 32) * 0x94D049BB133111EBull;
  return x ^ x >> 29;
}

void conformance::writeValue(int32_t type, char *to, uint64_t random) {
  // Sign and 20 bits of the fraction at random, the exponent from -12 to 11.
  double value = std::bit_cast<double>((random & 0x800FFFFF00000000) | (random % 24 + 1011) << 52);
  switch (type) {
  case TP_F64:
    return write<double>(to, value);
  case TP_F32:
    return write<float>(to, (float)value);
  case TP_BF16:
    return write<uint16_t>(to, tplan::runtime::roundTo<tplan::runtime::bf16>((float)value));
  case TP_F16:
    return write(to, tplan::runtime::roundTo<tplan::runtime::f16>((float)value));
  case TP_I32:
    return write<uint32_t>(to, (uint32_t)random);
  case TP_I64:
    return write<uint64_t>(to, random);
  default:
    return write<char>(to, (char)(random & 1));
  }
}

void conformance::combine(int32_t type, int32_t reduction, const std::vector<const char *> &values,
                          char *to) {
  switch (type) {
  case TP_F64:
    return write(to, combineAs<double, double>(reduction, values, [](double x) { return x; }));
  case TP_F32:
    return write(to, combineAs<float, float>(reduction, values, [](float x) { return x; }));
  case TP_BF16: {
    float sum = combineAs<uint16_t, float>(reduction, values,
                                           [](uint16_t x) { return tplan::runtime::widen(x); });
    return write(to, tplan::runtime::roundTo<tplan::runtime::bf16>(sum));
  }
  case TP_F16: {
    float sum = combineAs<tplan::runtime::f16, float>(
        reduction, values, [](tplan::runtime::f16 x) { return tplan::runtime::widen(x); });
    return write(to, tplan::runtime::roundTo<tplan::runtime::f16>(sum));
  }
  case TP_I32:
    if (reduction == TP_MAX)
      return write(to, combineAs<int32_t, int32_t>(reduction, values, [](int32_t x) { return x; }));
    return write(to,
                 combineAs<uint32_t, uint32_t>(reduction, values, [](uint32_t x) { return x; }));
  default:
    if (reduction == TP_MAX)
      return write(to, combineAs<int64_t, int64_t>(reduction, values, [](int64_t x) { return x; }));
    return write(to,
                 combineAs<uint64_t, uint64_t>(reduction, values, [](uint64_t x) { return x; }));
  }
}

int64_t Draw::below(int64_t end) { return (int64_t)(mix(seed, 77, ++count) % (uint64_t)end); }

Case conformance::randomCase(Draw &draw, int members) {
  Case one;
  one.kind = (int32_t)draw.below(members == 2 ? TP_COLLECTIVE_KINDS : TP_MESSAGE);
  one.reduction = (int32_t)draw.below(2);
  one.type = (int32_t)draw.below(one.kind < TP_ALL_GATHER ? TP_I1 : TP_NUM_TYPES);
  one.inner = draw.below(4) ? draw.below(300) : draw.below(40000);
  one.outer = draw.below(2) ? 1 : draw.below(4);
  bool blocks = one.kind == TP_REDUCE_SCATTER || one.kind == TP_ALL_GATHER;
  if (blocks && one.outer == 1 && draw.below(2))
    one.whole = draw.below(members * one.inner + 1);
  one.inPlace = draw.below(2) && (one.kind == TP_ALL_REDUCE || (blocks && one.outer == 1));
  if (one.kind == TP_ALL_TO_ALL) {
    one.middle = draw.below(4), one.last = draw.below(4), one.inner %= 50;
    one.splitLast = draw.below(2);
  }
  if (one.kind == TP_PERMUTE)
    for (int m = 0; m < members; ++m)
      one.source.push_back((int32_t)draw.below(members));
  return one;
}

std::string conformance::nameOf(const Case &of) {
  static const char *const kinds[] = {"all-reduce", "reduce-scatter", "all-gather",
                                      "all-to-all", "permute",        "message"};
  return tplan::runtime::format("%s of %s, reduction %d, outer %lld, middle %lld, inner %lld, last "
                                "%lld, whole %lld%s%s",
                                kinds[of.kind], tplan::runtime::nameOf(of.type), of.reduction,
                                (long long)of.outer, (long long)of.middle, (long long)of.inner,
                                (long long)of.last, (long long)of.whole,
                                of.splitLast ? ", split last" : "",
                                of.inPlace ? ", in place"
                                : of.bare  ? ", bare"
                                           : "");
}

Instance::Instance(const Case &given, int members, int self, uint64_t seed)
    : of(given), members(members), self(self), seed(seed) {
  bool blocks = of.kind == TP_REDUCE_SCATTER || of.kind == TP_ALL_GATHER;
  int64_t all = of.outer * of.inner * of.middle * of.last;
  if (of.whole < 0)
    of.whole = blocks || of.kind == TP_ALL_TO_ALL ? members * all : all;
  what = {of.kind,  of.reduction, of.type,         0, of.outer, of.inner, of.middle, of.last,
          of.whole, of.splitLast, of.source.data()};
  int64_t bytes = bytesOf(of.type);
  std::vector<char> values = inputOf(self);
  if (of.inPlace && blocks) {
    // One array of full blocks, in which this member's own stands at its place.
    inMemory = guarded(members * all * bytes);
    char *wholeAt = inMemory.data() + guard, *ownAt = wholeAt + self * all * bytes;
    bool scatter = of.kind == TP_REDUCE_SCATTER;
    in = scatter ? wholeAt : ownAt;
    out = scatter ? ownAt : wholeAt;
    memcpy(in, values.data(), values.size());
  } else {
    inMemory = guarded((int64_t)values.size());
    in = out = inMemory.data() + guard;
    memcpy(in, values.data(), values.size());
    if (of.bare) {
      (self ? in : out) = nullptr;
      if (self)
        inMemory.clear();
    }
    if (!of.inPlace && out) {
      int64_t results = of.kind == TP_ALL_GATHER || of.kind == TP_ALL_TO_ALL ? what.whole : all;
      outMemory = guarded(results * bytes);
      out = outMemory.data() + guard;
    }
  }
  expect();
}

/// What a member's input holds: for a reduce-scatter all blocks, else its own.
std::vector<char> Instance::inputOf(int member) const {
  int64_t all = of.outer * of.inner * of.middle * of.last, bytes = bytesOf(of.type);
  int64_t count = of.kind == TP_REDUCE_SCATTER ? of.whole
                  : of.kind == TP_ALL_TO_ALL   ? members * all
                  : of.kind == TP_ALL_GATHER && of.outer == 1
                      ? std::clamp(of.whole - member * of.inner, int64_t(0), of.inner)
                      : all;
  std::vector<char> values(count * bytes);
  for (int64_t i = 0; i < count; ++i)
    writeValue(of.type, values.data() + i * bytes, mix(seed, member, i));
  return values;
}

void Instance::expect() {
  expectedIn = inMemory, expectedOut = outMemory;
  if (!out)
    return;
  char *to =
      outMemory.empty() ? expectedIn.data() + (out - inMemory.data()) : expectedOut.data() + guard;
  int64_t bytes = bytesOf(of.type), n = members;
  char values[16 * 8];
  std::vector<const char *> places;
  for (int m = 0; m < members; ++m)
    places.push_back(values + 8 * m);
  auto reduceAt = [&](int64_t outAt, int64_t inAt) {
    for (int m = 0; m < members; ++m)
      writeValue(of.type, values + 8 * m, mix(seed, m, inAt));
    combine(of.type, of.reduction, places, to + outAt * bytes);
  };
  auto copyAt = [&](int64_t outAt, int from, int64_t inAt) {
    writeValue(of.type, to + outAt * bytes, mix(seed, from, inAt));
  };
  for (int64_t o = 0; o < of.outer; ++o)
    for (int64_t a = 0; a < of.middle; ++a)
      for (int64_t i = 0; i < of.inner; ++i)
        for (int64_t l = 0; l < of.last; ++l)
          for (int64_t m = 0; m < n; ++m) {
            int64_t block = (o * n + m) * of.inner + i, mine = (o * n + self) * of.inner + i;
            auto first = [&](int64_t index) {
              return (((o * n + index) * of.middle + a) * of.inner + i) * of.last + l;
            };
            auto second = [&](int64_t index) {
              return (((o * of.middle + a) * n + index) * of.inner + i) * of.last + l;
            };
            if (of.kind == TP_ALL_TO_ALL)
              copyAt(of.splitLast ? first(m) : second(m), (int)m,
                     of.splitLast ? second(self) : first(self));
            else if (of.kind == TP_ALL_GATHER && block < of.whole)
              copyAt(block, (int)m, o * of.inner + i);
            else if (of.kind == TP_PERMUTE && m == of.source[self])
              copyAt(o * of.inner + i, (int)m, o * of.inner + i);
            else if (of.kind == TP_MESSAGE && m == 0 && self == 1)
              copyAt(o * of.inner + i, 0, o * of.inner + i);
            else if (of.kind == TP_ALL_REDUCE && m == 0)
              reduceAt(o * of.inner + i, o * of.inner + i);
            else if (of.kind == TP_REDUCE_SCATTER && m == 0 && mine < of.whole)
              reduceAt(o * of.inner + i, mine);
            else if (of.kind == TP_REDUCE_SCATTER && m == 0 && of.clears)
              std::fill_n(to + (o * of.inner + i) * bytes, bytes, char(0));
          }
}

std::string Instance::wrong() const {
  auto differ = [&](const char *name, const std::vector<char> &a, const std::vector<char> &b) {
    for (size_t i = 0; i < a.size(); ++i)
      if (a[i] != b[i])
        return tplan::runtime::format("%s, seed %llu: member %d of %d has byte %lld of %s wrong",
                                      nameOf(of).c_str(), (unsigned long long)seed, self, members,
                                      (long long)i - guard, name);
    return std::string();
  };
  std::string text = differ(of.inPlace ? "its array" : "its input", inMemory, expectedIn);
  return text.empty() ? differ("its output", outMemory, expectedOut) : text;
}
