//===- Shrink.h - a plan made small, with its layouts kept ----------------===//
//
// The sizes of a plan's model, data and batch are set to small ones, so that all ranks of its mesh
// train in one process within seconds. Everything that makes a plan hard to get right stays: the
// mesh, which axes cut what, whether they divide it, microbatches, every collective.
//
// One decision: a size is tried, not reasoned about. The driver compiles the candidate, which
// is refused if the compiler refuses it or derives other collectives; the next is larger.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LIB_VERIFY_SHRINK_H
#define TPLAN_LIB_VERIFY_SHRINK_H

#include "lib/Driver/Driver.h"
#include <map>
#include <optional>

namespace tplan::verify {

struct Size {
  std::string name; // V, L, S, "batch"
  int64_t before, after;
};

struct Shrunk {
  std::vector<std::string> overrides; // as --set
  std::vector<Size> sizes;            // that were changed
  std::map<std::string, int64_t> costSizes;
  int64_t ranks = 1;
  int64_t microbatch = 1; // of all ranks, sequences
  int64_t batch = 1;      // sequences
  int64_t row = 1;        // most tokens of a sequence that inputs read
  int64_t vocabulary = 0; // smallest vocabulary of the inputs; 0: any
  int64_t collectives = 0;
};

/// Nothing after an error in the plan itself, which has been printed on `options.errors`.
std::optional<Shrunk> shrink(const Source &source, const Options &options);

} // namespace tplan::verify

#endif // TPLAN_LIB_VERIFY_SHRINK_H
