//===- toy_program.h - a program as the compiler would emit it ---------------===//
//
// A byte-pair model written by hand: logits = onehot(tokens) W + b, softmax
// cross-entropy, SGD with momentum. Small enough to check, and it uses every
// table and every call of the boundary.
//
// One decision: contributions to losses and gradients are rounded to few bits, so that
// their sums are exact in any order, and every layout gives equal bits.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_TOY_PROGRAM_H
#define TPLAN_TEST_TOY_PROGRAM_H

#include "tplan/collectives.h"

#include <span>
#include <string_view>

namespace toy {

constexpr int64_t vocabulary = 128, rows = 3, length = 9, microbatches = 2;

/// Groups of the mesh d x a x b; the last one's members do not rise with their ranks.
enum Group : int32_t { nobody = -1, overD, overA, overB, overAll, overBD };

/// How the ranks share the two weights, their states or their gradients.
struct Cut {
  int32_t rows = nobody, columns = nobody; // the bias is cut as rows are
  int32_t chunk = nobody;
  bool inWhole = false;
};

struct Layout {
  const char *name = "serial";
  int64_t d = 1, a = 1, b = 1;
  int32_t data = nobody;                                      // shares the rows
  int64_t rows = toy::rows, microbatches = toy::microbatches; // of a rank
  Cut weights = {}, states = {}, gradients = {};
  bool readFirst = false;
  bool countWhole = false; // the step sums the count of its loss itself
  int64_t ranks() const { return d * a * b; }
};

/// Layouts with more than one rank, each once a way of its own.
std::span<const Layout> layouts();
/// The layout of that name.
const Layout &named(std::string_view name);

/// The program; the tables live as long as the process.
tp_program program(const Layout &layout = {});

} // namespace toy

#endif // TPLAN_TEST_TOY_PROGRAM_H
