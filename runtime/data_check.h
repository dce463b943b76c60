//===- data_check.h - what is told of data before a training ---------------===//
//
// One decision: what is looked at is bounded, the beginning, middle and end of some files: a
// training on petabytes starts as soon as one on a page.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DATA_CHECK_H
#define TPLAN_RUNTIME_DATA_CHECK_H

#include "runtime/data.h"

namespace tplan::runtime {

/// Files of --data: some token is a target. `warnings` receives whole lines.
Status checkTrainingFiles(const std::vector<std::string> &names, std::string &warnings);

/// Files of --eval: something to predict, and ids within the vocabulary as far as they are looked
/// at.
Status checkEvaluationFiles(const std::vector<std::string> &names, int64_t vocabulary);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DATA_CHECK_H
