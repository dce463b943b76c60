//===- progress.h - lines for people who watch a training -----------------===//
//
//   step 120/3000 (4.0 %)  loss 2.3121  grad_norm 0.8  lr 3e-05  9034 tokens/s  4 min left
//
// One decision: the time that is left follows from the seconds of all steps of this run except the
// first, which loads code, so that it does not jump with each step.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_TRAIN_PROGRESS_H
#define TPLAN_RUNTIME_TRAIN_PROGRESS_H

#include "runtime/train/logs.h"

namespace tplan::runtime {

/// Text without a sign for what is no number.
double shown(double value);

/// "12 s", "4 min", "2.5 h", "3.1 days".
struct TimeText {
  explicit TimeText(double seconds);
  char text[24];
};

class Progress {
public:
  /// `every`: steps between lines; 0: about once a second. `limit`: seconds of training, 0: no
  /// bound.
  void begin(int64_t firstStep, int64_t every, double limit);
  /// Called after an evaluation: its seconds do not count as those of steps.
  void pause(int64_t step);
  /// After each step; prints where a line is due, and always the first and the last.
  void step(const tp_program &program, const Metrics &metrics, const StepReport &report);

private:
  double secondsLeft(const StepReport &report) const;

  int64_t firstStep = 1, every = 0, lastStep = 0;
  double limit = 0, lastPrint = 0;
  double trained = 0, counted = 0; // seconds: of all steps, and of those after the first
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRAIN_PROGRESS_H
