//===- data_check.h - what data looks like before a training -------------===//
//
// Decisions: only the beginning, middle and end of some files are looked at, so that a training on
// petabytes starts as soon as one on a page. A file whose format nobody has stated must look like
// what it is read as. A file that was stated to be bytes may begin as anything; one that was stated
// to be ids may not begin as an archive, and causes a warning where it seems to hold wider ids.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DISK_DATA_CHECK_H
#define TPLAN_RUNTIME_DISK_DATA_CHECK_H

#include "runtime/disk/tokens.h"

namespace tplan::runtime {

/// Checks files to train on: some token must be a target. `warnings` receives whole lines.
Status checkTrainingFiles(const DataSource &source, int64_t vocabulary, std::string &warnings);

/// Checks files to score: there must be something to predict, and the ids that are looked at must
/// be within the vocabulary.
Status checkEvaluationFiles(const std::vector<std::string> &names, int64_t vocabulary,
                            std::string &warnings);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DISK_DATA_CHECK_H
