//===- train.h - the training of one rank from start to end ---------------===//
#ifndef TPLAN_RUNTIME_TRAIN_H
#define TPLAN_RUNTIME_TRAIN_H

#include "runtime/options.h"
#include "runtime/rank.h"

namespace tplan::runtime {

/// The ranks of this process share its CPUs.
struct Seat {
  int number = 0, ranks = 1; // this rank among those of the process
  int threads = 1;           // of each
  int64_t gpu = 0;           // that this rank uses, where its program is for one
};

/// Trains `rank`, whose transport is set where there are others. Of all ranks the leader
/// prints, and writes metrics.
Status train(tp_rank &rank, const tp_program &program, const Options &options, const Seat &seat);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRAIN_H
