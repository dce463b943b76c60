//===- data_check.h - what is told of data before a training ---------------===//
//
// Decisions: what is looked at is bounded, the beginning, middle and end of some files, so that a
// training on petabytes starts as soon as one on a page. A file that nobody said the format of has
// to look like what it is read as. One that was said to be bytes may begin as anything; one that
// was said to be ids may not begin as an archive, and is warned of where it seems to hold wider
// ones.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DISK_DATA_CHECK_H
#define TPLAN_RUNTIME_DISK_DATA_CHECK_H

#include "runtime/disk/tokens.h"

namespace tplan::runtime {

/// Files to train on: some token is a target. `warnings` receives whole lines.
Status checkTrainingFiles(const DataSource &source, int64_t vocabulary, std::string &warnings);

/// Files to score: something to predict, and ids within the vocabulary as far as they are looked
/// at.
Status checkEvaluationFiles(const std::vector<std::string> &names, int64_t vocabulary,
                            std::string &warnings);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DISK_DATA_CHECK_H
