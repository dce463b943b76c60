//===- Counts.h - dimensions of `at most` some size in rt -----------------===//
//
// What has a bound is outermost in memory, so that what is not in use is the end of a
// buffer. Calls take the number in use from a scalar argument of their function,
// `count.` and the dimension's name.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LIB_FUSE_COUNTS_H
#define TPLAN_LIB_FUSE_COUNTS_H

#include "dialects/rt/RT.h"

namespace tplan::fuse {

/// Gives each call of `func` that has a bound its count.
void addCounts(rt::FuncOp func);

/// Gives rows to a kernel that has none, because only rows can have a count: a map gets its first
/// column as rows, a row kernel all of its columns, and sums along the row become sums over rows.
void makeRows(rt::KernelOp kernel);
bool canMakeRows(rt::KernelOp kernel);

} // namespace tplan::fuse

#endif // TPLAN_LIB_FUSE_COUNTS_H
