//===- same_run.h - whether all ranks run the same ---------------------------===//
#ifndef TPLAN_RUNTIME_TRAIN_SAME_RUN_H
#define TPLAN_RUNTIME_TRAIN_SAME_RUN_H

#include "runtime/ranks/peers.h"
#include "runtime/train/options.h"

namespace tplan::runtime {

/// Called by all ranks that are processes: checks that they run one binary with options that fit.
/// Otherwise replicas would begin with different weights, or one rank would wait for steps that
/// another does not make. Errors name the first rank that differs from rank 0, and in what.
Status checkSameRun(Peers &peers, const Options &options);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRAIN_SAME_RUN_H
