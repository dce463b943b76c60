//===- toy_program.h - a program as the compiler would emit it ---------------===//
//
// A byte-pair model written by hand: logits = onehot(tokens) W + b, softmax
// cross-entropy, SGD with momentum. Small enough to check, and it uses every
// table and every call of the boundary.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_TOY_PROGRAM_H
#define TPLAN_TEST_TOY_PROGRAM_H

#include "tplan/runtime.h"

namespace toy {

constexpr int64_t vocabulary = 128, rows = 3, length = 9, microbatches = 2;

/// The program; the tables live as long as the process.
tp_program program();

} // namespace toy

#endif // TPLAN_TEST_TOY_PROGRAM_H
