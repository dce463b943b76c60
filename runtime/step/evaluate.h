//===- evaluate.h - the loss on whole files, and tokens from the model -----===//
//
// One decision: a file is scored as separator + its tokens, cut into windows of S
// predictions that start S apart, so that each token of the file is predicted
// exactly once; positions past the end hold -1, which the model ignores.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_STEP_EVALUATE_H
#define TPLAN_RUNTIME_STEP_EVALUATE_H

#include "runtime/disk/data.h"
#include "runtime/ranks/rank.h"

namespace tplan::runtime {

struct Evaluation {
  double sum = 0; // nats
  int64_t tokens = 0;
  bool ended = false; // all ranks stopped before its end
  double loss() const { return sum / (double)tokens; }
};

/// Scores the files, or their first `most` tokens (0: all); they are opened here, so that the
/// caller holds none.
Status evaluateFiles(tp_rank &rank, const std::vector<std::string> &names, int64_t most,
                     Evaluation &result);

/// Writes the logits [positions, vocabulary] of the first row of a file of tokens, as f32.
Status dumpLogits(tp_rank &rank, const std::string &name, const std::string &path);

/// How tokens are drawn: number i by (seed, i).
struct Sampling {
  uint64_t seed;
  double temperature; // 0: the likeliest
  int64_t count;
  int64_t vocabulary; // only ids below it are drawn
};

/// Continues `tokens`. `ended`: all ranks stopped before the last one.
Status sampleTokens(tp_rank &rank, const Sampling &how, std::vector<int32_t> &tokens, bool &ended);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_STEP_EVALUATE_H
