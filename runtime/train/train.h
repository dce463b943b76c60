//===- train.h - the training of one rank from start to end ---------------===//
#ifndef TPLAN_RUNTIME_TRAIN_TRAIN_H
#define TPLAN_RUNTIME_TRAIN_TRAIN_H

#include "runtime/train/session.h"

namespace tplan::runtime {

/// Trains `rank`, whose transport is set where there are other ranks. Only the leader prints, and
/// writes metrics.
Status train(tp_rank &rank, const tp_program &program, const Options &options, const Seat &seat);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRAIN_TRAIN_H
