//===- case.h - one collective with memory, and what must come of it ----------===//
//
// Inputs are a function of seed, member and element, so each rank knows those of all. What
// must come is computed element by element from the definition in tplan/collectives.h, with
// nothing of the runtime's.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_COLLECTIVES_CASE_H
#define TPLAN_TEST_COLLECTIVES_CASE_H

#include "runtime/ranks/transport.h"

#include <string>

namespace conformance {

struct Case {
  int32_t kind = TP_ALL_REDUCE, reduction = TP_SUM, type = TP_F32;
  int64_t outer = 1, inner = 1, middle = 1, last = 1;
  int64_t whole = -1; // -1: all blocks are full
  bool splitLast = false, inPlace = false;
  std::vector<int32_t> source = {};
  bool clears = false; // the rest of a short block of a sum becomes zero, as in a rank's step
  bool bare = false;   // of a message, whose members have no memory for what they do not touch
};

/// A case in the memory of one member. The result must stand in it at the end, and guards
/// around each array, inputs and, unless they are cleared, rests of short blocks must be as they
/// were.
class Instance {
public:
  Instance(const Case &of, int members, int self, uint64_t seed);
  Instance(const Instance &) = delete;

  tplan::runtime::Operation operation(const tp_call *call = nullptr) const {
    return {&what, in, out, call};
  }
  const tp_collective &collective() const { return what; }
  /// Says the first byte that is wrong; empty: none is.
  std::string wrong() const;

private:
  std::vector<char> inputOf(int member) const;
  void expect();

  Case of;
  int members, self;
  uint64_t seed;
  tp_collective what;
  std::vector<char> inMemory, outMemory;     // with guards; in place: the first alone
  std::vector<char> expectedIn, expectedOut; // of these
  char *in, *out;
};

/// Numbers that all ranks draw alike.
class Draw {
public:
  explicit Draw(uint64_t seed) : seed(seed) {}
  /// From 0 up to `end`, which is not drawn.
  int64_t below(int64_t end);

private:
  uint64_t seed, count = 0;
};

/// Any collective that a group of so many members can have; messages too where there are two.
Case randomCase(Draw &draw, int members);

/// "all-reduce of bf16 [2, 1, 3, 1] ..."
std::string nameOf(const Case &of);

/// The value of an element: magnitudes differ so much that another order of additions gives
/// other bits.
void writeValue(int32_t type, char *to, uint64_t random);

/// Sum or maximum of values of one type, from the left.
void combine(int32_t type, int32_t reduction, const std::vector<const char *> &values, char *to);

/// A hash of three numbers.
uint64_t mix(uint64_t a, uint64_t b, uint64_t c);

} // namespace conformance

#endif // TPLAN_TEST_COLLECTIVES_CASE_H
