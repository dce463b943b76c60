//===- merged.h - the tensors of a plan, over the programs of its ranks ----===//
//
// Where stages have programs of their own, each table has only what its ranks hold. Every rank
// makes the merged list (runtime.h) for itself from the tables of all, so that files have one order
// of tensors and every tensor one writer, and no two ranks need to talk to agree on them.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_RANKS_MERGED_H
#define TPLAN_RUNTIME_RANKS_MERGED_H

#include "runtime/support/status.h"
#include "tplan/runtime.h"

#include <string>
#include <vector>

namespace tplan::runtime {

/// An instance of a row of some program's table.
struct Instance {
  const tp_tensor *row = nullptr; // null: there is none
  int64_t index = 0;              // in the row, from 0
  int64_t number = 0;             // what its path has for {i}
};

struct MergedTensor {
  int64_t holder; // the first program that has it, whose ranks write it to files
  Instance first; // there
  Instance mine;  // in the program that was asked for
};

/// One row of the merged list, which every tensor of it has in common: path, slot, role, type and
/// logical shape.
struct MergedRow {
  const tp_tensor *first;            // of the rows that are this one
  std::vector<MergedTensor> tensors; // rising by number
};

/// The merged list; `mine` is what programs[number] has. With a single program it is the table
/// itself.
std::vector<MergedRow> mergedRows(const tp_program &program, int64_t number);

/// Checks several programs: two rows have one tensor only if they are of different programs, and
/// then these must say the same of it.
Status checkMerged(const tp_program &program);

/// `path` with the number in place of each {i}.
std::string withNumber(std::string path, int64_t number);
/// Path with its number, then "." and the slot if any.
std::string nameOf(const Instance &instance);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RANKS_MERGED_H
