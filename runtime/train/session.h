//===- session.h - a training that is opened, stepped and saved -----------===//
//
// What one rank needs to train, without the loop: tp_main's own is in train.cpp, a program of a
// user's has its own.
//
// One decision: a session prints nothing, reads no environment and ends no process; its errors are
// values, its lines go to the sink that its owner gives.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_TRAIN_SESSION_H
#define TPLAN_RUNTIME_TRAIN_SESSION_H

#include "runtime/disk/checkpoint.h"
#include "runtime/disk/data.h"
#include "runtime/disk/huggingface.h"
#include "runtime/ranks/rank.h"
#include "runtime/step/metrics.h"
#include "runtime/support/sink.h"
#include "runtime/train/options.h"

namespace tplan::runtime {

/// The ranks of this process share its CPUs.
struct Seat {
  int number = 0, ranks = 1; // number of this rank among those of the process
  int threads = 1;           // threads of each rank
  int64_t gpu = 0;           // the GPU that this rank uses, if its program is for GPUs
  bool pins = true;          // its threads are bound to CPUs, if the ranks have all CPUs
};

/// Each call, except those that only look, is made by all ranks, each on the thread that opened its
/// session.
class Session {
public:
  /// `rank` has its transport where there are other ranks; `program` is the one that it runs. All
  /// arguments outlive the session.
  Session(tp_rank &rank, const tp_program &program, const Options &options, const Seat &seat);

  /// Starts threads, memory, device and communicators.
  Status open();
  /// Sets initial values, then what --resume or --load puts over them. `rows`, or null, serves the
  /// steps.
  Status setTensors(RowSource *rows);
  /// Does the next step. With `another`, the rows of the following step are read while a device
  /// computes.
  Status step(bool another);
  /// An error where a number is not finite: it ends a training before a good checkpoint is
  /// replaced.
  Status checkMetrics() const;
  /// Saves the state after the last step, once, in a directory of this training alone; the newest
  /// `keep` checkpoints there stay (0: all).
  Status save(const std::string &directory, int64_t keep);
  /// Writes the weights as --export says, in the form that setTensors() found.
  Status exportWeights();
  /// `most`: tokens, from the start of the files; 0: all.
  Status evaluate(const std::vector<std::string> &names, int64_t most, struct Evaluation &result);
  /// Called after a step, before an evaluation or prediction, which may write where a step keeps
  /// nothing alive.
  Status auditMemory();

  const TrainingState &state() const { return now; }
  /// The first step of this session.
  int64_t firstStep() const { return first; }
  const Metrics &metrics() const { return numbers; }
  /// Whether the last step changed nothing because a gradient overflowed.
  bool isSkipped() const;

private:
  Status startDevice();
  Status beginAudit();
  Status settleGemms();
  Status loadWeights();
  Status checkFree(const std::string &directory) const;
  Status checkResumed() const;
  void takeData();
  Status prepareStep(int64_t step);
  using Entry = int (*)(tp_rank *, char *);
  Status captureStep(Entry entry);
  /// Prints on one of the ranks.
  void say(const std::string &lines) const;
  void writeGradientsOnce();

  /// Whether gradients are those of a scaled loss, as f16 needs it.
  bool isScaled() const { return program.scale != 0; }

  tp_rank &rank;
  const tp_program &program;
  const Options &options;
  const Seat &seat;
  RowSource *rows = nullptr;
  Metrics numbers;
  TrainingState now;
  int64_t first = 1;
  int64_t given = 0;                          // the step whose rows and scalars were written last
  Entry issued = nullptr, captured = nullptr; // of the last step; of the last attempt at graphs
  ExportForm form;                            // for --export
  std::string savedIn;
  int64_t savedStep = -1;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRAIN_SESSION_H
